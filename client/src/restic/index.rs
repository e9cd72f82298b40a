//! Index: where the blobs of a restic repository lie.

use copal_format::id::ChunkId;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// The SHA-256 of a blob or file.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct BlobId(pub(super) [u8; 32]);

/// All blobs, in memory: 40 bytes each.
#[derive(Default)]
pub(super) struct Index {
    packs: Vec<[u8; 32]>,
    blobs: Vec<Blob>,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Blob {
    /// The beginning of its id.
    id: ChunkId,
    pack: u32,
    pub(super) offset: u32,
    /// Bytes in the pack.
    pub(super) length: u32,
    /// Bytes of the blob itself.
    pub(super) plain: u32,
    pub(super) is_compressed: bool,
}

/// A file of the index.
#[derive(Deserialize)]
struct IndexFile {
    #[serde(default)]
    packs: Vec<IndexPack>,
}

#[derive(Deserialize)]
struct IndexPack {
    id: BlobId,
    #[serde(default)]
    blobs: Vec<IndexBlob>,
}

#[derive(Deserialize)]
struct IndexBlob {
    id: BlobId,
    offset: u32,
    length: u32,
    #[serde(default)]
    uncompressed_length: u32,
}

impl Index {
    /// Adds a file of the index. False if it is malformed, or if all blobs together would take too much memory.
    pub(super) fn add(&mut self, text: &[u8]) -> bool {
        let Ok(file) = serde_json::from_slice::<IndexFile>(text) else { return false };
        for IndexPack { id, blobs } in file.packs {
            if self.blobs.len() + blobs.len() > MOST_BLOBS {
                return false;
            }
            if blobs.is_empty() {
                continue;
            }
            let pack = self.packs.len() as u32;
            self.packs.push(id.0);
            self.blobs.extend(blobs.iter().map(|blob| {
                let (is_compressed, bare) = (blob.uncompressed_length > 0, blob.length.saturating_sub(OVERHEAD));
                let plain = if is_compressed { blob.uncompressed_length } else { bare };
                Blob { id: blob.id.chunk(), pack, offset: blob.offset, length: blob.length, plain, is_compressed }
            }));
        }
        true
    }

    pub(super) fn finish(&mut self) {
        self.blobs.sort_unstable();
        self.blobs.shrink_to_fit();
    }

    pub(super) fn places(&self, id: ChunkId) -> impl Iterator<Item = &Blob> {
        let start = self.blobs.partition_point(|blob| blob.id < id);
        self.blobs[start..].iter().take_while(move |blob| blob.id == id)
    }

    pub(super) fn length(&self, id: ChunkId) -> Option<u32> {
        self.places(id).next().map(|blob| blob.plain)
    }

    /// Whether its places do not agree on its length. Then only its content tells it.
    pub(super) fn is_disputed(&self, id: ChunkId) -> bool {
        let first = self.length(id);
        self.places(id).any(|blob| Some(blob.plain) != first)
    }

    pub(super) fn pack(&self, blob: &Blob) -> String {
        let name = BlobId(self.packs[blob.pack as usize]).to_string();
        format!("data/{}/{name}", &name[..2])
    }
}

impl BlobId {
    /// Its first bytes, which no other blob shares.
    pub(super) fn chunk(self) -> ChunkId {
        ChunkId(*self.0.first_chunk().expect("it is longer"))
    }

    pub(super) fn from_hex(text: &str) -> Option<Self> {
        copal_format::id::ObjectHash::from_hex(text).ok().map(|hash| Self(hash.0))
    }
}

impl std::fmt::Display for BlobId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        copal_format::id::ObjectHash(self.0).fmt(f)
    }
}

impl<'de> Deserialize<'de> for BlobId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        Self::from_hex(&text).ok_or_else(|| D::Error::custom("an id has 64 hexadecimal digits"))
    }
}

/// Nonce and tag of a blob.
const OVERHEAD: u32 = super::key::OVERHEAD as u32;
/// Blobs that are held: with chunks of 1 MiB, 32 TiB.
const MOST_BLOBS: usize = 1 << 25;

#[cfg(test)]
mod tests {
    use copal_store::memory::MemoryStore;
    use serde_json::json;

    use crate::restic::*;

    #[test]
    fn a_false_place_of_a_blob_does_not_hide_a_good_one() {
        let (content, key, store) = (b"content", MasterKey::zero(), Arc::new(MemoryStore::new()));
        let hash = |text: &[u8]| BlobId(Sha256::digest(text).into());
        let (id, mtime) = (hash(content), "2020-01-01T00:00:00Z");
        let file = json!({"name": "a", "type": "file", "mtime": mtime, "content": [id.to_string()]});
        let tree = json!({"nodes": [file]}).to_string();
        let root = hash(tree.as_bytes());
        let [first, second] = [&content[..], tree.as_bytes()].map(|text| key.seal(text));
        let (absent, pack) = ("00".repeat(32), "ab".repeat(32));
        let blobs = json!([
            {"id": id.to_string(), "offset": 0, "length": first.len()},
            {"id": root.to_string(), "offset": first.len(), "length": second.len()},
        ]);
        let listed = json!({"packs": [
            {"id": absent, "blobs": [{"id": id.to_string(), "offset": 0, "length": 100}]},
            {"id": pack, "blobs": blobs},
        ]});
        wait(store.create(&name(&format!("data/ab/{pack}")), [first, second].concat().into())).unwrap();
        let mut index = Index::default();
        assert!(index.add(listed.to_string().as_bytes()));
        index.finish();
        let restic = Restic { store, key, id: BlobId([1; 32]), index, recent: Mutex::default(), problems: Vec::new() };
        let entry = restic.entries(root.chunk()).next().unwrap().unwrap();
        let piece = Piece { id: id.chunk(), length: content.len() as u32 };
        assert_eq!((entry.size, entry.content), (content.len() as u64, Content::Chunks(vec![piece])));
    }
}
