//! Carrier: takes objects from one store to another, and notes what cannot be taken.

use core::ops::AddAssign;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use copal_format::limits::RECORD_BYTES;
use copal_store::{Created, Key, Listed, Store, StoreError};
use futures::stream::{self, TryStreamExt};

use super::SyncError;
use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::windows;
use crate::objects;

/// Called with the bytes of each stored object. Returns whether to go on.
pub type GoesOn<'a> = dyn Fn(u64) -> bool + Send + Sync + 'a;

/// Something that was not copied.
#[derive(serde::Serialize, Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The object's name.
    pub object: String,
    /// The reason, in words.
    pub why: String,
}

/// Objects, counted.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.objects += other.objects;
        self.bytes += other.bytes;
    }
}

/// Takes objects from the source to the target of one sync.
pub(super) struct Carrier<'a> {
    pub(super) source: &'a JobContext<'a>,
    /// The replica.
    pub(super) target: &'a dyn Store,
    goes_on: &'a GoesOn<'a>,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    stored: Sum,
    faults: Vec<Fault>,
    /// Names of what the source's state needs and the source does not have.
    gone: Vec<String>,
}

impl<'a> Carrier<'a> {
    pub(super) fn new(source: &'a JobContext<'a>, target: &'a dyn Store, goes_on: &'a GoesOn<'a>) -> Self {
        Self { source, target, goes_on, notes: Mutex::default() }
    }

    pub(super) fn stored(&self) -> Sum {
        self.notes().stored
    }

    pub(super) fn faults(&self) -> Vec<Fault> {
        self.notes().faults.clone()
    }

    /// Notes that an object cannot be copied. Fails once there are too many.
    pub(super) fn fault(&self, object: impl Into<String>, why: impl core::fmt::Display) -> Result<(), SyncError> {
        let mut notes = self.notes();
        notes.faults.push(Fault { object: object.into(), why: why.to_string() });
        if notes.faults.len() > FAULTS { Err(SyncError::Riddled(FAULTS)) } else { Ok(()) }
    }

    /// Notes that the source does not have an object that its state needs: it was pruned meanwhile, or is lost.
    pub(super) fn gone(&self, object: String) -> Result<(), SyncError> {
        let mut notes = self.notes();
        notes.gone.push(object);
        if notes.gone.len() > FAULTS { Err(SyncError::Riddled(FAULTS)) } else { Ok(()) }
    }

    /// Whether the source lacks something.
    pub(super) fn has_gone(&self) -> bool {
        !self.notes().gone.is_empty()
    }

    /// Counts what the source lacks as lost.
    pub(super) fn settle_gone(&self) -> Result<(), SyncError> {
        let gone = std::mem::take(&mut self.notes().gone);
        gone.into_iter().try_for_each(|object| self.fault(object, "the source does not have it any more"))
    }

    /// Reads an object of the source that has at most `most` bytes; none if it is longer or cannot be read, which is then
    /// noted.
    pub(super) async fn read(&self, name: &str, length: u64, most: u64) -> Result<Option<Bytes>, SyncError> {
        if length > most {
            self.fault(name, format!("it has {length} bytes, at most {most} are allowed"))?;
            return Ok(None);
        }
        let read = match self.source.store.read_range(&objects::key(name), 0..length).await {
            Err(StoreError::NotFound { .. }) => Ok(None),
            read => read.map(Some),
        };
        self.given(name, read)
    }

    /// What the source gave for a name; none if it has no such object or refuses it, which is then noted.
    pub(super) fn given(
        &self,
        name: &str,
        read: Result<Option<Bytes>, StoreError>,
    ) -> Result<Option<Bytes>, SyncError> {
        match read.map_err(JobError::from) {
            Ok(Some(bytes)) => return Ok(Some(bytes)),
            Ok(None) => self.gone(name.to_owned())?,
            Err(error) => {
                let (object, why) = error.blame()?;
                self.fault(object, why)?;
            }
        }
        Ok(None)
    }

    /// Creates an object in the replica. If another one has its name, it must have the same bytes.
    pub(super) async fn put(&self, name: &str, bytes: Bytes) -> Result<(), SyncError> {
        if !(self.goes_on)(0) {
            return Err(SyncError::Interrupted);
        }
        let length = bytes.len() as u64;
        match self.target.create(&objects::key(name), bytes.clone()).await? {
            Created::New => {}
            Created::Exists if objects::read(self.target, name).await?.is_some_and(|there| there == bytes) => {
                return Ok(());
            }
            Created::Exists => {
                return Err(SyncError::Diverged {
                    object: name.to_owned(),
                    why: "somebody else has written to the replica",
                });
            }
        }
        self.notes().stored += Sum { objects: 1, bytes: length };
        (self.goes_on)(length);
        Ok(())
    }

    /// Like [`Self::put`], for an object that is probably there.
    pub(super) async fn put_if_absent(&self, name: &str, bytes: Bytes) -> Result<(), SyncError> {
        match objects::read(self.target, name).await? {
            Some(there) if there == bytes => Ok(()),
            _ => self.put(name, bytes).await,
        }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls `act` for each of many things, for at most `few` at the same time.
pub(super) async fn each<T: Send, F: Future<Output = Result<(), SyncError>> + Send>(
    few: usize,
    all: impl IntoIterator<Item = T>,
    act: impl Fn(T) -> F,
) -> Result<(), SyncError> {
    let acts: Vec<F> = all.into_iter().map(act).collect();
    stream::iter(acts.into_iter().map(Ok)).try_for_each_concurrent(few, |act| act).await
}

/// Like [`each`], for small objects.
pub(super) async fn each_small<T: Send, F: Future<Output = Result<(), SyncError>> + Send>(
    all: impl IntoIterator<Item = T>,
    act: impl Fn(T) -> F,
) -> Result<(), SyncError> {
    each(windows().at_once, all, act).await
}

/// Lists at most `most` objects, so that a store that always names more does not fill the memory.
pub(super) async fn list(
    store: &dyn Store,
    prefix: &str,
    after: Option<Key>,
    most: usize,
) -> Result<Vec<Listed>, SyncError> {
    let mut objects: Vec<Listed> = Vec::new();
    loop {
        let last = objects.last().map(|last| &last.key).or(after.as_ref());
        let page = store.list(prefix, last, PAGE).await?;
        let goes_on = page.objects.first().is_some_and(|first| last.is_none_or(|last| first.key > *last));
        if page.more && !goes_on || objects.len() + page.objects.len() > most {
            return Err(SyncError::Endless { prefix: prefix.to_owned() });
        }
        objects.extend(page.objects);
        if !page.more {
            return Ok(objects);
        }
    }
}

/// The most bytes of a signed or plain record: its text, and what stands around it.
pub(super) const RECORD: u64 = RECORD_BYTES as u64 + (64 << 10);
/// How many things may fail to be copied before a sync gives up.
const FAULTS: usize = 1_000;
const PAGE: usize = 1_000;

#[cfg(test)]
mod tests {
    use copal_store::memory::MemoryStore;
    use futures::executor::block_on;

    use super::*;

    #[test]
    fn a_listing_that_does_not_end_is_refused() {
        let store = MemoryStore::new();
        for number in 0..5 {
            block_on(store.create(&objects::key(format!("keys/{number}")), Bytes::new())).unwrap();
        }
        assert_eq!(block_on(list(&store, "keys/", None, 5)).unwrap().len(), 5);
        let refused = block_on(list(&store, "keys/", None, 4));
        assert!(matches!(refused, Err(SyncError::Endless { prefix }) if prefix == "keys/"));
    }
}
