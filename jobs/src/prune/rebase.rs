//! Rebase: commits a decision, and if another writer was faster, writes it for the newer root. A decision lists
//! entries, packs and names. So for a newer root it is enough to examine what has changed since; nothing is decided
//! again.

use std::collections::BTreeSet;

use copal_format::id::{ChunkId, ObjectHash};
use copal_format::layout::{self, Place, Prunable};
use copal_format::state::{PackRecord, State, StateDelta};
use copal_format::time::Time;
use copal_store::Key;

use super::deletion::{doomed_by, record};
use super::kept::roots_of;
use super::new_packs::NewPacks;
use super::run::{Decided, LeftOver, Run};
use super::{Report, roots};
use crate::baseline::{self, Mends};
use crate::commit::{self, Prepared, Proposal};
use crate::error::JobError;
use crate::faults::{Mistake, is_planted, windows};
use crate::objects::{self, without_room};
use crate::policy::Guarded;
use crate::view::{self, Parts, View};

impl<'a> Run<'a> {
    /// Writes a decision as the next root, or after the roots that others write meanwhile, in at most `tries` attempts.
    /// False if what they wrote contradicts the decision, or if they are always faster.
    pub(super) async fn commit(
        &mut self,
        view: &View,
        decided: &mut Decided<'a>,
        tries: &mut u32,
    ) -> Result<bool, JobError> {
        self.in_plan.clear();
        let mut proposal = decided.proposal.clone();
        for replay in &decided.replays {
            if !replay.add_to(self.job, view, decided.now, &mut proposal).await? {
                self.leave_over(view.next_number());
                if view::is_superseded(self.job.store, view).await? {
                    return Ok(false);
                }
                let evidence = format!("a run that {} names is gone", layout::root(view.number()));
                return Err(JobError::StateLost { evidence });
            }
        }
        let names: Vec<Prunable> = doomed_by(&proposal).collect();
        let prepared = self.prepare(view, proposal).await;
        if self.create(view, prepared, names, decided.report.as_ref()).await? {
            return Ok(true);
        }
        let (mut last, mut mends): (Option<View>, Mends) = Default::default();
        while *tries > 0 {
            *tries -= 1;
            let newer = view::read_parts(self.job.store, &Parts::RECORDS).await?;
            if newer.number() <= view.number() {
                break;
            }
            let rebased = async {
                let Some(mut proposal) = self.rebase(view, &newer, decided).await? else { return Ok(None) };
                mends.add_times(&newer.state, &mut proposal.delta);
                let names: Vec<Prunable> = doomed_by(&proposal).collect();
                let packs = proposal.delta.packs.iter().filter(|(id, _)| !newer.state.packs.contains_key(id));
                let moved =
                    packs.filter_map(|(id, new)| Some((Prunable::Pack(Place::Moved, *id), new.as_ref()?.length)));
                let used = moved.chain(named_in(&proposal.delta)).collect();
                let (are_there, prepared) =
                    futures::try_join!(self.are_there(used, &newer), self.prepare(&newer, proposal))?;
                Ok(are_there.then_some((names, prepared)))
            };
            // Others write meanwhile, so as much as possible is done at the same time.
            let follows = baseline::follows(self.job, last.as_ref().unwrap_or(view), &newer);
            let (follows, rebased) = match futures::try_join!(follows, rebased) {
                Ok(both) => both,
                Err(error) => {
                    self.leave_over(newer.next_number());
                    return Err(error);
                }
            };
            let (Some((names, prepared)), Some(found)) = (rebased, follows.filter(Mends::are_times)) else {
                self.leave_over(newer.next_number());
                break;
            };
            // The next attempt puts wrong times right: this one was written without the corrections.
            let prepared = if found.is_empty() { prepared } else { None };
            if self.create(&newer, Ok(prepared), names, decided.report.as_ref()).await? {
                return Ok(true);
            }
            mends.extend(found);
            last = Some(newer);
        }
        self.leave_over(view.next_number());
        Ok(false)
    }

    async fn prepare(&self, view: &View, proposal: Proposal) -> Result<Option<Prepared>, JobError> {
        commit::prepare(self.job, view, Proposal { is_baseline: true, ..proposal }).await
    }

    /// Writes the next root, which dooms these names and what was left over; returns whether it won.
    async fn create(
        &mut self,
        view: &View,
        prepared: Result<Option<Prepared>, JobError>,
        names: Vec<Prunable>,
        report: Option<&Report>,
    ) -> Result<bool, JobError> {
        let created = match prepared {
            Ok(Some(prepared)) => {
                if let Some(report) = report {
                    self.keep_plan(view, report, &names).await?;
                }
                if is_planted(Mistake::DeletedFirst) {
                    let keys: Vec<Key> = names.iter().map(|name| objects::key(name.to_string())).collect();
                    objects::delete(self.job.store, &keys).await?;
                }
                commit::create(self.job.store, prepared).await
            }
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        let Ok(Some((root, hash))) = created else {
            self.leave_over(view.next_number());
            return created.map(|_| false);
        };
        // The new root has decided about everything noted so far.
        self.notes.take();
        self.new_packs = NewPacks::default();
        self.left_over.clear();
        self.planned = if report.is_some() { root.number } else { self.planned };
        // A run that may end here leaves its doomed names to the next run.
        if self.options.budget.is_limited() && !names.is_empty() {
            without_room(record(self.job, (root.number, hash), &names).await)?;
        }
        self.own.extend(names);
        Ok(true)
    }

    /// The decision as a proposal for the root after a newer one; none if it has to be made again.
    async fn rebase(&self, base: &View, newer: &View, decided: &mut Decided<'_>) -> Result<Option<Proposal>, JobError> {
        let now = self.job.now().await?;
        // During that time a client may have been revoked, and packs may have been lost.
        if now.since(decided.now) >= windows().decision_age {
            return Ok(None);
        }
        let mut proposal = decided.proposal.clone();
        if !fits(&base.state, &newer.state, &mut proposal.delta) {
            return Ok(None);
        }
        let Decided { replays, guarded: before, now: decision, .. } = &mut *decided;
        let (decision, grace) = (*decision, self.options.grace);
        let fit = async {
            let guarded = Guarded::of(self.job, newer, decision).await?;
            if !replays.is_empty() && guarded.floor > before.floor {
                return Ok(false);
            }
            let calls = replays.iter_mut().map(|replay| {
                let old = roots_of(base, replay.domain, decision, grace, before);
                let old: BTreeSet<ChunkId> = old.into_iter().collect();
                let mut added = roots_of(newer, replay.domain, decision, grace, &guarded);
                added.retain(|root| !old.contains(root));
                async move { replay.fit(self.job, (base, newer), added, now).await }
            });
            match objects::join(calls).await {
                Ok(fit) => Ok(!fit.contains(&false)),
                // What was read fits the newer root only while it is the newest.
                Err(JobError::StateLost { .. }) if view::is_superseded(self.job.store, newer).await? => Ok(false),
                Err(error) => Err(error),
            }
        };
        let (does_fit, rebuilt, lost) = futures::try_join!(fit, self.rebuilt(now), self.named_by_lost())?;
        if !does_fit || rebuilt.map(|of| of.time) != decided.rebuilt.map(|of| of.time) {
            return Ok(None);
        }
        self.doom_anew(newer, &mut proposal.delta);
        decided.replays.iter().for_each(|replay| replay.add_to_newer(newer, decision, &mut proposal));
        self.doom_left_over(newer, lost, decision, &mut proposal);
        Ok(Some(proposal))
    }

    /// Lets the newer root doom only what it does not need: somebody may have named an orphan meanwhile.
    fn doom_anew(&self, newer: &View, delta: &mut StateDelta) {
        let (named, packs) = (roots::named_by(newer), &delta.packs);
        let is_free = |name: &Prunable| match name {
            Prunable::Pack(_, id) if packs.get(id) == Some(&None) => true,
            Prunable::Pack(_, id) => !newer.state.packs.contains_key(id) && !self.verified.claimed.contains(id),
            other => !named.contains(other),
        };
        delta.doomed.retain(|name, record| record.is_none() || is_free(name));
        for record in delta.doomed.values_mut().flatten() {
            record.root = newer.next_number();
        }
    }

    /// Whether the store still has what a proposal names for the first time, and nobody has doomed it.
    async fn are_there(&self, names: Vec<(Prunable, u64)>, newer: &View) -> Result<bool, JobError> {
        let calls = names.into_iter().map(|(name, length)| {
            let store = self.job.store;
            async move {
                let is_doomed = newer.state.doomed.contains_key(&name);
                let stat = store.stat(&objects::key(name.to_string())).await?;
                Ok(!is_doomed && stat.is_some_and(|stat| stat.length == length))
            }
        });
        Ok(!objects::join(calls).await?.contains(&false))
    }

    /// The runs of the roots for which something was written and that did not win. If such a root was created after all
    /// (long after its number was deleted), its runs leave with it. None if one of them cannot be read.
    pub(super) async fn named_by_lost(&self) -> Result<Option<BTreeSet<Prunable>>, JobError> {
        let lost: BTreeSet<u64> = self.left_over.iter().map(|left| left.root).collect();
        let calls = lost.into_iter().map(|root| async move { roots::runs_of(self.job, &layout::root(root)).await });
        let runs: Option<Vec<Vec<ObjectHash>>> = objects::join(calls).await?.into_iter().collect();
        Ok(runs.map(|runs| runs.into_iter().flatten().map(Prunable::Run).collect()))
    }

    /// Dooms what was written for roots that did not win, except what these roots name.
    pub(super) fn doom_left_over(
        &self,
        view: &View,
        lost: Option<BTreeSet<Prunable>>,
        now: Time,
        proposal: &mut Proposal,
    ) {
        let Some(mut named) = lost else { return };
        named.extend(roots::named_by(view));
        named.extend(named_in(&proposal.delta).map(|(name, _)| name));
        for LeftOver { name, .. } in self.left_over.iter().filter(|left| !named.contains(&left.name)) {
            proposal.doom(view, *name, now);
        }
    }

    pub(super) fn leave_over(&mut self, root: u64) {
        let created = self.notes.take().into_iter();
        self.left_over.extend(created.map(|name| LeftOver { name, root }));
    }
}

/// The segments and runs that these changes add, with their lengths.
fn named_in(delta: &StateDelta) -> impl Iterator<Item = (Prunable, u64)> + '_ {
    let segments = delta.segments.iter().filter_map(|(key, record)| Some((key.1, record.as_ref()?.length)));
    let runs = delta.overlays.iter().filter_map(|(key, record)| Some((key.1, record.as_ref()?.length)));
    let segments = segments.map(|(hash, length)| (Prunable::Segment(hash), length));
    segments.chain(runs.map(|(hash, length)| (Prunable::Run(hash), length)))
}

/// Whether everything that these changes rely on is the same in a newer state: packs are as healthy and as proven, and
/// the changed records are as they were. Takes over harmless differences from the newer state.
fn fits(base: &State, newer: &State, delta: &mut StateDelta) -> bool {
    let is_same = |was: &PackRecord, now: &PackRecord| {
        let but_read = PackRecord { read: was.read, is_proven: was.is_proven, ..now.clone() };
        but_read == *was && now.is_proven >= was.is_proven && now.is_forged() == was.is_forged()
    };
    let are_same = base.packs.iter().all(|(id, was)| newer.packs.get(id).is_some_and(|now| is_same(was, now)));
    let mut packs = delta.packs.iter_mut().filter_map(|(id, record)| Some((id, record.as_mut()?)));
    let are_known = packs.all(|(id, record)| match newer.packs.get(id) {
        Some(now) => {
            (record.read, record.is_proven) = (now.read, now.is_proven);
            base.packs.contains_key(id)
        }
        None => true,
    });
    are_same
        && are_known
        && delta.snapshots.keys().all(|key| base.snapshots.get(key) == newer.snapshots.get(key))
        && delta.doomed.keys().all(|name| base.doomed.get(name) == newer.doomed.get(name))
}
