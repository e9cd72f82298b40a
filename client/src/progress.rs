//! Progress: how far an operation is. Its threads count; another thread of the program may show the totals.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use copal_format::path::TreePath;
use copal_format::tree::{Entry, EntryKind};

use crate::system::TOP;

/// Counters of a running operation. Counting never waits for the reader.
#[derive(Debug, Default)]
pub struct Progress {
    files_done: AtomicU64,
    files_total: AtomicU64,
    bytes_done: AtomicU64,
    bytes_total: AtomicU64,
    bytes_new: AtomicU64,
    bytes_settled: AtomicU64,
    bytes_stored: AtomicU64,
    bytes_claimed: AtomicU64,
    is_all_claimed: AtomicBool,
    errors: AtomicU64,
    files_found: AtomicU64,
    bytes_found: AtomicU64,
    is_estimate: AtomicBool,
    current: Mutex<Vec<u8>>,
    teller: Option<Teller>,
}

/// What became of an entry in a backup, compared with the parent snapshot.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The parent snapshot does not have it.
    New,
    /// Its content differs.
    Changed,
    /// Its content is taken over; owner, mode, times or attributes differ.
    Metadata,
    /// Nothing differs.
    Unchanged,
    /// It is a further name of a file that was saved before.
    Link,
}

/// Takes the fate of each entry that is no directory.
struct Teller(Box<Tell>);

type Tell = dyn Fn(&Entry, Fate) + Send + Sync;

impl fmt::Debug for Teller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Teller(..)")
    }
}

impl Progress {
    /// Counters that also tell what becomes of each entry of a backup.
    pub fn telling(tell: impl Fn(&Entry, Fate) + Send + Sync + 'static) -> Self {
        Self { teller: Some(Teller(Box::new(tell))), ..Self::default() }
    }

    /// Tells what became of an entry.
    pub fn tell(&self, entry: &Entry, fate: Fate) {
        if let Some(Teller(tell)) = self.teller.as_ref().filter(|_| entry.kind() != EntryKind::Directory) {
            tell(entry, fate);
        }
    }

    /// Sets the total amount of work, once known; zero means unknown.
    pub fn expect(&self, files: u64, bytes: u64) {
        self.files_total.store(files, Relaxed);
        self.bytes_total.store(bytes, Relaxed);
        self.is_estimate.store(false, Relaxed);
    }

    /// Sets the amount of work of an earlier run, which the total is probably near.
    pub fn estimate(&self, bytes: u64) {
        self.expect(0, bytes);
        self.is_estimate.store(true, Relaxed);
    }

    /// Counts a file that is to be done.
    pub fn file_found(&self, bytes: u64) {
        self.files_found.fetch_add(1, Relaxed);
        self.bytes_found.fetch_add(bytes, Relaxed);
    }

    /// Makes what was found the total amount of work.
    pub fn all_found(&self) {
        self.expect(self.files_found.load(Relaxed), self.bytes_found.load(Relaxed));
    }

    /// Counts a file that is done.
    pub fn file_done(&self) {
        self.files_done.fetch_add(1, Relaxed);
    }

    /// Counts bytes that were read, or known to be unchanged.
    pub fn add_done(&self, bytes: u64) {
        self.bytes_done.fetch_add(bytes, Relaxed);
    }

    /// Counts bytes that the repository did not have.
    pub fn add_new(&self, bytes: u64) {
        self.bytes_new.fetch_add(bytes, Relaxed);
    }

    /// Counts new bytes whose packs are stored.
    pub fn add_settled(&self, bytes: u64) {
        self.bytes_settled.fetch_add(bytes, Relaxed);
    }

    /// Counts bytes that were written to the repository.
    pub fn add_stored(&self, bytes: u64) {
        self.bytes_stored.fetch_add(bytes, Relaxed);
    }

    /// Counts bytes of packs that a manifest names, so that no other run uploads them again.
    pub fn add_claimed(&self, bytes: u64, is_all: bool) {
        self.bytes_claimed.fetch_add(bytes, Relaxed);
        self.is_all_claimed.fetch_or(is_all, Relaxed);
    }

    /// How much a backup keeps if it ends now.
    pub fn kept(&self) -> KeptSoFar {
        match (self.is_all_claimed.load(Relaxed), self.bytes_claimed.load(Relaxed)) {
            (true, _) => KeptSoFar::All,
            (false, 0) => KeptSoFar::Nothing,
            (false, bytes) => KeptSoFar::Part { bytes },
        }
    }

    /// Counts an entry that could not be read or written.
    pub fn add_error(&self) {
        self.errors.fetch_add(1, Relaxed);
    }

    /// Entries that could not be read or written.
    pub fn errors(&self) -> u64 {
        self.errors.load(Relaxed)
    }

    /// Sets the path that is worked on, or another text in its place.
    pub fn now_at(&self, path: &[u8]) {
        self.set(&[path]);
    }

    /// Sets the place in the tree that is worked on.
    pub(crate) fn now_in_tree(&self, place: &TreePath) {
        self.set(&[TOP, place.as_bytes()]);
    }

    fn set(&self, parts: &[&[u8]]) {
        // Another thread is setting it: its path will do.
        if let Ok(mut current) = self.current.try_lock() {
            current.clear();
            parts.iter().for_each(|part| current.extend_from_slice(part));
        }
    }

    /// The counters at this moment.
    pub fn totals(&self) -> Totals {
        let (bytes_done, bytes_total) = (self.bytes_done.load(Relaxed), self.bytes_total.load(Relaxed));
        let is_estimate = self.is_estimate.load(Relaxed);
        let (bytes_new, settled) = (self.bytes_new.load(Relaxed), self.bytes_settled.load(Relaxed));
        Totals {
            files_done: self.files_done.load(Relaxed),
            files_total: self.files_total.load(Relaxed),
            bytes_done,
            bytes_total: if is_estimate && bytes_done >= bytes_total { 0 } else { bytes_total },
            is_estimate,
            bytes_new,
            bytes_waiting: bytes_new.saturating_sub(settled),
            bytes_stored: self.bytes_stored.load(Relaxed),
            errors: self.errors(),
            current: self.current.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

/// How much of a backup stays in the repository if it ends now.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum KeptSoFar {
    /// Nothing new.
    Nothing,
    /// Packs that the next backup does not upload again.
    Part {
        /// The bytes of these packs.
        bytes: u64,
    },
    /// Everything: the snapshot counts once it is accepted.
    All,
}

/// The counters at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Totals {
    /// Files that are done.
    pub files_done: u64,
    /// All files; 0 if unknown.
    pub files_total: u64,
    /// Bytes that were read, or are known to be unchanged.
    pub bytes_done: u64,
    /// All bytes; 0 if unknown.
    pub bytes_total: u64,
    /// Whether all bytes are those of an earlier run, and may be fewer or more.
    pub is_estimate: bool,
    /// Bytes that the repository did not have.
    pub bytes_new: u64,
    /// New bytes that are on the way to the repository.
    pub bytes_waiting: u64,
    /// Bytes that were written to the repository.
    pub bytes_stored: u64,
    /// Entries that could not be read or written.
    pub errors: u64,
    /// The path that is worked on; empty before the first.
    pub current: Vec<u8>,
}

impl Totals {
    /// Bytes that were read and are not on the way to the repository any more.
    pub fn bytes_settled(&self) -> u64 {
        // A file that changes while it is read is read again, so that more may be read than there is.
        let most = if self.bytes_total == 0 || self.is_estimate { u64::MAX } else { self.bytes_total };
        self.bytes_done.min(most).saturating_sub(self.bytes_waiting)
    }
}
