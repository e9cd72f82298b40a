//! Work: what all threads of a restore share: the request, what was counted, and whether to go on.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use copal_engine::path::TreePath;
use copal_engine::tree::LostRange;

use super::file::OpenFiles;
use super::{Event, Request, RestoreError};
use crate::materialize::{Target, WriteError};
use crate::report::progress::Progress;

/// What was counted.
#[derive(Debug, Copy, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Files written.
    pub files_restored: u64,
    /// Files that were right already.
    pub files_unchanged: u64,
    /// Files left as they were.
    pub files_skipped: u64,
    /// Directories.
    pub dirs: u64,
    /// Links, devices and pipes.
    pub others: u64,
    /// Entries deleted.
    pub deleted: u64,
    /// Entries that are not, or not wholly, restored.
    pub errors: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Files read again and found right.
    pub files_verified: u64,
}

/// What all threads share.
pub(super) struct Work<'a> {
    pub(super) request: &'a Request<'a>,
    /// None in a dry run into a directory that is not there.
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
    /// What was left as it was or went wrong, by its place in the target: not to be verified.
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

    /// Counts something.
    pub(super) fn count(&self, add: impl FnOnce(&mut Tally)) {
        add(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn tell(&self, event: Event<'_>) {
        (self.tell)(event);
    }

    /// Notes that an entry, by its place in the target, is restored.
    pub(super) fn restored(&self, place: &TreePath) {
        (self.tell)(Event::Restored(&self.request.scope.outside(place)));
    }

    /// Names an entry, by its place in the target, that is not wholly restored because the repository is damaged.
    pub(super) fn damaged(&self, place: &TreePath, why: String) {
        self.is_damaged.store(true, Ordering::Relaxed);
        self.trouble(place, why);
    }

    /// Names an entry that is not what the snapshot has, though it was written, or looked right.
    pub(super) fn differs(&self, place: &TreePath, why: String) {
        self.differs.store(true, Ordering::Relaxed);
        self.trouble(place, why);
    }

    /// Names an entry that could not be written; ends the restore if no other one can be written either.
    pub(super) fn write_failed(&self, error: &WriteError) {
        self.trouble(&error.path(), sentence(error));
    }

    /// Names an entry that is not wholly restored.
    pub(super) fn trouble(&self, place: &TreePath, why: String) {
        self.count(|tally| tally.errors += 1);
        self.progress.add_error();
        self.leave_unverified(place);
        (self.tell)(Event::Trouble { path: &self.request.scope.outside(place), why });
    }

    /// Names entries that cannot even be told.
    pub(super) fn lost(&self, range: &LostRange, why: String) {
        self.is_damaged.store(true, Ordering::Relaxed);
        self.has_lost.store(true, Ordering::Relaxed);
        self.count(|tally| tally.errors += 1);
        self.progress.add_error();
        (self.tell)(Event::Lost { range, why });
    }

    /// Whether there are entries that cannot be told.
    pub(super) fn has_lost(&self) -> bool {
        self.has_lost.load(Ordering::Relaxed)
    }

    /// Keeps what is at a place from being verified.
    pub(super) fn leave_unverified(&self, place: &TreePath) {
        if self.request.verifies {
            self.unverifiable.lock().unwrap_or_else(PoisonError::into_inner).insert(place.clone());
        }
    }

    /// Whether what is at a place is to be verified.
    pub(super) fn is_verifiable(&self, place: &TreePath) -> bool {
        !self.unverifiable.lock().unwrap_or_else(PoisonError::into_inner).contains(place)
    }

    /// Ends everything because of an error that hits every entry.
    pub(super) fn stop(&self, error: RestoreError) {
        self.fatal.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether there is nothing more to do: an error that hits every entry, or the user's wish.
    pub(super) fn is_over(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed) || self.interrupted.load(Ordering::Relaxed)
    }

    /// Fails if the work ended early.
    pub(super) fn check(&self) -> Result<(), RestoreError> {
        if let Some(error) = self.fatal.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(error);
        }
        if self.interrupted.load(Ordering::Relaxed) { Err(RestoreError::Interrupted) } else { Ok(()) }
    }

    /// What was counted, whether there was damage, and whether something was read again as something else.
    pub(super) fn finish(self) -> (Tally, bool, bool) {
        let tally = self.tally.into_inner().unwrap_or_else(PoisonError::into_inner);
        (tally, self.is_damaged.into_inner(), self.differs.into_inner())
    }
}

/// An error with what caused it, in one line.
pub(super) fn sentence(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
