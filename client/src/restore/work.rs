//! Work: what the threads of a restore share: the request, the counters, and whether to go on.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use copal_format::path::TreePath;
use copal_format::tree::LostRange;
use serde::Serialize;

use super::handle::OpenFiles;
use super::{Event, Request, RestoreError};
use crate::causes::with_causes;
use crate::materialize::{Target, WriteError};
use crate::progress::Progress;

/// The counters of a restore.
#[derive(Debug, Copy, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Files written.
    pub files_restored: u64,
    /// Files that were right already.
    pub files_unchanged: u64,
    /// Files that were left as they were.
    pub files_skipped: u64,
    /// Directories.
    pub dirs: u64,
    /// Links, devices and pipes.
    pub others: u64,
    /// Entries deleted.
    pub deleted: u64,
    /// Entries that were not restored, or not completely.
    pub errors: u64,
    /// Bytes of packs read to write them.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Files read again and found equal.
    pub files_verified: u64,
}

/// What the threads share.
pub(super) struct Work<'a> {
    pub(super) request: &'a Request<'a>,
    /// `None` in a dry run into a directory that does not exist.
    pub(super) target: Option<&'a Target>,
    pub(super) progress: &'a Progress,
    pub(super) open_files: OpenFiles,
    tell: &'a (dyn Fn(Event<'_>) + Sync),
    interrupted: &'a AtomicBool,
    tally: Mutex<Tally>,
    is_damaged: AtomicBool,
    differs: AtomicBool,
    has_lost: AtomicBool,
    is_stopped: AtomicBool,
    fatal: Mutex<Option<RestoreError>>,
    /// Places in the target that are not verified, because they were left as they were or had trouble.
    unverifiable: Mutex<HashSet<TreePath>>,
}

impl<'a> Work<'a> {
    pub(super) fn new(
        request: &'a Request<'a>,
        target: Option<&'a Target>,
        progress: &'a Progress,
        tell: &'a (dyn Fn(Event<'_>) + Sync),
        interrupted: &'a AtomicBool,
    ) -> Self {
        Self {
            request,
            target,
            progress,
            open_files: OpenFiles::default(),
            tell,
            interrupted,
            tally: Mutex::default(),
            is_damaged: AtomicBool::new(false),
            differs: AtomicBool::new(false),
            has_lost: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            fatal: Mutex::default(),
            unverifiable: Mutex::default(),
        }
    }

    pub(super) fn count(&self, add: impl FnOnce(&mut Tally)) {
        add(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn tell(&self, event: Event<'_>) {
        (self.tell)(event);
    }

    /// Reports that the entry at a place in the target is restored.
    pub(super) fn restored(&self, place: &TreePath) {
        (self.tell)(Event::Restored(&self.request.scope.outside(place)));
    }

    /// Reports an entry, by its place in the target, that is incomplete because the repository is damaged.
    pub(super) fn damaged(&self, place: &TreePath, why: String) {
        self.is_damaged.store(true, Ordering::Relaxed);
        self.trouble(place, why);
    }

    /// Reports an entry that differs from the snapshot when read again.
    pub(super) fn differs(&self, place: &TreePath, why: String) {
        self.differs.store(true, Ordering::Relaxed);
        self.trouble(place, why);
    }

    pub(super) fn write_failed(&self, error: &WriteError) {
        self.trouble(&error.path(), with_causes(error));
    }

    /// Reports an entry that is not completely restored.
    pub(super) fn trouble(&self, place: &TreePath, why: String) {
        self.count(|tally| tally.errors += 1);
        self.progress.add_error();
        self.leave_unverified(place);
        (self.tell)(Event::Trouble { path: &self.request.scope.outside(place), why });
    }

    pub(super) fn lost(&self, range: &LostRange, why: String) {
        self.is_damaged.store(true, Ordering::Relaxed);
        self.has_lost.store(true, Ordering::Relaxed);
        self.count(|tally| tally.errors += 1);
        self.progress.add_error();
        (self.tell)(Event::Lost { range, why });
    }

    /// Whether the names of some entries are lost.
    pub(super) fn has_lost(&self) -> bool {
        self.has_lost.load(Ordering::Relaxed)
    }

    pub(super) fn leave_unverified(&self, place: &TreePath) {
        if self.request.verifies {
            self.unverifiable.lock().unwrap_or_else(PoisonError::into_inner).insert(place.clone());
        }
    }

    pub(super) fn is_verifiable(&self, place: &TreePath) -> bool {
        !self.unverifiable.lock().unwrap_or_else(PoisonError::into_inner).contains(place)
    }

    /// Ends the restore because of an error that affects every entry.
    pub(super) fn stop(&self, error: RestoreError) {
        self.fatal.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether to stop: an error affects every entry, or the user interrupted.
    pub(super) fn is_over(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed) || self.interrupted.load(Ordering::Relaxed)
    }

    /// Fails if the restore ended early.
    pub(super) fn check(&self) -> Result<(), RestoreError> {
        if let Some(error) = self.fatal.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(error);
        }
        if self.interrupted.load(Ordering::Relaxed) { Err(RestoreError::Interrupted) } else { Ok(()) }
    }

    /// The counters, whether there was damage, and whether something differed when read again.
    pub(super) fn finish(self) -> (Tally, bool, bool) {
        let tally = self.tally.into_inner().unwrap_or_else(PoisonError::into_inner);
        (tally, self.is_damaged.into_inner(), self.differs.into_inner())
    }
}
