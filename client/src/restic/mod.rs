//! Restic: reads a repository of restic, of version 1 or 2, whose password is known. It changes nothing there, not even by a lock.
//!
//! As in restic, each file and blob carries a tag by the repository's key, and has the SHA-256 that names it. All lengths are
//! bounded before memory is taken.

mod counted;
mod index;
mod key;
mod node;
mod snapshot;
mod walk;

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use copal_format::id::ChunkId;
use copal_format::tree::{Content, Entry, Piece};
use copal_store::{Key, Listed, Store, StoreError, list_all};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::backup::{Entries, Originals};
use crate::reader::{CopyError, ReadError, TreeError};
use crate::wait::wait;
use index::{Blob, BlobId, Index};
use key::{Closed, KeyFile, MasterKey};
pub use snapshot::ResticSnapshot;
use walk::{ENTRIES_MAX, Tree, Walk};

/// A repository of restic.
pub struct Restic {
    store: Arc<dyn Store>,
    key: MasterKey,
    id: BlobId,
    index: Index,
    /// Trees that were read last: two walks that go in step read the same ones.
    recent: Mutex<Vec<(ChunkId, Arc<Tree>)>>,
    /// Files that cannot be read, and why. What only these files hold is missing.
    pub problems: Vec<(String, String)>,
}

/// Why a repository of restic cannot be opened.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ResticError {
    #[error("there is no repository of restic")]
    Absent,
    #[error("the restic repository has no snapshot whose id begins with {0:?}")]
    NoSnapshot(String),
    #[error("the password opens none of the {0} keys of the restic repository")]
    WrongPassword(usize),
    #[error("{object} of the restic repository cannot be read: {why}")]
    Damaged { object: String, why: String },
    #[error("the restic repository has version {0}, and this program reads versions 1 and 2")]
    Version(u32),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Deserialize)]
struct Config {
    version: u32,
    id: BlobId,
}

impl Restic {
    /// Opens a repository, and reads its index.
    pub fn open(store: Arc<dyn Store>, password: &[u8]) -> Result<Self, ResticError> {
        if wait(store.stat(&name("config")))?.is_none() {
            return Err(ResticError::Absent);
        }
        let key = unlock(store.as_ref(), password)?;
        let damaged = |why: String| ResticError::Damaged { object: "config".into(), why };
        let text = opened(store.as_ref(), &key, "config", FILE_MAX).map_err(|error| match error {
            CopyError::Damaged(why) => damaged(why),
            CopyError::Store(error) => error.into(),
        })?;
        let config: Config = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if !(1..=2).contains(&config.version) {
            return Err(ResticError::Version(config.version));
        }
        let (mut index, mut problems) = (Index::default(), Vec::new());
        for listed in files(store.as_ref(), "index/")? {
            let object = listed.key.as_str();
            match opened(store.as_ref(), &key, object, FILE_MAX) {
                Ok(text) if index.add(&text) => {}
                Ok(_) => problems.push((object.to_owned(), "it is no index, or one of too many blobs".into())),
                Err(CopyError::Damaged(why)) => problems.push((object.to_owned(), why)),
                Err(CopyError::Store(error)) => return Err(error.into()),
            }
        }
        index.finish();
        Ok(Self { store, key, id: config.id, index, recent: Mutex::default(), problems })
    }

    /// The snapshots, the oldest first. Those that cannot be read are added to the problems.
    pub fn snapshots(&mut self) -> Result<Vec<ResticSnapshot>, ResticError> {
        self.snapshots_within(SNAPSHOTS_BYTES)
    }

    /// The same. After snapshots that take so many bytes of memory, no further one is read.
    fn snapshots_within(&mut self, most: usize) -> Result<Vec<ResticSnapshot>, ResticError> {
        let (mut snapshots, mut held) = (Vec::<ResticSnapshot>::new(), 0);
        for listed in files(self.store.as_ref(), "snapshots/")? {
            let object = listed.key.as_str();
            if held >= most {
                let why = format!("the descriptions of other snapshots already take {most} bytes of memory");
                self.problems.push((object.to_owned(), why));
                continue;
            }
            let text = opened(self.store.as_ref(), &self.key, object, SNAPSHOT_MAX);
            match text.and_then(|text| self.snapshot(object, &text).map_err(CopyError::Damaged)) {
                Ok(snapshot) => {
                    held += snapshot.memory();
                    snapshots.push(snapshot);
                }
                Err(CopyError::Damaged(why)) => self.problems.push((object.to_owned(), brief(&why))),
                Err(CopyError::Store(error)) => return Err(error.into()),
            }
        }
        snapshots.sort_by(|a, b| (a.time, &a.id).cmp(&(b.time, &b.id)));
        Ok(snapshots)
    }

    /// A tree, with the places of its nodes.
    fn tree(&self, id: &ChunkId) -> Result<Arc<Tree>, ReadError> {
        let recent = || self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, tree)) = recent().iter().find(|(of, _)| of == id) {
            return Ok(tree.clone());
        }
        let tree = self.blob(id, TREE_MAX)?;
        let damaged = |why| ReadError::Damaged { id: *id, object: "a tree".into(), why };
        let tree = Arc::new(Tree::of(tree).map_err(|error| damaged(error.to_string()))?);
        let mut recent = recent();
        if tree.length() <= RECENT_BYTES {
            recent.truncate(RECENT - 1);
            recent.insert(0, (*id, tree.clone()));
        }
        Ok(tree)
    }

    /// The bytes of a blob. Tries all its places.
    fn blob(&self, id: &ChunkId, most: u32) -> Result<Vec<u8>, ReadError> {
        let mut last = ReadError::Absent { id: *id };
        for blob in self.index.places(*id) {
            match self.blob_at(id, blob, most) {
                Ok(bytes) => return Ok(bytes),
                Err(CopyError::Damaged(why)) => {
                    last = ReadError::Damaged { id: *id, object: self.index.pack(blob), why };
                }
                Err(CopyError::Store(error)) => return Err(error.into()),
            }
        }
        Err(last)
    }

    fn blob_at(&self, id: &ChunkId, blob: &Blob, most: u32) -> Result<Vec<u8>, CopyError> {
        let damaged = |why: &str| CopyError::Damaged(why.to_owned());
        if blob.plain > most || u64::from(blob.length) > u64::from(most) + key::OVERHEAD {
            return Err(damaged("it is longer than any such blob"));
        }
        let start = u64::from(blob.offset);
        let pack = name(&self.index.pack(blob));
        let sealed = wait(self.store.read_range(&pack, start..start + u64::from(blob.length)));
        let sealed = sealed.map_err(|error| of_object(self.store.as_ref(), error))?;
        let mut bytes = self.key.open(&sealed).ok_or(damaged(UNSEALED))?;
        if blob.is_compressed {
            bytes = decompressed(&bytes, blob.plain.into()).ok_or(damaged(UNPACKED))?;
        }
        let is_it = Sha256::digest(&bytes)[..ChunkId::LEN] == id.0 && bytes.len() == blob.plain as usize;
        if is_it { Ok(bytes) } else { Err(damaged("its content is not what its name says")) }
    }
}

impl Originals for Restic {
    fn entries(&self, root: ChunkId) -> Box<dyn Entries + '_> {
        Box::new(Walk::new(self, root, ENTRIES_MAX))
    }

    fn pieces(&self, entry: &Entry, take: &mut dyn FnMut(Piece)) -> Result<(), TreeError> {
        if let Content::Chunks(pieces) = &entry.content {
            pieces.iter().copied().for_each(take);
        }
        Ok(())
    }

    fn chunk(&self, id: &ChunkId, take: &mut dyn FnMut(&[u8])) -> Result<(), ReadError> {
        take(&self.blob(id, DATA_MAX)?);
        Ok(())
    }
}

/// The files of a folder. Others, such as those that a killed restic has left under longer names, are none of restic's.
fn files(store: &dyn Store, folder: &str) -> Result<Vec<Listed>, StoreError> {
    let mut listed = wait(list_all(store, folder))?;
    listed.retain(|listed| listed.key.as_str().strip_prefix(folder).and_then(BlobId::from_hex).is_some());
    Ok(listed)
}

/// The master key, from the first key file that the password opens.
fn unlock(store: &dyn Store, password: &[u8]) -> Result<MasterKey, ResticError> {
    let (mut wrong, mut odd) = (0, None);
    for listed in files(store, "keys/")?.into_iter().take(MOST_KEYS) {
        let object = listed.key.to_string();
        let is_long = listed.stat.length > FILE_MAX;
        let text = if is_long { Ok(Default::default()) } else { wait(store.read(&listed.key)) };
        let text = match text.map_err(|error| of_object(store, error)) {
            Ok(text) => text,
            Err(CopyError::Damaged(why)) => {
                odd = Some(ResticError::Damaged { object, why });
                continue;
            }
            Err(CopyError::Store(error)) => return Err(error.into()),
        };
        let named = if has_its_hash(&object, &text) { Ok(()) } else { Err(Closed::Malformed) };
        let opened = named.and_then(|()| serde_json::from_slice(&text).map_err(|_| Closed::Malformed));
        match opened.and_then(|file: KeyFile| file.open(password)) {
            Ok(key) => return Ok(key),
            Err(Closed::Wrong) => wrong += 1,
            Err(why) => odd = Some(ResticError::Damaged { object, why: why.to_string() }),
        }
    }
    // Borg's repositories have a "config" too, and no keys.
    Err(odd.unwrap_or(if wrong == 0 { ResticError::Absent } else { ResticError::WrongPassword(wrong) }))
}

/// An error of one object, or of the whole store if the configuration cannot be read either: otherwise a disk that goes
/// away would leave snapshots without files.
fn of_object(store: &dyn Store, error: StoreError) -> CopyError {
    match error {
        StoreError::Io { .. } if matches!(wait(store.read(&name("config"))), Err(StoreError::Io { .. })) => {
            CopyError::Store(error)
        }
        error => error.into(),
    }
}

/// The text of a file, which has at most so many bytes.
fn opened(store: &dyn Store, key: &MasterKey, object: &str, most: u64) -> Result<Vec<u8>, CopyError> {
    let damaged = |why: &str| CopyError::Damaged(why.to_owned());
    let found = wait(store.stat(&name(object))).map_err(|error| of_object(store, error))?;
    if found.is_some_and(|stat| stat.length > most) {
        return Err(damaged("it is longer than any such file"));
    }
    let sealed = wait(store.read(&name(object))).map_err(|error| of_object(store, error))?;
    // The key does not tell which file this is: without the hash, exchanged files would not be noticed.
    if object != "config" && !has_its_hash(object, &sealed) {
        return Err(damaged("its bytes do not have the hash that names it"));
    }
    let text = key.open(&sealed).ok_or(damaged(UNSEALED))?;
    match text.split_first() {
        // In version 2 most files are compressed, and begin with this.
        Some((2, packed)) => decompressed(packed, most).ok_or(damaged(UNPACKED)),
        _ => Ok(text),
    }
}

/// Whether the last part of a file's name is the SHA-256 of its bytes.
fn has_its_hash(object: &str, bytes: &[u8]) -> bool {
    let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    object.ends_with(&hash)
}

/// Decompresses at most `most` bytes; none if there are more, or if it is no Zstandard frame.
fn decompressed(packed: &[u8], most: u64) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let decoder = zstd::stream::read::Decoder::with_buffer(packed).ok()?;
    decoder.take(most + 1).read_to_end(&mut plain).ok()?;
    (plain.len() as u64 <= most).then_some(plain)
}

/// The beginning of a reason: an error about JSON may quote megabytes of it.
fn brief(why: &str) -> String {
    why.chars().take(WHY_CHARS).collect()
}

fn name(object: &str) -> Key {
    Key::new(object).expect("listed and computed names are keys")
}

/// Why the bytes of a file or blob are not believed.
const UNSEALED: &str = "its bytes are not those that were written";
const UNPACKED: &str = "it cannot be decompressed, or is longer than it may be";
/// Bytes of a blob of content; restic cuts at 8 MiB at the latest.
const DATA_MAX: u32 = 64 << 20;
/// Bytes of a tree: some 400,000 entries in one directory.
const TREE_MAX: u32 = 256 << 20;
/// Bytes of an index or a key.
const FILE_MAX: u64 = 256 << 20;
/// Bytes of a snapshot file: far more than a copy can name.
const SNAPSHOT_MAX: u64 = 16 << 20;
/// About the bytes of memory that all snapshots take: a small file may unpack to 65,536 paths.
const SNAPSHOTS_BYTES: usize = 256 << 20;
/// Characters of a reason that are kept.
const WHY_CHARS: usize = 300;
/// Keys that are tried.
const MOST_KEYS: usize = 64;
/// Trees that are held, and the most bytes of each.
const RECENT: usize = 32;
const RECENT_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests;
