//! Compare: reads the scan and the parent snapshot side by side, both in tree order. Decides for every entry whether it
//! is taken over unchanged or becomes a job.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use copal_engine::backup::change::{ChangeDetection, is_unchanged};
use copal_engine::backup::reuse::RewriteBudget;
use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::{Content, Entry, EntryKind};
use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};

use super::content::{Job, Tools, words};
use super::cursor::{ParentCursor, ParentEntry};
use super::entry::look;
use super::outbox::{Outbox, Outgoing};
use super::parent::Parent;
use super::{SkipKind, Trouble, TroubleKind};
use crate::progress::Progress;
use crate::reader::TreeError;
use crate::scan::{ScanEvent, Scanned, Scope, Skip, source_of};
use crate::stat::{EntryStat, FileId, is_absent};
use crate::system::FileType;

/// Compares until the scan ends.
pub(super) struct Comparison<'a> {
    pub(super) parent: &'a Parent,
    pub(super) detection: ChangeDetection,
    pub(super) force: bool,
    /// The scope of a list of changes. If everything is looked at, the list is checked against what has changed.
    pub(super) listed: Option<&'a Scope>,
    /// Changes that the list does not have.
    pub(super) missed: usize,
    /// The last of them that no longer exists.
    pub(super) gone: Option<TreePath>,
    /// Bytes that may still be uploaded again because the repository wants them.
    pub(super) rewrite_budget: RewriteBudget,
    pub(super) tools: &'a Tools<'a>,
    pub(super) progress: &'a Progress,
    pub(super) interrupted: &'a AtomicBool,
}

impl Comparison<'_> {
    /// Sends an item for every entry, and a job for each not taken over. Ends early if the receiver has gone, or takes no
    /// more items (`ended`).
    pub(super) fn run(
        mut self,
        events: &Receiver<Vec<ScanEvent>>,
        jobs: &Sender<Job>,
        items: &Sender<Vec<Outgoing>>,
        ended: &AtomicBool,
    ) -> Result<(), TreeError> {
        let mut parent = ParentCursor::new(self.parent);
        let mut linked: HashSet<FileId> = HashSet::new();
        let mut outbox = Outbox::new(items);
        while let Some(events) = next(events, &mut outbox) {
            for event in events {
                if self.interrupted.load(Ordering::Relaxed) || ended.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let item = match event {
                    ScanEvent::Entry(entry)
                        if entry.stat.links > 1 && !entry.stat.is_directory() && linked.contains(&entry.stat.id()) =>
                    {
                        self.progress.file_found(0);
                        let old = parent.find(Some(&entry.path), |old| self.tell_gone(&old, &mut outbox))?;
                        Outgoing::Link { path: entry.path, stat: entry.stat, old: old.map(|old| Box::new(old.entry)) }
                    }
                    ScanEvent::Entry(entry) => {
                        if entry.stat.kind() == FileType::RegularFile {
                            self.progress.file_found(entry.stat.size);
                        }
                        if entry.stat.links > 1 && !entry.stat.is_directory() {
                            linked.insert(entry.stat.id());
                        }
                        let old = parent.find(Some(&entry.path), |old| self.tell_gone(&old, &mut outbox))?;
                        match self.compare(entry, old, jobs, &mut outbox) {
                            Some(item) => item,
                            None => return Ok(()),
                        }
                    }
                    other => Outgoing::Trouble(trouble(other)),
                };
                if !outbox.put(item) {
                    return Ok(());
                }
            }
        }
        let is_over = || self.interrupted.load(Ordering::Relaxed) || ended.load(Ordering::Relaxed);
        if self.listed.is_some() && !is_over() {
            parent.find(None, |old| self.tell_gone(&old, &mut outbox))?;
            outbox.flush();
        }
        self.progress.all_found();
        Ok(())
    }

    /// Makes an entry's item; none if the receiver has gone.
    pub(super) fn compare(
        &mut self,
        entry: Scanned,
        old: Option<ParentEntry>,
        jobs: &Sender<Job>,
        outbox: &mut Outbox<'_>,
    ) -> Option<Outgoing> {
        let is_listed = self.listed.is_some_and(|scope| scope.decides(&entry.path));
        let begun = |old: &ParentEntry| if is_listed && self.tools.as_path.is_set() { ALWAYS } else { old.begun };
        let detection = ChangeDetection { parent_begun: old.as_ref().map(begun), ..self.detection };
        let old = old.map(|old| old.entry);
        if self.is_missed(&entry, old.as_ref()) {
            self.tell_missed(&entry.path, "changed", outbox).then_some(())?;
            let was_directory = old.as_ref().is_some_and(|old| old.kind() == EntryKind::Directory);
            if was_directory && !entry.stat.is_directory() {
                self.gone = Some(entry.path.clone());
            }
        }
        let is_unchanged = |old: &Entry| !self.force && is_unchanged(old, &look(&entry.stat), detection);
        let is_reused = old.as_ref().is_some_and(is_unchanged)
            && old.as_ref().is_some_and(|old| self.parent.may_reuse(&mut self.rewrite_budget, old));
        // If ctime and inode are the same, nothing else about the entry has changed either.
        let is_same = |old: &Entry| {
            let is_it = old.ctime == entry.stat.ctime && old.inode == entry.stat.inode;
            is_it && is_same_link(old, &entry.stat) && !self.parent.may_lack(&entry.path)
        };
        let old = match old {
            Some(old) if is_reused && is_same(&old) => return Some(Outgoing::Same(Box::new(old), entry.stat.id())),
            old => old.map(Box::new),
        };
        let cost = outbox.take(self.tools.budget, Tools::cost(if is_reused { 0 } else { entry.stat.size }))?;
        let before = match old.as_deref() {
            Some(Entry { content: Content::Chunks(pieces), .. }) if !is_reused => pieces.clone(),
            _ => Vec::new(),
        };
        let (parts, taken) = bounded(2);
        let item = Outgoing::Job { path: entry.path.clone(), parts: taken, old, cost, is_reused };
        let job = Job { path: entry.path, stat: entry.stat, is_content_needed: !is_reused, before, parts };
        outbox.send_job(jobs, job).then_some(item)
    }
}

impl Comparison<'_> {
    /// Whether a list of changes lacks an entry that has changed. False once [`MISSED`] of them were reported.
    fn is_missed(&self, entry: &Scanned, old: Option<&Entry>) -> bool {
        let is_same = |old: &Entry| is_unchanged(old, &look(&entry.stat), self.detection);
        self.may_miss(&entry.path) && !old.is_some_and(is_same)
    }

    /// Reports an entry of the parent snapshot that the scan did not find, if it no longer exists and a list of changes
    /// lacks it. If a whole directory has gone, reports only the directory.
    fn tell_gone(&mut self, old: &Entry, outbox: &mut Outbox<'_>) {
        let is_told = self.gone.as_ref().is_some_and(|gone| old.path.is_within(gone));
        if self.may_miss(&old.path) && !is_told && !self.interrupted.load(Ordering::Relaxed) {
            // The scan also lacks what is in a directory that it could not list.
            let found = EntryStat::of_path(&self.tools.as_path.source_of(&old.path));
            if found.is_err_and(|error| is_absent(&error)) {
                self.gone = Some(old.path.clone());
                // If the receiver has gone, the next item ends the comparison.
                self.tell_missed(&old.path, "gone", outbox);
            }
        }
    }

    /// Whether a list of changes lacks this path, and fewer than [`MISSED`] were reported.
    fn may_miss(&self, path: &TreePath) -> bool {
        self.missed < MISSED && self.listed.is_some_and(|scope| !scope.decides(path))
    }

    /// False if the receiver has gone.
    fn tell_missed(&mut self, path: &TreePath, fate: &str, outbox: &mut Outbox<'_>) -> bool {
        self.missed += 1;
        let why = format!("it has {fate}, and the list of changes does not have it");
        outbox.put(Outgoing::Trouble(Trouble { path: source_of(path), kind: TroubleKind::Unlisted, why }))
    }
}

/// How many changes are reported that a list does not have.
const MISSED: usize = 20;

/// The next events; none at the end, or if the receiver has gone.
pub(super) fn next(events: &Receiver<Vec<ScanEvent>>, outbox: &mut Outbox<'_>) -> Option<Vec<ScanEvent>> {
    match events.try_recv() {
        Ok(events) => return Some(events),
        Err(TryRecvError::Empty) => outbox.flush().then_some(())?,
        Err(TryRecvError::Disconnected) => {}
    }
    let next = events.recv().ok();
    if next.is_none() {
        outbox.flush();
    }
    next
}

fn is_same_link(old: &Entry, stat: &EntryStat) -> bool {
    old.extras.hardlink.is_some() == (stat.links > 1 && !stat.is_directory())
}

pub(super) fn trouble(event: ScanEvent) -> Trouble {
    let (path, kind, why) = match event {
        ScanEvent::Unreadable { path, error } => (path, TroubleKind::Unreadable, words(&error)),
        ScanEvent::Skipped { path, reason } => {
            let why = match &reason {
                Skip::Socket => "a socket is not backed up".to_owned(),
                Skip::OtherFileSystem => "another file system is mounted there".to_owned(),
                Skip::KernelFileSystem => "the kernel shows its state there; name it to have it saved".to_owned(),
                Skip::Marked(name) => format!("it holds {}", name.to_string_lossy()),
                Skip::Repository => "it is the repository itself".to_owned(),
                Skip::ExcludedRoot => "it is excluded, though it was named to be backed up".to_owned(),
            };
            (path, TroubleKind::Skipped(SkipKind::from(&reason)), why)
        }
        ScanEvent::BadIgnoreFile { path, problem } => (path, TroubleKind::Skipped(SkipKind::Noted), problem),
        ScanEvent::Entry(entry) => (entry.path, TroubleKind::Skipped(SkipKind::Quiet), String::new()),
    };
    Trouble { path: source_of(&path), kind, why }
}

/// As the time when a backup began: all its files are read again. Used for the files that a list of changes names in a
/// file system snapshot, which may have new times with old content.
const ALWAYS: Time = Time(i64::MIN);
