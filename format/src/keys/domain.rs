//! Domain keys: the keys that name and cut chunks and pages in a domain, whose clients deduplicate against each other.

use crate::id::{ChunkId, DomainId, RepositoryId, SourceId, TagId};
use crate::keys::cuts::CutKeys;
use crate::keys::secret::Secret;
use crate::order;
use crate::wire::cbor::Writer;

/// The secret of a domain. A write-only client knows this key, but not the owner secret above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainKey(Secret);

impl DomainKey {
    /// Derives the key of a domain from the root key.
    pub fn derive(root: &Secret, repository: RepositoryId, domain: DomainId) -> Self {
        let context = [repository.as_bytes(), domain.as_bytes()].concat();
        Self(root.derive("domain", &context))
    }

    /// Takes a key received from the owner.
    pub fn from_secret(secret: Secret) -> Self {
        Self(secret)
    }

    /// The key's bytes, for handing it to a write-only client.
    pub fn expose(&self) -> &Secret {
        &self.0
    }
}

/// The subkeys of a domain, derived once.
#[derive(Clone)]
pub struct DomainKeys {
    chunk_id: Secret,
    page_id: Secret,
    page_boundary: Secret,
    source: Secret,
    tag: Secret,
    cuts: CutKeys,
}

impl DomainKeys {
    /// Derives all subkeys.
    pub fn new(key: &DomainKey) -> Self {
        let sub = |purpose| key.0.derive(purpose, b"");
        Self {
            chunk_id: sub("chunk-id"),
            page_id: sub("page-id"),
            page_boundary: sub("page-boundary"),
            source: sub("source"),
            tag: sub("tag"),
            cuts: CutKeys::new(&sub("gear"), sub("cut")),
        }
    }

    /// The id of a chunk. Keyed, so that the store cannot test guesses at the plaintext.
    pub fn chunk_id(&self, plaintext: &[u8]) -> ChunkId {
        truncate(self.chunk_id.digest(&[plaintext]))
    }

    /// The id of a page. Covers all that a reader relies on: height, references and plaintext.
    pub fn page_id(&self, height: u8, references: &[ChunkId], plaintext: &[u8]) -> ChunkId {
        let mut head = Vec::with_capacity(5 + references.len() * ChunkId::LEN);
        head.push(height);
        head.extend_from_slice(&(references.len() as u32).to_le_bytes());
        references.iter().for_each(|id| head.extend_from_slice(id.as_bytes()));
        truncate(self.page_id.digest(&[&head, plaintext]))
    }

    /// The value that decides whether a page at this level ends after the item with this key.
    pub fn boundary(&self, level: u8, key: &[u8]) -> u64 {
        let digest = self.page_boundary.digest(&[&[level], key]);
        u64::from_le_bytes(digest[..8].try_into().expect("8 of 32 bytes"))
    }

    /// The id of a backup's source, which hides host, paths and label. Paths may come in any order.
    pub fn source_id(&self, host: &str, paths: &[Vec<u8>], label: &str) -> SourceId {
        let mut paths: Vec<&[u8]> = paths.iter().map(Vec::as_slice).collect();
        order::sort(&mut paths);
        let mut writer = Writer::new();
        writer.array(3).text(host).array(paths.len());
        paths.iter().for_each(|path| {
            writer.bytes(path);
        });
        writer.text(label);
        SourceId(truncate16(self.source.digest(&[&writer.finish()])))
    }

    /// The id of a tag, which hides its name.
    pub fn tag_id(&self, name: &str) -> TagId {
        TagId(truncate16(self.tag.digest(&[name.as_bytes()])))
    }

    /// The keys that decide where chunks are cut.
    pub fn cuts(&self) -> &CutKeys {
        &self.cuts
    }
}

impl core::fmt::Debug for DomainKeys {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("DomainKeys(..)")
    }
}

fn truncate(digest: [u8; 32]) -> ChunkId {
    ChunkId::from_slice(&digest[..ChunkId::LEN]).expect("24 of 32 bytes")
}

fn truncate16(digest: [u8; 32]) -> [u8; 16] {
    digest[..16].try_into().expect("16 of 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> DomainKeys {
        DomainKeys::new(&DomainKey::derive(&Secret::new([5; 32]), RepositoryId([1; 16]), DomainId([2; 16])))
    }

    #[test]
    fn a_page_never_has_the_id_of_a_chunk_with_the_same_bytes() {
        assert_ne!(keys().page_id(0, &[], b""), keys().chunk_id(&[0, 0, 0, 0, 0]));
    }

    #[test]
    fn a_pages_id_covers_height_references_and_plaintext() {
        let [a, b] = [ChunkId([1; 24]), ChunkId([2; 24])];
        let id = keys().page_id(1, &[a, b], b"page");
        for other in [
            keys().page_id(2, &[a, b], b"page"),
            keys().page_id(1, &[b, a], b"page"),
            keys().page_id(1, &[a, b], b"pag"),
        ] {
            assert_ne!(id, other);
        }
    }

    #[test]
    fn a_source_is_the_same_in_any_order_of_its_paths() {
        let [a, b] = [b"a".to_vec(), b"b".to_vec()];
        assert_eq!(keys().source_id("h", &[a.clone(), b.clone()], ""), keys().source_id("h", &[b, a], ""));
    }
}
