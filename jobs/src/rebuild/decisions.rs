//! Decisions: applies changes and expiries again to the snapshots of the chains. Changes are ordered by number; an
//! expiry comes after the last change that it names.

use std::collections::{BTreeMap, BTreeSet};

use copal_engine::retention::{Signed, expirable, permits, protected};
use copal_format::change::{Operation, VerifiedChange};
use copal_format::expiry::Expiry;
use copal_format::id::{ClientId, DomainId, ObjectHash, PackId, SnapshotId};
use copal_format::layout;
use copal_format::limits::CHAIN_LEAP;
use copal_format::number::reached;
use copal_format::policy::{Lingering, SignedPolicy};
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;

use super::Report;
use super::absence::Absence;
use super::contents::Contents;
use super::told::Told;
use crate::changes::{apply_change, is_signed, verify_change};
use crate::commit::Proposal;
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;

/// The numbers of changes whose content is unknown.
type Unread = BTreeSet<u64>;
type Snapshots = BTreeMap<(ClientId, u64), Option<SnapshotRecord>>;

/// What follows from changes and expiries besides the proposal.
pub(super) struct Applied {
    /// The forgotten snapshots that the guard keeps.
    pub(super) guarded: BTreeSet<SnapshotId>,
    /// The packs that the owner has proven.
    pub(super) proven: BTreeSet<PackId>,
    /// Domains in which a snapshot does not stay because prunes have recorded the packs that it lacks.
    pub(super) refused: BTreeSet<DomainId>,
}

/// Applies all changes and expiries from the first, then marks incomplete forgotten snapshots as gone.
pub(super) async fn fold(
    job: &JobContext<'_>,
    (contents, absence, incomplete): (&Contents<'_>, &Absence, BTreeSet<SnapshotId>),
    (told, now): (&Told, Time),
    proposal: &mut Proposal,
    report: &mut Report,
) -> Result<Applied, JobError> {
    let (changes, mut unread) = read_changes(job, proposal, report).await?;
    let expiries = read_expiries(job, proposal, report).await?;
    let by_expiries = expiries.iter().map(|(_, expiry)| expiry.policy.max(expiry.change));
    let known = proposal.change_head.map_or(0, |(number, _)| number);
    let is_near = |number: &u64| *number <= known.saturating_add(CHAIN_LEAP);
    let last = by_expiries.chain([told.last()]).filter(is_near).max().unwrap_or(0);
    if last > proposal.change_head.map_or(0, |(number, _)| number) {
        report.unreadable.push((layout::change(last), "it is not there, and a root or an expiry knows it".into()));
        unread.insert(last);
    }
    unread.extend(told.policy_lost.filter(is_near));
    // An unread change may hold a policy that forbids what the last readable policy permits.
    let policy = changes.iter().rev().find(|(verified, _)| verified.change.owner_policy().is_some());
    let policy = policy.map_or(0, |(verified, _)| verified.change.number);
    let in_doubt = unread.last().copied().filter(|number| *number > policy);
    let snapshots = &mut proposal.delta.snapshots;
    let fates = Fates::of((contents, absence, incomplete), &changes, &expiries, snapshots);
    // Whether an expiry was believed cannot be known: further changes may have come before it was folded in. So a
    // snapshot expires only if the policy in force, after all changes, does not keep it either.
    let mut replay = Replay::new(&fates, now, snapshots.clone());
    changes.iter().for_each(|change| replay.change(change));
    let unwanted = if in_doubt.is_some() { BTreeSet::new() } else { replay.unwanted() };

    let mut replay = Replay::new(&fates, now, std::mem::take(snapshots));
    let mut open = expiries.iter().peekable();
    for change in &changes {
        while let Some((name, expiry)) = open.next_if(|(_, expiry)| expiry.change < change.0.change.number) {
            replay.expiry(name, expiry, (&unwanted, &unread), report);
        }
        replay.change(change);
    }
    open.for_each(|(name, expiry)| replay.expiry(name, expiry, (&unwanted, &unread), report));
    // No object has this hash, so the policy in force counts as damaged: nothing expires and nothing is removed until
    // the owner signs another policy.
    let unknown = in_doubt.map(|number| (number, ObjectHash::NONE));
    proposal.lingering = replay.lingering;
    proposal.policy = unknown.or(replay.policy.as_ref().map(|in_force| (in_force.number, in_force.hash)));
    report.policy_unread = in_doubt.map(layout::change);
    let guarded = replay.guarded(in_doubt.is_some());
    let (snapshots, refused) = replay.finish(&guarded, report);
    proposal.delta.snapshots = snapshots;
    let operations = changes.iter().flat_map(|(verified, _)| &verified.change.operations);
    let proven = operations.flat_map(|operation| operation.proven().iter().copied()).collect();
    Ok(Applied { guarded, proven, refused })
}

/// The changes that count, with the store's time of each, and the numbers of changes with unknown content. After a
/// damaged or missing change the chain cannot be compared, so the signature alone decides.
async fn read_changes(
    job: &JobContext<'_>,
    proposal: &mut Proposal,
    report: &mut Report,
) -> Result<(Vec<(VerifiedChange, Time)>, Unread), JobError> {
    let mut changes = Vec::new();
    let mut unread = Unread::new();
    let mut before = Some((0, ObjectHash::NONE));
    let mut last = 0;
    for (name, number, stored) in chain_of(job, "changes/", report).await? {
        let name = name.as_str();
        let Some(bytes) = objects::read(job.store, name).await? else { continue };
        if number > last + 1 {
            report.unreadable.push((layout::change(last + 1), "it is not there".into()));
            unread.extend((last + 1..number).rev().take(GAP));
        }
        last = number;
        let previous = before.filter(|(before, _)| before + 1 == number).map(|(_, hash)| hash);
        let told = verify_change(job, number, previous, &bytes).await?;
        let hash = ObjectHash::of(&bytes);
        before = told.is_some().then_some((number, hash));
        proposal.change_head = Some((number, hash));
        match told {
            Some(change) => changes.push((change, stored)),
            None => {
                let why = "it is not a change that a full client has signed, and the owner where that is needed";
                report.unreadable.push((name.to_owned(), why.into()));
                if !is_signed(job, number, &bytes).await? {
                    unread.insert(number);
                }
            }
        }
    }
    Ok((changes, unread))
}

/// The readable expiries. Each must follow the one before, if that exists.
async fn read_expiries(
    job: &JobContext<'_>,
    proposal: &mut Proposal,
    report: &mut Report,
) -> Result<Vec<(String, Expiry)>, JobError> {
    let mut expiries = Vec::new();
    let mut before = Some((0, ObjectHash::NONE));
    for (name, number, _) in chain_of(job, "expiries/", report).await? {
        let name = name.as_str();
        let Some(bytes) = objects::read(job.store, name).await? else { continue };
        let previous = before.filter(|(before, _)| before + 1 == number).map(|(_, hash)| hash);
        let own = (number, ObjectHash::of(&bytes));
        proposal.expiry_head = Some(own);
        // After an unreadable expiry the chain cannot be compared.
        before = None;
        match Expiry::decode(number, &bytes) {
            Err(error) => report.unreadable.push((name.to_owned(), error.to_string())),
            Ok(expiry) => {
                before = Some(own);
                if previous.is_some_and(|previous| expiry.previous != previous) {
                    report.unreadable.push((name.to_owned(), "it does not name the expiry before it".into()));
                } else {
                    expiries.push((name.to_owned(), expiry));
                }
            }
        }
    }
    Ok(expiries)
}

/// The objects of a chain with names, numbers and times. Reports and leaves out numbers far above all others.
async fn chain_of(
    job: &JobContext<'_>,
    folder: &str,
    report: &mut Report,
) -> Result<Vec<(String, u64, Time)>, JobError> {
    let listed = objects::list(job.store, folder).await?;
    let numbered = listed.iter().filter_map(|listed| {
        let name = listed.key.as_str();
        Some((name.to_owned(), layout::trailing_number(name)?, Time(listed.stat.created.0)))
    });
    let numbered: Vec<_> = numbered.collect();
    let last = reached(0, CHAIN_LEAP, numbered.iter().map(|(_, number, _)| *number));
    let (chain, far): (Vec<_>, Vec<_>) = numbered.into_iter().partition(|(_, number, _)| *number <= last);
    let why = "its number is far above all others";
    report.unreadable.extend(far.into_iter().map(|(name, ..)| (name, why.to_owned())));
    Ok(chain)
}

/// The policy in force after some of the changes.
struct InForce {
    number: u64,
    hash: ObjectHash,
    policy: SignedPolicy,
}

/// Which incomplete snapshots a prune has removed.
struct Fates<'a> {
    contents: &'a Contents<'a>,
    /// Incomplete snapshots that no receipt proves to have been complete.
    incomplete: BTreeSet<SnapshotId>,
    /// Snapshots that were forgotten or expired at some time. A prune may have removed what they lack.
    left: BTreeSet<SnapshotId>,
    /// Domains in which a prune has removed everything that is absent.
    by_prune: BTreeSet<DomainId>,
}

impl<'a> Fates<'a> {
    fn of(
        (contents, absence, incomplete): (&'a Contents<'a>, &Absence, BTreeSet<SnapshotId>),
        changes: &[(VerifiedChange, Time)],
        expiries: &[(String, Expiry)],
        snapshots: &Snapshots,
    ) -> Self {
        let operations = changes.iter().flat_map(|(verified, _)| &verified.change.operations);
        let forgotten = operations.filter(|operation| matches!(operation, Operation::Forget(_)));
        let left = forgotten.flat_map(Operation::snapshots);
        let left: BTreeSet<_> =
            left.chain(expiries.iter().flat_map(|(_, expiry)| &expiry.snapshots)).copied().collect();
        let domains: BTreeSet<DomainId> =
            snapshots.values().flatten().filter(|of| left.contains(&of.id)).map(|of| of.domain).collect();
        // Prune never removes anything of a snapshot that was never forgotten or expired. If such a snapshot is
        // incomplete, more was lost than the missing packs show.
        let stayed = |domain| {
            let stayed = snapshots.values().flatten().filter(move |of| of.domain == domain && !of.partial);
            stayed.filter(|of| !left.contains(&of.id)).map(|of| of.root)
        };
        let is_by_prune =
            |domain: &DomainId| absence.is_by_prune(*domain) && contents.are_whole(*domain, stayed(*domain));
        let by_prune = domains.into_iter().filter(is_by_prune).collect();
        Self { contents, incomplete, left, by_prune }
    }

    fn is_whole(&self, record: &SnapshotRecord) -> bool {
        self.contents.are_whole(record.domain, [record.root])
    }

    fn has_root(&self, record: &SnapshotRecord) -> bool {
        self.contents.has_beyond_doubt(record.domain, &record.root)
    }

    /// Whether a snapshot that was to leave can stay: it is whole, or what it lacks was lost and not pruned. Whole means
    /// by the packs' tables, even if the index entries were removed.
    fn can_return(&self, record: &SnapshotRecord) -> bool {
        !self.by_prune.contains(&record.domain) || self.is_whole(record)
    }
}

/// The snapshots, while changes and expiries are applied in order.
struct Replay<'a> {
    fates: &'a Fates<'a>,
    now: Time,
    snapshots: Snapshots,
    by_id: BTreeMap<SnapshotId, (ClientId, u64)>,
    last_change: u64,
    policy: Option<InForce>,
    lingering: Option<Lingering>,
    /// Domains in which a snapshot does not stay because a prune has removed what it lacks.
    refused: BTreeSet<DomainId>,
}

impl<'a> Replay<'a> {
    fn new(fates: &'a Fates<'a>, now: Time, snapshots: Snapshots) -> Self {
        let by_id = snapshots.iter().filter_map(|(key, record)| Some((record.as_ref()?.id, *key))).collect();
        let refused = BTreeSet::new();
        Self { fates, now, snapshots, by_id, last_change: 0, policy: None, lingering: None, refused }
    }

    fn change(&mut self, (verified, stored): &(VerifiedChange, Time)) {
        for operation in &verified.change.operations {
            self.apply(operation);
        }
        let number = verified.change.number;
        if let Some(policy) = verified.change.owner_policy() {
            if let Some(before) = &self.policy {
                self.lingering = Lingering::after(self.lingering, &before.policy, &policy, *stored);
            }
            self.policy = Some(InForce { number, hash: verified.hash, policy });
        }
        self.last_change = number;
    }

    fn apply(&mut self, operation: &Operation) {
        for key in operation.snapshots().iter().filter_map(|id| self.by_id.get(id)) {
            if let Some(Some(record)) = self.snapshots.get_mut(key) {
                // Ingest refuses an undelete only if prune has removed the root page.
                let is_undelete = matches!(operation, Operation::Undelete(_));
                let is_present = is_undelete && (self.fates.can_return(record) || self.fates.has_root(record));
                if is_undelete && !is_present {
                    self.refused.insert(record.domain);
                }
                apply_change(operation, record, is_present, self.now);
            }
        }
    }

    /// Applies an expiry to the snapshots for which it may have been believed and is still permitted.
    fn expiry(
        &mut self,
        name: &str,
        expiry: &Expiry,
        (unwanted, unread): (&BTreeSet<SnapshotId>, &Unread),
        report: &mut Report,
    ) {
        let mut leave_out = |why: String| report.expiries_left_out.push((name.to_owned(), why));
        let permitted = self.policy.as_ref().filter(|in_force| {
            let is_placed = (in_force.number, self.last_change) == (expiry.policy, expiry.change);
            is_placed && permits(&in_force.policy, self.signed(), expiry)
        });
        let is_known = ![expiry.policy, expiry.change].iter().any(|number| unread.contains(number));
        if permitted.is_none() && is_known {
            return leave_out("the policy of its time does not permit it".into());
        }
        if !is_known {
            leave_out("the policy of its time cannot be read".into());
        }
        for key in expiry.snapshots.iter().filter_map(|id| self.by_id.get(id)) {
            let Some(Some(record)) = self.snapshots.get_mut(key) else { continue };
            if permitted.is_some() && unwanted.contains(&record.id) {
                (record.state, record.state_time) = (SnapshotState::Forgotten, self.now);
            } else if self.fates.can_return(record) {
                leave_out(format!("snapshot {} is kept: no policy is known that does not keep it", record.id));
            } else {
                // It expired, and a prune removed its pages, before the policy was changed.
                self.refused.insert(record.domain);
                (record.state, record.state_time) = (SnapshotState::Gone, self.now);
                leave_out(format!("snapshot {} is gone: a prune removed it before", record.id));
            }
        }
    }

    /// The policy in force, with the guard (floor and hold) that counts now.
    fn guarding(&self) -> Option<SignedPolicy> {
        Some(Lingering::join(self.lingering, self.policy.as_ref()?.policy.clone(), self.now))
    }

    /// The snapshots that the policy in force does not keep now.
    fn unwanted(&self) -> BTreeSet<SnapshotId> {
        self.guarding().map(|policy| expirable(&policy, self.signed(), self.now)).unwrap_or_default()
    }

    /// The forgotten snapshots that prune must not remove because the guard keeps them, complete or not. If the policy
    /// is unknown, all forgotten snapshots.
    fn guarded(&self, is_in_doubt: bool) -> BTreeSet<SnapshotId> {
        let forgotten = self.signed().filter(|(_, of)| of.state == SnapshotState::Forgotten);
        match self.guarding() {
            _ if is_in_doubt => forgotten.map(|(_, of)| of.id).collect(),
            Some(policy) => protected(&policy, self.signed(), self.now).into_keys().collect(),
            None => BTreeSet::new(),
        }
    }

    fn signed(&self) -> impl Iterator<Item = Signed<'_>> {
        self.snapshots.iter().filter_map(|(key, record)| Some((key, record.as_ref()?)))
    }

    /// Marks incomplete forgotten snapshots and checkpoints as gone, unless guarded ones lack only lost data. Reports
    /// incomplete snapshots that stay although they had been forgotten or expired, or no receipt proves them.
    fn finish(mut self, guarded: &BTreeSet<SnapshotId>, report: &mut Report) -> (Snapshots, BTreeSet<DomainId>) {
        for record in self.snapshots.values_mut().flatten() {
            let is_needed = record.state == SnapshotState::Kept && !record.partial;
            let is_in_doubt = self.fates.left.contains(&record.id) || self.fates.incomplete.contains(&record.id);
            if is_needed && !is_in_doubt || self.fates.is_whole(record) {
                continue;
            }
            let is_guarded = guarded.contains(&record.id);
            if is_needed || is_guarded && self.fates.can_return(record) {
                report.snapshots_harmed.push(record.id);
            } else {
                if is_guarded {
                    self.refused.insert(record.domain);
                }
                record.state = SnapshotState::Gone;
            }
        }
        (self.snapshots, self.refused)
    }
}

/// How many missing changes in a row are noted by number.
const GAP: usize = 100;
