//! Carried: the reader that a repository carries, a WebAssembly program that restores without this one, and a text beside
//! it that tells how. Where this program was built with it, it is inside.

use std::borrow::Cow;

use bytes::Bytes;
use copal_engine::id::ObjectHash;
use copal_engine::layout;
use copal_engine::limits::READER_BYTES;
use copal_engine::repository::Descriptor;
use copal_service::objects;
use copal_store::{Created, Store, StoreError};

use super::{Repository, list_descriptors};
use crate::wait::wait;

/// A reader.
pub struct Reader(Cow<'static, [u8]>);

/// Bytes that are no reader.
#[derive(Debug, Copy, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadReader {
    /// Something else.
    #[error("it is no WebAssembly module")]
    Module,
    /// Larger than a repository may carry.
    #[error("it has {0} bytes, allowed are {READER_BYTES}")]
    Length(u64),
}

/// What became of a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Whether it or its text was stored.
    pub is_stored: bool,
    /// The descriptor that was written to name it.
    pub descriptor: Option<String>,
}

impl Reader {
    /// The reader inside this program; none if it was built without.
    pub fn inside() -> Option<Self> {
        (!INSIDE.is_empty()).then_some(Self(Cow::Borrowed(INSIDE)))
    }

    /// Takes a reader that was built otherwise.
    pub fn new(bytes: Vec<u8>) -> Result<Self, BadReader> {
        match bytes.len() as u64 {
            _ if !bytes.starts_with(MODULE) => Err(BadReader::Module),
            length if length > READER_BYTES => Err(BadReader::Length(length)),
            _ => Ok(Self(Cow::Owned(bytes))),
        }
    }

    /// The SHA-256 that names it.
    pub fn hash(&self) -> ObjectHash {
        ObjectHash::of(&self.0)
    }

    /// Stores it and its text, the text first: nobody shall find a program without a word about it.
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

/// Stores a reader in a repository, and writes the next version of the descriptor if the newest does not name it. None if
/// the repository has no descriptor that can be used.
pub fn carry(repository: &Repository, reader: &Reader) -> Result<Option<Carried>, StoreError> {
    let (store, owner) = (repository.store().as_ref(), &repository.owner);
    let Some(newest) = &repository.descriptor else { return Ok(None) };
    let is_stored = reader.store_missing(store)?;
    if newest.reader == Some(reader.hash()) {
        return Ok(Some(Carried { is_stored, descriptor: None }));
    }
    let listed = list_descriptors(store)?;
    let last = listed.iter().filter_map(|(name, _)| layout::trailing_number(name)).max();
    let version = last.unwrap_or(newest.version) + 1;
    let name = layout::descriptor(version);
    let next = Descriptor { version, reader: Some(reader.hash()), ..newest.clone() };
    let bytes = Bytes::from(next.sign(&owner.signing_key()));
    // If somebody else was faster, there is a newer one, and the next run looks at that.
    wait(store.create(&objects::key(name.as_str()), bytes))?;
    Ok(Some(Carried { is_stored, descriptor: Some(name) }))
}

/// What `build.rs` was given, or nothing.
const INSIDE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/reader.wasm"));

/// How a module begins.
const MODULE: &[u8] = b"\0asm\x01\0\0\0";
