//! Tree: takes the entries of a scan one after another.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use copal_engine::backup::reuse::RewriteBudget;
use copal_format::path::TreePath;
use copal_format::tree::{Content, Entry};
use crossbeam_channel::{Receiver, Sender, bounded};

use super::super::compare::Comparison;
use super::super::content::{Job, Part, Tools, do_job, work};
use super::super::narrowed::Narrowed;
use super::super::outbox::{Outgoing, TOGETHER};
use super::super::{BackupError, Trouble, TroubleKind};
use super::Assembly;
use crate::progress::Fate;
use crate::scan::{Scope, Sweep, source_of};
use crate::stat::{EntryStat, FileId};

impl Assembly<'_, '_> {
    /// Takes what a scan finds. The scan is of a scope, or of everything. Then the result is compared with the scope.
    pub(super) fn take_tree(
        &mut self,
        sweep: Sweep,
        tools: &Tools<'_>,
        scope: Option<&Scope>,
    ) -> Result<(), BackupError> {
        let attempt = self.attempt;
        // The scan may have seen a file before a write that comes after this time.
        self.started = self.base.map_or(sweep.started, |_| self.started);
        let before = attempt.parent.trees().map(|tree| tree.counts.bytes).max().unwrap_or(0);
        attempt.progress.estimate(before);
        let comparison = Comparison {
            parent: &attempt.parent,
            progress: attempt.progress,
            detection: attempt.options.detection,
            force: attempt.options.force,
            listed: scope,
            missed: 0,
            gone: None,
            rewrite_budget: RewriteBudget((before as f64 * attempt.options.rewrite_budget) as u64),
            tools,
            interrupted: attempt.interrupted,
        };
        let work = |jobs: &Receiver<Job>| work(jobs, tools);
        let narrowed = scope.filter(|_| self.base.is_some()).zip(attempt.parent.snapshot);
        let narrowed = narrowed.map(|(scope, before)| Narrowed { scope, root: before.root, begun: before.begun });
        self.take_made(attempt.options.threads, tools, work, |jobs, items, ended| {
            let compared = match &narrowed {
                Some(narrowed) => comparison.run_narrowed(narrowed, &sweep.events, jobs, items, ended),
                None => comparison.run(&sweep.events, jobs, items, ended).map_err(BackupError::from),
            };
            sweep.finish();
            compared
        })
    }

    /// Takes the items that one thread makes, while others do its jobs.
    pub(super) fn take_made<J: Send>(
        &mut self,
        threads: usize,
        tools: &Tools<'_>,
        work: impl Fn(&Receiver<J>) + Sync,
        make: impl FnOnce(&Sender<J>, &Sender<Vec<Outgoing>>, &AtomicBool) -> Result<(), BackupError> + Send,
    ) -> Result<(), BackupError> {
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let (jobs, to_do) = bounded(ITEMS);
            let (to_session, items) = bounded::<Vec<Outgoing>>(ITEMS / TOGETHER);
            for _ in 0..threads {
                let (to_do, work) = (to_do.clone(), &work);
                scope.spawn(move || work(&to_do));
            }
            drop(to_do);
            let ended_early = &ended;
            let comparing = scope.spawn(move || make(&jobs, &to_session, ended_early));
            let taken = self.take_items(&items, tools);
            ended.store(true, Ordering::Relaxed);
            // After an error, items may be left, and the comparing thread may wait for room or budget: drain them.
            items.into_iter().flatten().for_each(|item| tools.budget.give(item.cost()));
            comparing.join().expect("comparing does not panic")?;
            taken
        })
    }

    fn take_items(&mut self, items: &Receiver<Vec<Outgoing>>, tools: &Tools<'_>) -> Result<(), BackupError> {
        for mut together in items.iter().map(Vec::into_iter) {
            while let Some(item) = together.next() {
                let taken = self.take_item(item, tools);
                if taken.is_err() || self.attempt.interrupted.load(Ordering::Relaxed) {
                    together.for_each(|item| tools.budget.give(item.cost()));
                    return taken;
                }
            }
        }
        Ok(())
    }

    fn take_item(&mut self, item: Outgoing, tools: &Tools<'_>) -> Result<(), BackupError> {
        match item {
            Outgoing::Same(entry, file) => self.take_same(*entry, file)?,
            Outgoing::Job { path, parts, old, cost, is_reused } => {
                let taken = self.take_job(path, parts, old, is_reused);
                tools.budget.give(cost);
                taken?;
            }
            Outgoing::Page(page) => self.take_page(&page)?,
            Outgoing::Unseen(entry) => self.take_unseen(&entry)?,
            Outgoing::Before(kind, size) => self.leave(kind, size)?,
            Outgoing::Link { path, stat, old } => self.take_link(path, &stat, old, tools)?,
            Outgoing::Copied(copied) => {
                let cost = copied.cost;
                let taken = self.take_copied(copied);
                tools.budget.give(cost);
                taken?;
            }
            Outgoing::Trouble(trouble) => self.trouble(trouble),
        }
        self.act()?;
        self.claim_if_due()
    }

    fn take_same(&mut self, mut entry: Entry, file: FileId) -> Result<(), BackupError> {
        self.attempt.progress.now_in_tree(&entry.path);
        self.attempt.progress.add_done(entry.size);
        if let Some(group) = entry.extras.hardlink {
            let group = self.recorder.group_of(file, group);
            entry.extras.hardlink = Some(group);
            self.linked.insert(group, (entry.size, entry.content.clone(), entry.extras.clone()));
        }
        self.keep_content(&entry.content);
        self.add_and_tell(&entry, Fate::Unchanged)
    }

    fn take_job(
        &mut self,
        path: TreePath,
        parts: Receiver<Part>,
        old: Option<Box<Entry>>,
        is_reused: bool,
    ) -> Result<(), BackupError> {
        let (mut found, inline) = match self.receive(&path, &parts)? {
            Received::Done(found, inline) => (found, inline),
            Received::Failed(why) => {
                self.trouble(Trouble { path: source_of(&path), kind: TroubleKind::Unreadable, why });
                return Ok(());
            }
            Received::Interrupted => return Ok(()),
        };
        if found.is_changing {
            let why = "it changed each time it was read; it is saved as it was read last".to_owned();
            self.trouble(Trouble { path: source_of(&path), kind: TroubleKind::Changing, why });
        }
        for why in &found.unreadable {
            self.trouble(Trouble { path: source_of(&path), kind: TroubleKind::Unreadable, why: why.clone() });
        }
        let content = match (&old, inline) {
            (Some(old), _) if is_reused => {
                self.keep_content(&old.content);
                found.extras.holes = old.extras.holes.clone();
                old.content.clone()
            }
            (_, inline) => self.content_of(inline)?,
        };
        self.open = None;
        let stat = found.stat;
        let Some(entry) = self.recorder.entry(path.clone(), &stat, content, found.extras) else {
            let why = "it is of a kind that cannot be backed up".to_owned();
            self.trouble(Trouble { path: source_of(&path), kind: TroubleKind::Unreadable, why });
            return Ok(());
        };
        if let Some(group) = entry.extras.hardlink {
            self.linked.insert(group, (entry.size, entry.content.clone(), entry.extras.clone()));
        }
        let fate = match old {
            None => Fate::New,
            // Maybe read again to be sure.
            Some(old) if *old == entry => Fate::Unchanged,
            Some(old) if (&old.content, old.size) == (&entry.content, entry.size) => Fate::Metadata,
            Some(_) => Fate::Changed,
        };
        self.add_and_tell(&entry, fate)
    }

    fn add_and_tell(&mut self, entry: &Entry, fate: Fate) -> Result<(), BackupError> {
        if self.add(entry, fate)? {
            self.attempt.progress.tell(entry, fate);
        }
        Ok(())
    }

    /// Takes the parts of a content until its job ends. The content itself is then what [`Self::content_of`] says.
    pub(super) fn receive<L>(
        &mut self,
        path: &TreePath,
        parts: &Receiver<Part<L>>,
    ) -> Result<Received<L>, BackupError> {
        self.attempt.progress.now_in_tree(path);
        self.begin(path);
        let mut inline = None;
        loop {
            match parts.recv() {
                Ok(Part::Inline(bytes)) => {
                    self.attempt.progress.add_done(bytes.len() as u64);
                    inline = Some(bytes);
                }
                Ok(Part::Chunks { bytes, cuts }) => {
                    for (id, range) in cuts {
                        self.add_chunk(id, &bytes[range])?;
                    }
                    self.attempt.progress.add_done(bytes.len() as u64);
                    self.act()?;
                    self.claim_if_due()?;
                    if self.attempt.interrupted.load(Ordering::Relaxed) {
                        // The part of the file so far is claimed with the rest.
                        return Ok(Received::Interrupted);
                    }
                }
                Ok(Part::Again) => {
                    self.begin(path);
                    inline = None;
                }
                Ok(Part::Done(last)) => return Ok(Received::Done(last, inline)),
                Ok(Part::Failed(why)) => {
                    self.open = None;
                    return Ok(Received::Failed(why));
                }
                // The reader ended without a last message: the process is ending.
                Err(_) => return Err(BackupError::Interrupted),
            }
        }
    }

    /// The content that was received: the whole of a small file, or what the open file holds.
    pub(super) fn content_of(&mut self, inline: Option<Vec<u8>>) -> Result<Content, BackupError> {
        match inline {
            Some(bytes) if bytes.is_empty() => Ok(Content::None),
            Some(bytes) => Ok(Content::Inline(bytes.into())),
            None => self.end(),
        }
    }

    /// Another hard link to a file that was taken before: takes over its content.
    fn take_link(
        &mut self,
        path: TreePath,
        stat: &EntryStat,
        old: Option<Box<Entry>>,
        tools: &Tools<'_>,
    ) -> Result<(), BackupError> {
        let group = self.recorder.group(stat).unwrap_or(stat.inode);
        let Some((size, content, extras)) = self.linked.get(&group).cloned() else {
            return self.take_instead(path, stat.clone(), tools);
        };
        let stat = EntryStat { size, ..stat.clone() };
        if let Some(entry) = self.recorder.entry(path, &stat, content, extras) {
            let is_unchanged = old.is_some_and(|old| *old == entry);
            self.add_and_tell(&entry, if is_unchanged { Fate::Unchanged } else { Fate::Link })?;
        }
        Ok(())
    }

    /// Reads the file under this name, because its first name had gone or led elsewhere when it was read.
    fn take_instead(&mut self, path: TreePath, stat: EntryStat, tools: &Tools<'_>) -> Result<(), BackupError> {
        let (parts, taken) = bounded(2);
        let job = Job { path: path.clone(), stat, is_content_needed: true, before: Vec::new(), parts };
        thread::scope(|scope| {
            scope.spawn(move || do_job(job, tools));
            // If this ends early, the receiver is dropped, and the other thread ends too.
            self.take_job(path, taken, None, false)
        })
    }
}

/// How the parts of a content ended.
pub(super) enum Received<L> {
    /// With the job's last message, and the content of a small file.
    Done(L, Option<Vec<u8>>),
    /// The content cannot be read.
    Failed(String),
    /// The user stopped the run; the file stays open.
    Interrupted,
}

/// Entries queued between the comparing thread and the session.
const ITEMS: usize = 1024;
