//! Run: one prune from its first root to its last. Every decision is made on the newest root, because others write
//! meanwhile. The next decision uses what this run has written, or dooms it.

use std::collections::BTreeSet;

use copal_format::id::{DomainId, ObjectHash};
use copal_format::layout::{Place, Prunable};
use copal_format::root::Root;
use copal_format::state::DoomedState;
use copal_format::time::Time;
use copal_store::StoreError;

use super::deletion::{Cleared, clear, delete_doomed};
use super::kept::{bury, roots_of};
use super::new_packs::NewPacks;
use super::notes::Notes;
use super::part::{Part, Work};
use super::rebuilt::{self, Rebuilt};
use super::replay::Replay;
use super::tables::Tables;
use super::verified::Verified;
use super::{Options, Report, garbage, roots};
use crate::commit::{Proposal, commit};
use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::windows;
use crate::objects::{Call, without_room};
use crate::policy::Guarded;
use crate::progress::{self, Progress};
use crate::report;
use crate::stored::{self, Stored};
use crate::trust::Standings;
use crate::view::{self, Parts, View};

pub(super) fn prune<'a>(job: &'a JobContext<'_>, options: &'a Options) -> Call<'a, Report> {
    Box::pin(go(job, options))
}

async fn go(job: &JobContext<'_>, options: &Options) -> Result<Report, JobError> {
    let notes = Notes::new(job.store);
    let job = JobContext { store: &notes, ..*job };
    let mut run = Run {
        job: &job,
        notes: &notes,
        options,
        tables: Tables::default(),
        new_packs: NewPacks::default(),
        left_over: Vec::new(),
        standings: Standings::default(),
        own: BTreeSet::new(),
        report: Report::default(),
        may_copy: options.repack_most,
        copied: 0,
        is_lean: false,
        begins: Progress::default(),
        planned: 0,
        in_plan: BTreeSet::new(),
        verified: Verified::default(),
    };
    // Without a time budget, prune examines every domain.
    if options.budget.is_limited() && !options.is_dry_run {
        run.begins = progress::last(&job, JOB).await?;
    }
    match run.go().await {
        Err(JobError::Store(full @ StoreError::Full { .. })) if !options.is_dry_run => {
            run.make_room().await?;
            Err(full.into())
        }
        Ok(()) if options.is_dry_run => Ok(run.report),
        Ok(()) if run.report.is_unfinished => Ok(run.report),
        Ok(()) => {
            roots::delete_old_roots(&job, &options.budget, &mut run.report).await?;
            Ok(run.report)
        }
        Err(error) => Err(error),
    }
}

/// The state of one prune, across all its roots.
pub(super) struct Run<'a> {
    pub(super) job: &'a JobContext<'a>,
    pub(super) notes: &'a Notes<'a>,
    pub(super) options: &'a Options,
    tables: Tables,
    pub(super) new_packs: NewPacks,
    pub(super) left_over: Vec<LeftOver>,
    standings: Standings,
    /// Names that roots of this run doom.
    pub(super) own: BTreeSet<Prunable>,
    report: Report,
    /// Bytes that may still be copied.
    may_copy: u64,
    /// Bytes that were copied and are not in the report yet.
    copied: u64,
    /// Whether only decisions that make room are taken, because the disk is full.
    is_lean: bool,
    /// Where the next root begins: after the domain where the last prune stopped, if it did not finish.
    begins: Progress,
    /// The number of the root whose doomed names are already in a plan.
    pub(super) planned: u64,
    /// The names in the plan of the decision that is being written.
    pub(super) in_plan: BTreeSet<Prunable>,
    pub(super) verified: Verified,
}

/// A segment or run that was written for a root that did not win.
pub(super) struct LeftOver {
    pub(super) name: Prunable,
    pub(super) root: u64,
}

/// A decision: the changes for the next root, and the report about them.
pub(super) struct Decided<'a> {
    /// All changes but those of the indexes.
    pub(super) proposal: Proposal,
    /// The changes of the indexes, by domain.
    pub(super) replays: Vec<Replay<'a>>,
    /// When it was made, by the store's clock.
    pub(super) now: Time,
    /// The last rebuild, if what it left out is still protected.
    pub(super) rebuilt: Option<Rebuilt>,
    /// What the policy guarded then.
    pub(super) guarded: Guarded,
    /// What it does, for the plan; none if there is no need for a plan.
    pub(super) report: Option<Report>,
    /// Whether this root moved blocks, or put copying off because packs die whole.
    has_more: bool,
    /// The last domain that was decided, if the budget was over before all were.
    after: Option<DomainId>,
}

impl Decided<'_> {
    /// A decision that changes no index.
    fn of(proposal: Proposal, now: Time, rebuilt: Option<Rebuilt>) -> Self {
        let (replays, guarded) = Default::default();
        Self { proposal, replays, now, rebuilt, guarded, report: None, has_more: false, after: None }
    }

    fn is_empty(&self) -> bool {
        self.proposal.is_empty() && self.replays.iter().all(Replay::is_empty)
    }
}

impl<'a> Run<'a> {
    /// Writes roots until nothing is left to do.
    async fn go(&mut self) -> Result<(), JobError> {
        let mut is_first = !self.begins.owes_rest;
        let mut tries = ATTEMPTS;
        while tries > 0 {
            if self.options.budget.is_over() {
                // Every root so far is complete. The next prune deletes what is doomed and continues the rest.
                self.report.is_unfinished = true;
                return Ok(());
            }
            let mut view = view::read_parts(self.job.store, &Parts::RECORDS).await?;
            if let Some((_, evidence)) = view::lost_newer(self.job, &view).await? {
                return Err(JobError::StateLost { evidence });
            }
            let Some((root, hash)) = view.root.clone() else { return Ok(()) };
            if !self.is_ready(&mut view).await? {
                tries -= 1;
                continue;
            }
            // Deletes what an earlier root doomed, of this run or of an interrupted one.
            let cleared = self.delete_doomed(&view, (&root, hash)).await?;
            let decided = self.decide(&mut view, &cleared, is_first).await;
            self.count_copied();
            if decided.is_err() {
                self.leave_over(view.next_number());
            }
            let mut decided = match decided {
                // An index fits its root only while that is the newest.
                Err(JobError::StateLost { .. }) if view::is_superseded(self.job.store, &view).await? => {
                    tries -= 1;
                    continue;
                }
                decided => decided?,
            };
            if self.options.is_dry_run || decided.is_empty() {
                self.report.take(decided.report.unwrap_or_default());
                if !self.options.is_dry_run {
                    without_room(self.verified.note(self.job, &view).await)?;
                }
                return self.note_progress(decided.after, false).await;
            }
            if !self.commit(&view, &mut decided, &mut tries).await? {
                tries = tries.saturating_sub(1);
                continue;
            }
            self.report.take(decided.report.unwrap_or_default());
            let is_over = decided.after.is_some() || self.options.budget.is_over();
            if is_over || !decided.has_more {
                self.note_progress(decided.after, decided.has_more).await?;
                return self.finish().await;
            }
            (is_first, tries) = (false, ATTEMPTS);
        }
        Err(JobError::Contended { attempts: ATTEMPTS })
    }

    /// Whether a decision may be taken on this state. If it needs mending, writes a root for that instead.
    pub(super) async fn is_ready(&mut self, view: &mut View) -> Result<bool, JobError> {
        let Some(delta) = self.verified.take(self.job, view).await? else { return Ok(false) };
        if delta.is_empty() || self.options.is_dry_run {
            return Ok(true);
        }
        let mended = Proposal { delta, is_baseline: true, ..Proposal::default() };
        match commit(self.job, view, mended).await? {
            Some(_) => drop(self.notes.take()),
            None => self.leave_over(view.next_number()),
        }
        Ok(false)
    }

    /// For a full disk: deletes old roots, which needs no space, and then does what needs the least space.
    async fn make_room(&mut self) -> Result<(), JobError> {
        self.is_lean = true;
        roots::delete_old_roots(self.job, &self.options.budget, &mut self.report).await?;
        self.go().await
    }

    /// Writes the plan for the next root before anything is removed or doomed. A decision that is tried again needs no
    /// new plan if the last one names all of its packs.
    pub(super) async fn keep_plan(
        &mut self,
        view: &View,
        report: &Report,
        doomed: &[Prunable],
    ) -> Result<(), JobError> {
        let is_known = |name: &Prunable| !matches!(name, Prunable::Pack(..)) || self.in_plan.contains(name);
        let is_planned = !self.in_plan.is_empty() && doomed.iter().all(is_known);
        if !self.options.keeps_plan || doomed.is_empty() || is_planned {
            return Ok(());
        }
        self.in_plan = doomed.iter().copied().collect();
        without_room(report::plan(self.job, view.number(), doomed, Some(serde_json::json!(report))).await)
    }

    /// Notes where the next prune continues, if this one did not finish all domains or all copying. The domains whose
    /// copying was put off come once more; after that the round goes on, whatever is left.
    async fn note_progress(&mut self, after: Option<DomainId>, has_more: bool) -> Result<(), JobError> {
        let next = match has_more && !self.begins.owes_rest {
            true => Progress { owes_rest: true, ..self.begins },
            false => Progress { after, ..Progress::default() },
        };
        self.report.is_unfinished = has_more || next != Progress::default();
        if !self.options.budget.is_limited() || self.options.is_dry_run || next == self.begins {
            return Ok(());
        }
        self.begins = next;
        progress::note(self.job, JOB, &next).await?;
        without_room(progress::delete_old(self.job, JOB).await)
    }

    async fn delete_doomed(&mut self, view: &View, root: (&Root, ObjectHash)) -> Result<Cleared, JobError> {
        if self.options.is_dry_run {
            return Ok(Cleared::default());
        }
        if self.options.keeps_plan && self.planned != root.0.number {
            let doomed = view.state.doomed.iter().filter(|(_, record)| record.state == DoomedState::Doomed);
            let names: Vec<Prunable> = doomed.map(|(name, _)| *name).collect();
            if !names.is_empty() {
                without_room(report::plan(self.job, root.0.number, &names, None).await)?;
            }
        }
        delete_doomed(self.job, (view, root), (&self.own, &self.verified.claimed), &mut self.report).await
    }

    /// Decides everything that the next root changes.
    async fn decide(&mut self, view: &mut View, cleared: &Cleared, is_first: bool) -> Result<Decided<'a>, JobError> {
        let mut proposal = Proposal::default();
        let mut report = Report::default();
        // Listed after the root was read: a pack that the root names and that is not listed here is gone.
        let stored = Stored::list(self.job, stored::PRUNABLE).await?;
        let now = self.options.now(self.job).await?;
        let rebuilt = self.rebuilt(now).await?;
        clear(view, cleared, now, &mut proposal);
        self.new_packs.keep_own(view, &stored);
        // Copies of an earlier attempt must suffice, or this step would never end beside constant writers.
        let allowance = if self.new_packs.is_empty() { self.may_copy.min(self.options.repack_step) } else { 0 };
        let mut work = Work {
            tables: &mut self.tables,
            new_packs: &mut self.new_packs,
            used: BTreeSet::new(),
            allowance: if self.options.is_dry_run { self.options.repack_most } else { allowance },
            entries: if self.options.is_dry_run { u64::MAX } else { self.options.repack_entries },
            copied: &mut self.copied,
            wanted: 0,
            has_put_off: false,
        };
        let (mut after, mut last) = (None, None);
        let (mut replays, mut guarded) = (Vec::new(), Guarded::default());
        if !self.is_lean {
            guarded = Guarded::of(self.job, view, now).await?;
            self.standings.learn(self.job, view.state.packs.values()).await?;
            let (standings, floor) = (&self.standings, guarded.floor);
            report.protected = guarded.protected.len() as u64;
            report.held = guarded.held.len() as u64;
            let due = progress::behind(view.domains(), self.begins.after);
            for (at, domain) in due.iter().copied().enumerate() {
                // At least one domain is decided, however little time is left.
                if last.is_some() && self.options.budget.is_over() {
                    after = last;
                    break;
                }
                let options = self.options;
                view.turn_along(self.job.store, &due[at..]).await?;
                let job = self.job;
                let part =
                    Part { job, view, options, stored: &stored, domain, now, rebuilt, standings, floor, is_first };
                let roots = roots_of(view, domain, now, options.grace, &guarded);
                replays.extend(part.propose(&roots, &mut work, job.scratch, &mut proposal, &mut report).await?);
                last = Some(domain);
            }
            bury(view, now, &mut proposal);
        }
        let view = &*view;
        let Work { used, wanted, has_put_off, .. } = work;
        if is_first {
            // Data that others add during this run is left to the next prune.
            self.may_copy = self.may_copy.min(wanted);
        }
        self.count_copied();
        let unused = self.new_packs.packs().keys().filter(|pack| !used.contains(pack));
        unused.for_each(|pack| proposal.doom(view, Prunable::Pack(Place::Moved, *pack), now));
        self.doom_left_over(view, self.named_by_lost().await?, now, &mut proposal);
        let ages = (now, rebuilt.is_some());
        let (job, claimed) = ((self.job, &self.options.budget), &self.verified.claimed);
        garbage::doom_orphans(job, (view, claimed), &stored, ages, &mut proposal, &mut report).await?;
        garbage::expire_spent(view, now, &mut proposal);
        let has_more = report.bytes_postponed > 0 && self.may_copy > 0 && (has_put_off || !used.is_empty());
        Ok(Decided { proposal, replays, now, rebuilt, guarded, report: Some(report), has_more, after })
    }

    /// The last rebuild, if what it left out is still protected.
    pub(super) async fn rebuilt(&self, now: Time) -> Result<Option<Rebuilt>, JobError> {
        rebuilt::within(self.job, now, windows().orphan_age.max(self.options.grace)).await
    }

    /// Counts copied bytes, even if the root for which they were copied does not win.
    fn count_copied(&mut self) {
        let copied = std::mem::take(&mut self.copied);
        self.may_copy = self.may_copy.saturating_sub(copied);
        self.report.bytes_copied += copied;
    }

    /// Deletes what the last root dooms, and clears the deleted names.
    async fn finish(&mut self) -> Result<(), JobError> {
        let mut tries = ATTEMPTS;
        while tries > 0 {
            tries -= 1;
            if self.options.budget.is_over() && self.left_over.is_empty() {
                self.report.is_unfinished = true;
                return Ok(());
            }
            let mut view = view::read_parts(self.job.store, &Parts::RECORDS).await?;
            let Some((root, hash)) = view.root.clone() else { return Ok(()) };
            if !self.is_ready(&mut view).await? {
                continue;
            }
            let cleared = self.delete_doomed(&view, (&root, hash)).await?;
            if cleared.is_empty() && self.left_over.is_empty() {
                return Ok(());
            }
            let mut proposal = Proposal::default();
            let now = self.job.now().await?;
            clear(&view, &cleared, now, &mut proposal);
            self.doom_left_over(&view, self.named_by_lost().await?, now, &mut proposal);
            let rebuilt = self.rebuilt(now).await?;
            let doomed = self.own.len();
            let has_won = self.commit(&view, &mut Decided::of(proposal, now, rebuilt), &mut tries).await?;
            if has_won && self.own.len() == doomed {
                return Ok(());
            }
        }
        // The names stay doomed; the next prune deletes the objects and clears the names.
        Ok(())
    }
}

/// The job's name in its notes.
const JOB: &str = "prune";
/// How often in a row a prune starts again after another writer won.
const ATTEMPTS: u32 = 64;
