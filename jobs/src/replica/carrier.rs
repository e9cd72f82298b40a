//! Carrier: takes objects from one store to another, and notes what cannot be taken.

use core::fmt::Display;
use core::ops::{AddAssign, RangeInclusive};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use copal_format::layout;
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
    /// The object's name. Of several numbered records of one folder, the first.
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
    /// Numbered records that cannot be copied, by folder.
    lost: BTreeMap<String, Lost>,
    /// Names of what the source's state needs and the source does not have.
    gone: Vec<String>,
}

/// Numbered records of one folder that cannot be copied: ranges by first number, with the last number and the reason.
type Lost = BTreeMap<u64, (u64, String)>;

impl<'a> Carrier<'a> {
    pub(super) fn new(source: &'a JobContext<'a>, target: &'a dyn Store, goes_on: &'a GoesOn<'a>) -> Self {
        Self { source, target, goes_on, notes: Mutex::default() }
    }

    pub(super) fn stored(&self) -> Sum {
        self.notes().stored
    }

    /// The objects that could not be copied, except records whose loss the owner has accepted.
    pub(super) fn faults(&self, accepted: &BTreeSet<String>) -> Vec<Fault> {
        let notes = self.notes();
        let of_folders = notes.lost.iter().filter_map(|(folder, lost)| fault_of(folder, lost, accepted));
        notes.faults.iter().cloned().chain(of_folders).collect()
    }

    /// Notes that an object cannot be copied. Fails once there are too many.
    pub(super) fn fault(&self, object: impl Into<String>, why: impl Display) -> Result<(), SyncError> {
        let (object, why) = (object.into(), why.to_string());
        if let Some(number) = layout::trailing_number(&object) {
            return self.lose(object.trim_end_matches(|c: char| c.is_ascii_digit()), number..=number, why);
        }
        self.note(|notes| notes.faults.push(Fault { object, why }))
    }

    /// Notes that numbered records of a folder cannot be copied. All records of a folder are one fault: otherwise one
    /// client could leave so many gaps in its chain that every sync fails.
    pub(super) fn lose(
        &self,
        folder: &str,
        numbers: RangeInclusive<u64>,
        why: impl Into<String>,
    ) -> Result<(), SyncError> {
        let (first, last) = numbers.into_inner();
        self.note(|notes| {
            notes.lost.entry(folder.to_owned()).or_default().insert(first, (last, why.into()));
        })
    }

    /// Notes that the source does not have an object that its state needs: it was pruned meanwhile, or is lost.
    pub(super) fn gone(&self, object: String) -> Result<(), SyncError> {
        self.note(|notes| notes.gone.push(object))
    }

    fn note(&self, add: impl FnOnce(&mut Notes)) -> Result<(), SyncError> {
        let mut notes = self.notes();
        add(&mut notes);
        let faults = notes.faults.len() + notes.lost.len();
        if faults.max(notes.gone.len()) > FAULTS { Err(SyncError::Riddled(FAULTS)) } else { Ok(()) }
    }

    /// Whether the source lacks something.
    pub(super) fn has_gone(&self) -> bool {
        !self.notes().gone.is_empty()
    }

    /// Counts what the source lacks as lost.
    pub(super) fn settle_gone(&self) -> Result<(), SyncError> {
        let gone = std::mem::take(&mut self.notes().gone);
        gone.into_iter().try_for_each(|object| self.fault(object, GONE))
    }

    /// The objects below a prefix that the source has and the replica lacks.
    pub(super) async fn missing(&self, prefix: &str, most: usize) -> Result<Vec<Listed>, SyncError> {
        let there = list(self.target, prefix, None, most).await?;
        let there: BTreeSet<Key> = there.into_iter().map(|listed| listed.key).collect();
        let here = list(self.source.store, prefix, None, most).await?;
        Ok(here.into_iter().filter(|listed| !there.contains(&listed.key)).collect())
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

/// The fault of a folder: names its first lost record and counts the others. None if the owner has accepted all losses.
fn fault_of(folder: &str, lost: &Lost, accepted: &BTreeSet<String>) -> Option<Fault> {
    let name = |number: u64| format!("{folder}{number:020}");
    let first = lost.iter().find_map(|(first, (last, why))| {
        let mut numbers = *first..=*last;
        Some((numbers.find(|number| !accepted.contains(&name(*number)))?, why))
    });
    let (first, why) = first?;
    let count = |(first, (last, _)): (&u64, &(u64, String))| {
        last - first + 1 - accepted.range(name(*first)..=name(*last)).count() as u64
    };
    let more = lost.iter().map(count).sum::<u64>() - 1;
    let why = if more == 0 { why.clone() } else { format!("{why}; not copied either: {more} more of this folder") };
    Some(Fault { object: name(first), why })
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
/// Why a record that the state needs is not copied.
pub(super) const GONE: &str = "the source does not have it any more";
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

    #[test]
    fn lost_records_of_one_folder_are_one_fault_without_those_whose_loss_was_accepted() {
        let lost = Lost::from([(2, (2, "a".to_owned())), (4, (9, "b".to_owned()))]);
        let fault = |accepted: &[u64]| {
            let accepted: BTreeSet<String> = accepted.iter().copied().map(layout::change).collect();
            fault_of("changes/", &lost, &accepted)
        };
        let named = |number, why: &str| Some(Fault { object: layout::change(number), why: why.to_owned() });
        assert_eq!(fault(&[]), named(2, "a; not copied either: 6 more of this folder"));
        assert_eq!(fault(&[2, 4, 7]), named(5, "b; not copied either: 3 more of this folder"));
        assert_eq!(fault(&[2, 4, 5, 6, 7, 8]), named(9, "b"));
        assert_eq!(fault(&[2, 4, 5, 6, 7, 8, 9]), None);
    }
}
