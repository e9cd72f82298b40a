//! Objects: reading what the layout names, with the checks every reader makes.

use std::ops::Range;

use bytes::Bytes;
use copal_engine::id::{ObjectHash, PackId};
use copal_engine::layout::{self, Place};
use copal_engine::pack::{self, PackTable, TRAILER_BYTES, Trailer};
use copal_store::{Key, Listed, Store, StoreError};
use futures::future::join;

use crate::error::JobError;

/// The key of a name that the layout made.
pub fn key(name: impl Into<String>) -> Key {
    Key::new(name).expect("the layout makes sound names")
}

/// Reads an object, or none if it is not there.
pub async fn read(store: &dyn Store, name: &str) -> Result<Option<Bytes>, StoreError> {
    match store.read(&key(name)).await {
        Ok(bytes) => Ok(Some(bytes)),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads an object that is named by the hash of its bytes.
pub async fn read_hashed(store: &dyn Store, name: &str, hash: ObjectHash) -> Result<Option<Bytes>, JobError> {
    match read(store, name).await? {
        Some(bytes) if ObjectHash::of(&bytes) == hash => Ok(Some(bytes)),
        Some(_) => Err(JobError::damaged(name, "its bytes do not have the hash it is named by")),
        None => Ok(None),
    }
}

/// Reads the table of a pack without reading its blocks. What comes back agrees with the object's own trailer; that the
/// bytes have the pack's hash is not checked here.
pub async fn read_table(store: &dyn Store, place: Place, id: PackId, length: u64) -> Result<PackTable, JobError> {
    let name = layout::pack(place, id);
    let damaged = |why: &dyn core::fmt::Display| JobError::damaged(&name, why);
    if length < TRAILER_BYTES as u64 {
        return Err(damaged(&"it is too short for a pack"));
    }
    let object = key(&name);
    let part = async |range: Range<u64>| {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        match store.read_range(&object, range).await {
            // It was cut since its length was asked for.
            Err(error @ StoreError::OutOfRange { .. }) => Err(damaged(&error)),
            read => Ok(read?),
        }
    };
    // Where a request takes a round trip, all that most packs have is asked for at once.
    let (head, tail) = if store.is_far() { (FAR_HEAD, FAR_TAIL) } else { (0, TRAILER_BYTES as u64) };
    let (head, tail) = (0..head.min(length), length.saturating_sub(tail)..length);
    let (first, last) = join(part(head.clone()), part(tail.clone())).await;
    let read = [(head, first?), (tail, last?)];
    let trailer = &read[1].1[read[1].1.len() - TRAILER_BYTES..];
    let trailer = Trailer::parse(trailer, length).map_err(|error| damaged(&error))?;
    let wanted = async |range: Range<u64>| {
        let within = read.iter().find(|(have, _)| have.start <= range.start && range.end <= have.end);
        match within {
            Some((have, bytes)) => {
                Ok(bytes.slice((range.start - have.start) as usize..(range.end - have.start) as usize))
            }
            None => part(range).await,
        }
    };
    let (table, header) = join(wanted(trailer.table_range()), wanted(trailer.header_range())).await;
    pack::parse_table(&trailer, &header?, &table?).map_err(|error| damaged(&error))
}

/// Bytes asked for at the beginning of a pack far away: the header, unless many sessions filled it.
const FAR_HEAD: u64 = 4 << 10;
/// Bytes asked for at its end: trailer and table, unless it holds very many chunks.
const FAR_TAIL: u64 = 512 << 10;

/// All objects below a prefix, in order, a page at a time.
pub async fn list(store: &dyn Store, prefix: &str) -> Result<Vec<Listed>, StoreError> {
    let mut objects: Vec<Listed> = Vec::new();
    loop {
        let page = store.list(prefix, objects.last().map(|last| &last.key), LIST_PAGE).await?;
        objects.extend(page.objects);
        if !page.more {
            return Ok(objects);
        }
    }
}

const LIST_PAGE: usize = 1000;
