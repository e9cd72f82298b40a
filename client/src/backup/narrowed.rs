//! Narrowed: reads the scan of a scope and the parent snapshot side by side, both in tree order. Everything else is
//! taken over from the parent snapshot. A page with nothing of the scope below it is taken over unread.

use std::fs::{self, File};
use std::iter::Peekable;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::vec;

use copal_format::id::ChunkId;
use copal_format::index::Bits;
use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::{Entry, Step, TreeWalk};
use crossbeam_channel::{Receiver, Sender};

use super::compare::{Comparison, next, trouble};
use super::content::Job;
use super::cursor::ParentEntry;
use super::outbox::{Outbox, Outgoing};
use super::parent::{Compared, Parent};
use super::{BackupError, Outcome, Source, Trouble, TroubleKind};
use crate::changed::{Gap, Narrowing, Walked, put};
use crate::entropy::random;
use crate::places::{alone, read_private};
use crate::reader::TreeError;
use crate::scan::{Extent, ScanEvent, Scanned, Scope, source_of};
use crate::system::FileType;

/// A list of changes, with the configuration as it was before anything was looked at.
pub(super) struct Listed {
    list: Narrowing,
    configuration: String,
    /// The note about the last backup.
    before: Option<Walked>,
    /// The bytes of the note's file as long as no other backup begins or ends; none if there is no file.
    left: Option<Vec<u8>>,
    /// Whether these are a token of this backup, not the note.
    is_taken: bool,
}

/// The paths that a narrowed backup looks at, and the tree from which it takes all others.
pub(super) struct Narrowed<'a> {
    pub(super) scope: &'a Scope,
    pub(super) root: ChunkId,
    /// When the backup that recorded the tree began.
    pub(super) begun: Time,
}

/// The channels of a comparison.
struct Lines<'a> {
    events: &'a Receiver<Vec<ScanEvent>>,
    jobs: &'a Sender<Job>,
    outbox: Outbox<'a>,
    found: Peekable<vec::IntoIter<ScanEvent>>,
}

/// Why a comparison ends early.
enum End {
    Failed(BackupError),
    /// The receiver has gone, or takes no more items.
    Gone,
}

impl<E: Into<BackupError>> From<E> for End {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Listed {
    /// Reads the note. A list that names no snapshot follows the snapshot in the note. So a backup with such a list
    /// replaces the note by a token. Another backup that begins before this one has ended then looks at everything, and
    /// only the one that began last notes its snapshot.
    pub(super) fn of(source: &Source<'_>, is_dry_run: bool) -> Option<Self> {
        let Source::Tree { scan, changed: Some(list), .. } = source else { return None };
        let is_taken = !is_dry_run && list.since.is_none();
        let _alone = is_taken.then(|| alone_at(&list.note));
        let left = read_private(&list.note).ok();
        let before = left.as_deref().and_then(Walked::parse);
        let configuration = list.configuration(scan.options());
        let mut listed = Self { list: list.clone(), configuration, before, left, is_taken };
        if is_taken {
            let token: [u8; 16] = random();
            put(&list.note, &token);
            listed.left = Some(token.to_vec());
            // Unless others see the token, they believe the note, too.
            if !listed.is_only() {
                listed.before = None;
            }
        }
        Some(listed)
    }

    /// Whether no other backup has begun or ended since this one began.
    fn is_only(&self) -> bool {
        read_private(&self.list.note).ok() == self.left
    }

    /// The snapshot that the list follows, and what was noted of it; a gap if it follows none.
    pub(super) fn follows(&self, parent: &Parent, paths: &[Vec<u8>]) -> Result<(Walked, Compared), Gap> {
        if let Some(why) = self.list.doubt {
            return Err(why.into());
        }
        // Only a walk tells whether such a path has files again.
        if parent.is_unread(paths) {
            return Err(Gap::Troubles);
        }
        let note = self.before.clone().ok_or(Gap::NoNote)?;
        if parent.checkpoint.is_some() {
            return Err(Gap::Checkpoint);
        }
        let snapshot = parent.snapshot.filter(|snapshot| snapshot.is_kept && snapshot.id.to_string() == note.snapshot);
        let snapshot = snapshot.ok_or(Gap::OtherParent)?;
        if self.list.since.as_ref().is_some_and(|since| !snapshot.id.to_string().starts_with(since)) {
            return Err(Gap::OtherSnapshot(snapshot.id));
        }
        if note.configuration != self.configuration {
            return Err(Gap::Configuration);
        }
        // Marks other than flags may be of data that the parent snapshot refers to.
        let overlay = parent.index.overlay();
        if overlay.marks().any(|(_, mark)| !mark.bits.without(Bits::FLAGGED).is_empty()) {
            return Err(Gap::Damage);
        }
        if note.troubles.len() > TROUBLES {
            return Err(Gap::Troubles);
        }
        Ok((note, snapshot))
    }

    /// Notes the snapshot, for the next list.
    pub(super) fn note(mut self, outcome: &Outcome) {
        let Some(snapshot) = outcome.snapshot.or(outcome.parent) else { return };
        self.is_taken = false;
        let _alone = alone_at(&self.list.note);
        if !self.is_only() {
            return;
        }
        let before = self.before.take().filter(|_| outcome.is_narrowed);
        let is_incomplete = |kind| matches!(kind, TroubleKind::Unreadable | TroubleKind::Changing);
        let incomplete = outcome.troubles.iter().filter(|trouble| is_incomplete(trouble.kind));
        let note = Walked {
            snapshot: snapshot.to_string(),
            configuration: self.configuration.clone(),
            narrowed: before.map_or(0, |before| before.narrowed.saturating_add(1)),
            troubles: incomplete.map(Trouble::tree_bytes).collect(),
        };
        note.keep(&self.list.note);
    }
}

impl Drop for Listed {
    /// After a failure, restores the note.
    fn drop(&mut self) {
        let _alone = self.is_taken.then(|| alone_at(&self.list.note));
        if self.is_taken && self.is_only() {
            match &self.before {
                Some(before) => before.keep(&self.list.note),
                None => drop(fs::remove_file(&self.list.note)),
            }
        }
    }
}

impl Comparison<'_> {
    /// Like [`Comparison::run`], for the entries in a scope.
    pub(super) fn run_narrowed(
        self,
        narrowed: &Narrowed<'_>,
        events: &Receiver<Vec<ScanEvent>>,
        jobs: &Sender<Job>,
        items: &Sender<Vec<Outgoing>>,
        ended: &AtomicBool,
    ) -> Result<(), BackupError> {
        let lines = Lines { events, jobs, outbox: Outbox::new(items), found: Vec::new().into_iter().peekable() };
        match self.join(narrowed, lines, ended) {
            Ok(()) | Err(End::Gone) => Ok(()),
            Err(End::Failed(error)) => Err(error),
        }
    }

    fn join(mut self, narrowed: &Narrowed<'_>, mut lines: Lines<'_>, ended: &AtomicBool) -> Result<(), End> {
        let scope = narrowed.scope;
        let mut walk = TreeWalk::new(narrowed.root);
        loop {
            if self.interrupted.load(Ordering::Relaxed) || ended.load(Ordering::Relaxed) {
                return Ok(());
            }
            if let Some(passed) = walk.pass(|after, child| !scope.touches(after, &child.last_path)) {
                self.before(&mut lines, Some(&passed.child.last_path))?;
                lines.put(Outgoing::Page(passed))?;
                continue;
            }
            match walk.step() {
                Step::Need(id) => {
                    let page = self.parent.pages.page(&id).map_err(unreadable)?;
                    walk.supply(page).map_err(unreadable)?;
                }
                Step::Entry(old) => {
                    self.before(&mut lines, Some(&old.path))?;
                    if !scope.decides(&old.path) {
                        lines.put(Outgoing::Unseen(Box::new(old)))?;
                        continue;
                    }
                    if old.extras.hardlink.is_some() {
                        return Err(BackupError::from(Gap::Links(source_of(&old.path))).into());
                    }
                    let found = lines.entry_at(&old.path);
                    // The entries below this directory are taken over. So it must still be the one that the scope was made for.
                    let is_it = |entry: &Scanned| entry.stat.is_directory() && entry.stat.inode == old.inode;
                    let is_piecemeal = scope.at(&old.path) == Some(Extent::Entry);
                    if is_piecemeal && !found.as_ref().is_some_and(is_it) {
                        return Err(BackupError::from(Gap::Replaced(source_of(&old.path))).into());
                    }
                    lines.put(Outgoing::Before(old.kind(), old.size))?;
                    if let Some(entry) = found {
                        self.look(&mut lines, entry, Some((old, narrowed.begun)))?;
                    }
                }
                Step::Done => {
                    self.before(&mut lines, None)?;
                    self.progress.all_found();
                    return if lines.outbox.flush() { Ok(()) } else { Err(End::Gone) };
                }
            }
        }
    }

    /// Sends what the scan has found before a path of the parent snapshot: all of it is new.
    fn before(&mut self, lines: &mut Lines<'_>, path: Option<&TreePath>) -> Result<(), End> {
        while let Some(event) = lines.event_if(|event| path.is_none_or(|path| path_of(event) < path)) {
            match event {
                ScanEvent::Entry(entry) => self.look(lines, entry, None)?,
                other => lines.put(Outgoing::Trouble(trouble(other)))?,
            }
        }
        Ok(())
    }

    /// Compares an entry that the scan has found.
    fn look(&mut self, lines: &mut Lines<'_>, entry: Scanned, old: Option<(Entry, Time)>) -> Result<(), End> {
        // Its other names changed with it, and the list may not have them.
        if entry.stat.links > 1 && !entry.stat.is_directory() {
            return Err(BackupError::from(Gap::Links(source_of(&entry.path))).into());
        }
        if entry.stat.kind() == FileType::RegularFile {
            self.progress.file_found(entry.stat.size);
        }
        let old = old.map(|(entry, begun)| ParentEntry { entry, begun });
        let item = self.compare(entry, old, lines.jobs, &mut lines.outbox).ok_or(End::Gone)?;
        lines.put(item)
    }
}

impl Lines<'_> {
    fn put(&mut self, item: Outgoing) -> Result<(), End> {
        if self.outbox.put(item) { Ok(()) } else { Err(End::Gone) }
    }

    /// The next event, if it is one of these.
    fn event_if(&mut self, is_wanted: impl Fn(&ScanEvent) -> bool) -> Option<ScanEvent> {
        while self.found.peek().is_none() {
            self.found = next(self.events, &mut self.outbox)?.into_iter().peekable();
        }
        self.found.next_if(|event| is_wanted(event))
    }

    /// The entry that the scan has found at this path.
    fn entry_at(&mut self, path: &TreePath) -> Option<Scanned> {
        match self.event_if(|event| matches!(event, ScanEvent::Entry(entry) if entry.path == *path))? {
            ScanEvent::Entry(entry) => Some(entry),
            _ => None,
        }
    }
}

fn path_of(event: &ScanEvent) -> &TreePath {
    match event {
        ScanEvent::Entry(entry) => &entry.path,
        ScanEvent::Unreadable { path, .. }
        | ScanEvent::Skipped { path, .. }
        | ScanEvent::BadIgnoreFile { path, .. } => path,
    }
}

/// Held while the note is read and replaced: then no other process does that.
fn alone_at(note: &Path) -> Option<File> {
    alone(note.parent()?).ok().flatten()
}

/// A page of the parent snapshot that cannot be read: a whole walk does without it.
pub(super) fn unreadable(error: impl Into<TreeError>) -> BackupError {
    Gap::Parent(error.into()).into()
}

/// Entries that could not be saved and are looked at again.
const TROUBLES: usize = 1_000;
