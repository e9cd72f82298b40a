//! Carried: the reader in a repository (a WebAssembly program that restores without Copal), and the text beside it that
//! explains how to use it. A build of Copal may contain the reader.

use std::borrow::Cow;

use bytes::Bytes;
use copal_format::id::ObjectHash;
use copal_format::keys::owner::OwnerSecret;
use copal_format::layout;
use copal_format::limits::READER_BYTES;
use copal_format::repository::Descriptor;
use copal_jobs::objects;
use copal_store::{Created, Op, Store, StoreError};

use super::{NamedDescriptor, Newest, Repository, list_descriptors, newest_descriptor};
use crate::wait::wait;

/// A reader's bytes.
pub struct ReaderProgram(Cow<'static, [u8]>);

/// Bytes that are no reader.
#[derive(Debug, Copy, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BadReader {
    /// It does not begin like a WebAssembly module.
    #[error("it is no WebAssembly module")]
    Module,
    #[error("it has {0} bytes, allowed are {READER_BYTES}")]
    Length(u64),
}

/// What storing a reader changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedReader {
    /// Whether the reader or its text was new to the store.
    pub is_stored: bool,
    /// The name of the descriptor that was written to name it; none if the newest named it already.
    pub descriptor: Option<String>,
}

impl ReaderProgram {
    /// The reader inside this program; none if it was built without one.
    pub fn inside() -> Option<Self> {
        (!INSIDE.is_empty()).then_some(Self(Cow::Borrowed(INSIDE)))
    }

    /// Checks and takes a reader from elsewhere.
    pub fn new(bytes: Vec<u8>) -> Result<Self, BadReader> {
        match bytes.len() as u64 {
            _ if !bytes.starts_with(MODULE) => Err(BadReader::Module),
            length if length > READER_BYTES => Err(BadReader::Length(length)),
            _ => Ok(Self(Cow::Owned(bytes))),
        }
    }

    /// The reader that a repository carries; none if it names none, or if that one is lost or damaged.
    pub fn of(repository: &Repository) -> Result<Option<Self>, StoreError> {
        let Some(hash) = repository.descriptor.as_ref().and_then(|descriptor| descriptor.reader) else {
            return Ok(None);
        };
        let key = objects::key(layout::reader(hash));
        let length = wait(repository.store().stat(&key))?.map(|stat| stat.length);
        if length.is_none_or(|length| length > READER_BYTES) {
            return Ok(None);
        }
        let reader = Self::new(wait(repository.store().read(&key))?.to_vec()).ok();
        Ok(reader.filter(|reader| reader.hash() == hash))
    }

    /// The SHA-256 that names it.
    pub fn hash(&self) -> ObjectHash {
        ObjectHash::of(&self.0)
    }

    /// Stores the reader and its text; the text first, so that no reader is ever without one.
    pub(super) fn store(&self, store: &dyn Store) -> Result<ObjectHash, StoreError> {
        self.store_missing(store)?;
        Ok(self.hash())
    }

    fn store_missing(&self, store: &dyn Store) -> Result<bool, StoreError> {
        let text = copal_reader::TEXT.as_bytes();
        let mut is_stored = false;
        for (name, bytes) in [(Self::text(), text), (layout::reader(self.hash()), &self.0)] {
            let created = wait(store.create(&objects::key(name), Bytes::copy_from_slice(bytes)))?;
            is_stored |= created == Created::New;
        }
        Ok(is_stored)
    }

    /// The name of the text.
    pub fn text() -> String {
        layout::reader_text(ObjectHash::of(copal_reader::TEXT.as_bytes()))
    }
}

/// Stores a reader in a repository, and writes the next version of the descriptor if the newest does not name it. None
/// if the repository has no usable descriptor.
pub fn carry(repository: &Repository, reader: &ReaderProgram) -> Result<Option<CarriedReader>, StoreError> {
    let (store, owner) = (repository.store().as_ref(), &repository.owner);
    let Some(opened) = &repository.descriptor else { return Ok(None) };
    let is_stored = reader.store_missing(store)?;
    let named = name(store, owner, opened.version, reader.hash(), || list_descriptors(store))?;
    Ok(named.map(|named| CarriedReader { is_stored, descriptor: named.version() }))
}

/// How the newest descriptor came to name a reader.
#[derive(Debug, PartialEq, Eq)]
enum Named {
    /// It named the reader before.
    Already,
    /// The descriptor with this name was written for it.
    Now(String),
}

impl Named {
    fn version(self) -> Option<String> {
        match self {
            Self::Already => None,
            Self::Now(version) => Some(version),
        }
    }
}

/// Makes the newest descriptor name a reader. None if there is no usable descriptor, or only one older than version
/// `seen`.
fn name(
    store: &dyn Store,
    owner: &OwnerSecret,
    seen: u64,
    reader: ObjectHash,
    mut list: impl FnMut() -> Result<Vec<NamedDescriptor>, StoreError>,
) -> Result<Option<Named>, StoreError> {
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        let newest = match newest_descriptor(&list()?, owner) {
            Ok(Newest::Whole(newest)) if newest.version >= seen => newest,
            _ => return Ok(None),
        };
        if newest.reader == Some(reader) {
            return Ok(Some(Named::Already));
        }
        let next = Descriptor { version: newest.version + 1, reader: Some(reader), ..*newest };
        last = layout::descriptor(next.version);
        let bytes = Bytes::from(next.sign(&owner.signing_key()));
        if wait(objects::create_own(store, &last, bytes))? {
            return Ok(Some(Named::Now(last)));
        }
        // Another writer took this version: try the next one, based on theirs.
    }
    let source = "others write descriptors faster".into();
    Err(StoreError::Transient { op: Op::Create, key: last, source })
}

/// The reader that `build.rs` was given; empty if none.
const INSIDE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/reader.wasm"));

/// Attempts, each of which may lose its version to another writer.
const ATTEMPTS: usize = 8;

/// The first bytes of a WebAssembly module.
const MODULE: &[u8] = b"\0asm\x01\0\0\0";

#[cfg(test)]
mod tests {
    use copal_format::id::{DomainId, RepositoryId};
    use copal_format::keys::secret::Secret;
    use copal_format::receipt::IngestBy;

    use copal_format::time::Time;
    use copal_store::memory::MemoryStore;

    use super::*;

    const READER: ObjectHash = ObjectHash([5; 32]);

    fn owner() -> OwnerSecret {
        let secret = |byte| Secret::new([byte; 32]);
        OwnerSecret::new(RepositoryId([0xc0; 16]), secret(1), secret(2), secret(3))
    }

    /// Writes a version that names no reader.
    fn write(store: &MemoryStore, version: u64, ingest: IngestBy) {
        let descriptor = Descriptor { version, ..Descriptor::new(&owner(), Time(0), ingest, DomainId([0xd0; 16])) };
        let bytes = Bytes::from(descriptor.sign(&owner().signing_key()));
        wait(store.create(&objects::key(layout::descriptor(version)), bytes)).unwrap();
    }

    #[test]
    fn who_was_faster_is_not_undone_and_the_reader_is_named_behind() {
        let store = MemoryStore::new();
        write(&store, 1, IngestBy::Client);
        let mut listings = 0;
        let list = || {
            let listed = list_descriptors(&store);
            listings += 1;
            if listings == 1 {
                // Another writer adds a version after the first listing.
                write(&store, 2, IngestBy::Service);
            }
            listed
        };
        assert_eq!(name(&store, &owner(), 1, READER, list).unwrap(), Some(Named::Now(layout::descriptor(3))));
        let (_, newest) = list_descriptors(&store).unwrap().pop().unwrap();
        let newest = newest.unwrap();
        assert_eq!((newest.reader, newest.ingest), (Some(READER), IngestBy::Service));
        let again = name(&store, &owner(), 1, READER, || list_descriptors(&store)).unwrap();
        assert_eq!(again, Some(Named::Already));
    }

    #[test]
    fn a_version_that_is_there_already_as_it_was_sent_counts() {
        let store = MemoryStore::new();
        write(&store, 1, IngestBy::Client);
        let before = list_descriptors(&store).unwrap();
        let written = name(&store, &owner(), 1, READER, || Ok(before.clone())).unwrap();
        assert_eq!(name(&store, &owner(), 1, READER, || Ok(before.clone())).unwrap(), written);
    }

    #[test]
    fn an_older_descriptor_than_was_seen_is_not_built_on() {
        let store = MemoryStore::new();
        write(&store, 1, IngestBy::Client);
        assert_eq!(name(&store, &owner(), 2, READER, || list_descriptors(&store)).unwrap(), None);
    }
}
