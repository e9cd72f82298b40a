//! File: a regular file during its restore, from its first chunk to its metadata.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::Extents;
use copal_format::tree::{Content, Entry, Inline, Owner};

use super::RestoreError;
use super::handle::Handle;
use super::work::Work;
use crate::materialize::{Metadata, Target, TargetFile, TargetState, Wanted, WriteError};
use crate::read::Xattr;
use crate::system::Birth;

/// The metadata to set once the content is written.
pub(super) struct LateMetadata {
    mode: u32,
    owner: Arc<Owner>,
    mtime: Time,
    birth: Birth,
    xattrs: Vec<Xattr>,
}

/// A file during its restore. Threads share it.
pub(super) struct Restoring {
    pub(super) place: TreePath,
    late: LateMetadata,
    size: u64,
    extents: Extents,
    /// Whether it is written in one piece, which sets its length.
    is_one_piece: bool,
    has_holes: bool,
    /// Whether another entry is in its place, to be removed when the first bytes are ready; and whether it is the only
    /// name of its file.
    replaces: bool,
    is_alone: bool,
    handle: Arc<Mutex<Handle>>,
    /// Pieces still to write, plus one until all pieces have been added.
    left: AtomicU64,
    is_named: AtomicBool,
}

impl LateMetadata {
    pub(super) fn of(entry: &mut Entry) -> Self {
        let xattrs = std::mem::take(&mut entry.extras.xattrs);
        Self {
            mode: entry.mode.bits(),
            owner: entry.owner.clone(),
            mtime: entry.mtime,
            birth: entry.birth.into(),
            xattrs,
        }
    }

    pub(super) fn metadata(&self) -> Metadata<'_> {
        let Owner { uid, gid, .. } = *self.owner;
        Metadata { mode: self.mode, uid, gid, mtime: self.mtime, birth: self.birth, xattrs: &self.xattrs }
    }
}

impl Restoring {
    /// A file for a place. The caller holds it until [`Restoring::release`].
    pub(super) fn new(place: TreePath, entry: &mut Entry, replaces: bool) -> Arc<Self> {
        let holes = &entry.extras.holes;
        let is_one_piece = match &entry.content {
            Content::None | Content::Inline(_) => true,
            Content::Chunks(pieces) => pieces.len() == 1,
            Content::List { .. } => false,
        };
        Arc::new(Self {
            place,
            is_one_piece: is_one_piece && holes.is_empty(),
            has_holes: !holes.is_empty(),
            size: entry.size,
            extents: Extents::of(entry),
            late: LateMetadata::of(entry),
            replaces,
            is_alone: entry.extras.hardlink.is_none(),
            handle: Arc::default(),
            left: AtomicU64::new(1),
            is_named: AtomicBool::new(false),
        })
    }

    /// Announces a piece; [`Restoring::release`] follows once it is written.
    pub(super) fn expect(&self) {
        self.left.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn write(&self, work: &Work<'_>, target: &Target, offset: u64, bytes: &[u8]) {
        self.write_parts(work, target, self.extents.parts(offset, bytes));
    }

    /// Writes content that is stored inside the entry.
    pub(super) fn write_inline(&self, work: &Work<'_>, target: &Target, content: &Inline) {
        self.write_parts(work, target, self.extents.inline(content));
    }

    fn write_parts<'b>(&self, work: &Work<'_>, target: &Target, parts: impl Iterator<Item = (u64, &'b [u8])>) {
        let mut parts = parts.peekable();
        if parts.peek().is_none() {
            return;
        }
        let mut taken = 0;
        let written = self.opened(work, target).and_then(|file| {
            let mut written = 0;
            for (offset, bytes) in parts {
                taken += bytes.len() as u64;
                if let Some(file) = &file {
                    file.write_at(offset, bytes)?;
                    written += bytes.len() as u64;
                }
            }
            Ok(written)
        });
        match written {
            Ok(written) => work.count(|tally| tally.bytes_written += written),
            Err(error) => self.write_failed(work, error),
        }
        work.progress.add_done(taken);
    }

    /// Records that a piece is damaged or missing.
    pub(super) fn damaged(&self, work: &Work<'_>, why: String) {
        if !self.is_named.swap(true, Ordering::Relaxed) {
            work.damaged(&self.place, why);
        }
    }

    /// Whether the file was reported as incomplete.
    pub(super) fn is_named(&self) -> bool {
        self.is_named.load(Ordering::Relaxed)
    }

    /// Whether the file exists in the target.
    pub(super) fn is_made(&self) -> bool {
        matches!(*self.lock(), Handle::Finished)
    }

    /// Whether the file could not be made or written to.
    pub(super) fn is_failed(&self) -> bool {
        matches!(*self.lock(), Handle::Failed)
    }

    /// Ends one piece, or the adding of pieces; the last call finishes the file.
    pub(super) fn release(&self, work: &Work<'_>, target: &Target) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1
            && !work.is_over()
            && let Err(error) = self.finish(work, target)
        {
            self.write_failed(work, error);
        }
    }

    fn finish(&self, work: &Work<'_>, target: &Target) -> Result<(), WriteError> {
        let is_whole = !self.is_named();
        // If no chunk of a file is readable, leave the existing target file alone.
        if !is_whole && matches!(*self.lock(), Handle::None) {
            return Ok(());
        }
        let Some(file) = self.opened(work, target)? else { return Ok(()) };
        if is_whole {
            target.set_file_metadata(&file, &self.late.metadata());
            work.count(|tally| tally.files_restored += 1);
            work.restored(&self.place);
        } else {
            target.set_file_rights(&file, &self.late.metadata());
        }
        work.progress.file_done();
        work.progress.now_at(self.place.as_bytes());
        *self.lock() = Handle::Finished;
        Ok(())
    }

    /// The open file, created if necessary; `None` if that failed before.
    fn opened(&self, work: &Work<'_>, target: &Target) -> Result<Option<Arc<TargetFile>>, WriteError> {
        let mut handle = self.lock();
        let opened = match &*handle {
            Handle::Open(file) => return Ok(Some(file.clone())),
            Handle::Failed | Handle::Finished => return Ok(None),
            Handle::None => match self.make(target) {
                // Somebody has written to the existing file since the walk looked at it. That file stays, and other
                // names of the restored file become names of it.
                Ok(None) => {
                    *handle = Handle::Finished;
                    work.count(|tally| tally.files_skipped += 1);
                    work.leave_unverified(&self.place);
                    return Ok(None);
                }
                Ok(Some(file)) => Ok(file),
                Err(error) => Err(error),
            },
            Handle::Closed(id) => target.reopen_file(&self.place, *id),
        };
        match opened {
            Ok(file) => {
                let file = Arc::new(file);
                *handle = Handle::Open(file.clone());
                drop(handle);
                if !self.is_one_piece {
                    work.open_files.add(&self.handle);
                }
                Ok(Some(file))
            }
            Err(error) => {
                *handle = Handle::Failed;
                Err(error)
            }
        }
    }

    /// Creates the file; none if the entry that is now in its place must stay.
    fn make(&self, target: &Target) -> Result<Option<TargetFile>, WriteError> {
        if self.replaces {
            let (metadata, size) = (self.late.metadata(), self.size);
            let wanted = Wanted { metadata, size, points_to: None, device: None, is_alone: self.is_alone };
            if matches!(target.make_way(&self.place, &wanted)?, TargetState::Kept | TargetState::Same) {
                return Ok(None);
            }
        }
        let file = target.create_file(&self.place, self.late.metadata().safe_mode())?;
        if self.has_holes {
            file.keep_holes()?;
        }
        if !self.is_one_piece && self.size > 0 {
            file.set_length(self.size)?;
        }
        Ok(Some(file))
    }

    fn write_failed(&self, work: &Work<'_>, error: WriteError) {
        if error.hits_all() {
            return work.stop(RestoreError::Target(error));
        }
        if !self.is_named.swap(true, Ordering::Relaxed) {
            work.write_failed(&error);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Handle> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
