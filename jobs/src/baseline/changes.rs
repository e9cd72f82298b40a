//! Changes: the changes and expiries between the baseline and a state, which decide what has become of snapshots.

use std::collections::BTreeMap;

use bytes::Bytes;
use copal_format::change::{Operation, VerifiedChange};
use copal_format::expiry::Expiry;
use copal_format::id::{ObjectHash, PackId, SnapshotId};
use copal_format::layout;
use copal_format::policy::{Lingering, SignedPolicy};
use copal_format::time::Time;

use crate::changes::signed_change;
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;
use crate::policy;
use crate::view::View;

pub(super) struct Changes {
    changes: Vec<Signed>,
    expiries: Vec<Expiry>,
}

/// A change with the signature of a full client, and the owner's where required.
struct Signed {
    verified: VerifiedChange,
    /// Whether it counts today. The change of a revoked client may have counted when it was folded in.
    is_certain: bool,
}

/// One step in a snapshot's history.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    /// A change; the flag says whether it certainly took effect.
    Change(&'a Operation, bool),
    /// An expiry. It has no effect if changes came between its decision and its folding in.
    Expiry,
}

type Head = Option<(u64, ObjectHash)>;

impl Changes {
    /// Reads both chains. Fails if the state does not follow from them.
    pub(super) async fn between(job: &JobContext<'_>, before: &View, view: &View) -> Result<Self, JobError> {
        let heads =
            |view: &View| view.root.as_ref().map_or((None, None), |(root, _)| (root.change_head, root.expiry_head));
        let ((change, expiry), (last_change, last_expiry)) = (heads(before), heads(view));
        let mut changes = Vec::new();
        let read = read_chain(job, layout::change, (change, last_change)).await?;
        for Link { number, previous, bytes } in read.map_err(|why| JobError::contradicted(view.number(), why))? {
            if let Some((verified, is_certain)) = signed_change(job, number, previous, &bytes).await? {
                changes.push(Signed { verified, is_certain });
            }
        }
        let read = read_chain(job, layout::expiry, (expiry, last_expiry)).await?;
        let expiries = read.map_err(|why| JobError::contradicted(view.number(), why))?.into_iter().filter_map(
            |Link { number, previous, bytes }| {
                let follows = |of: &Expiry| previous.is_none_or(|previous| of.previous == previous);
                Expiry::decode(number, &bytes).ok().filter(follows)
            },
        );
        Ok(Self { changes, expiries: expiries.collect() })
    }

    /// Packs that the owner has proven in these changes.
    pub(super) fn proven(&self) -> impl Iterator<Item = &PackId> {
        let operations = self.changes.iter().flat_map(|change| &change.verified.change.operations);
        operations.flat_map(|operation| operation.proven())
    }

    /// The possible steps of each snapshot, in order. An expiry comes after the last change that it names.
    pub(super) fn steps(&self) -> BTreeMap<SnapshotId, Vec<Step<'_>>> {
        let mut steps: BTreeMap<SnapshotId, Vec<Step<'_>>> = BTreeMap::new();
        let mut expiries = self.expiries.iter().peekable();
        for Signed { verified, is_certain } in &self.changes {
            while let Some(expiry) = expiries.next_if(|expiry| expiry.change < verified.change.number) {
                expiry.snapshots.iter().for_each(|id| steps.entry(*id).or_default().push(Step::Expiry));
            }
            for operation in &verified.change.operations {
                for id in operation.snapshots() {
                    steps.entry(*id).or_default().push(Step::Change(operation, *is_certain));
                }
            }
        }
        expiries.flat_map(|expiry| &expiry.snapshots).for_each(|id| steps.entry(*id).or_default().push(Step::Expiry));
        steps
    }

    /// Fails unless these changes brought the state's policy into force, and the guard of replaced policies lingers.
    pub(super) async fn compare_policy(
        &self,
        job: &JobContext<'_>,
        before: &View,
        view: &View,
    ) -> Result<(), JobError> {
        let (old, new) = (before.root.as_ref().map(|(root, _)| root), view.root.as_ref().map(|(root, _)| root));
        let by_owner = |of: &'_ Signed| of.verified.change.owner_policy();
        let policy = match self.changes.iter().any(|of| by_owner(of).is_some()) {
            true => match policy::current(job, before).await {
                // An unreadable policy: nobody can tell what it guarded.
                Err(JobError::Damaged { .. }) => None,
                read => read?.map(|(_, policy)| policy),
            },
            false => None,
        };
        let (head, lingering) = (old.and_then(|root| root.policy), old.and_then(|root| root.lingering));
        let time = new.map_or(Time(0), |root| root.time);
        // In the first of these states, ingest has accepted every change.
        let mut possible = vec![InForce { head, policy, lingering }];
        for of in &self.changes {
            let Some(policy) = by_owner(of) else { continue };
            let (number, hash) = (of.verified.change.number, of.verified.hash);
            let stat = job.store.stat(&objects::key(layout::change(number))).await?;
            let stored = stat.map_or(Time(0), |stat| Time(stat.created.0));
            let replaced = |now: &InForce| now.replaced((number, hash), &policy, (stored, time));
            // Ingest may have accepted the changes of a client that is revoked now: all up to some change, and none later.
            possible = match of.is_certain {
                true => possible.iter().map(replaced).collect(),
                false => possible.first().map(replaced).into_iter().chain(possible).collect(),
            };
        }
        let (head, lingering) = (new.and_then(|root| root.policy), new.and_then(|root| root.lingering));
        possible.retain(|of| of.head == head);
        if possible.is_empty() {
            return Err(JobError::contradicted(
                view.number(),
                "another policy is in force than the owner has signed last",
            ));
        }
        let is_kept = |of: &InForce| {
            let due = of.lingering.filter(|due| due.lasts(time));
            due.is_none_or(|due| lingering.is_some_and(|found| found.covers(&due)))
        };
        match possible.iter().any(is_kept) {
            true => Ok(()),
            false => {
                Err(JobError::contradicted(view.number(), "the floor or the hold of a replaced policy ends too early"))
            }
        }
    }
}

/// A state that ingest may have reached: the policy in force, and the lingering guard of policies before it.
struct InForce {
    head: Head,
    policy: Option<SignedPolicy>,
    lingering: Option<Lingering>,
}

impl InForce {
    /// This state after ingest has accepted another policy, which was stored at `stored`. A guard that has ended by `now`
    /// (the time of the root that is checked) is left out: it may have ended before that ingest.
    fn replaced(&self, head: (u64, ObjectHash), by: &SignedPolicy, (stored, now): (Time, Time)) -> Self {
        let before = self.lingering.filter(|of| of.lasts(now));
        let lingering = match &self.policy {
            Some(policy) => Lingering::after(before, policy, by, stored),
            None => before,
        };
        Self { head: Some(head), policy: Some(by.clone()), lingering }
    }
}

/// The objects of a chain after link `from`, up to link `to`, each with the hash of the object before it, if that
/// exists. The inner error says why the last object is not the one that the state names.
async fn read_chain(
    job: &JobContext<'_>,
    name: impl Fn(u64) -> String,
    (from, to): (Head, Head),
) -> Result<Result<Vec<Link>, String>, JobError> {
    let (number, hash) = from.unwrap_or((0, ObjectHash::NONE));
    let (last, expected) = to.unwrap_or((0, ObjectHash::NONE));
    let (mut links, mut before, mut missing) = (Vec::new(), Some(hash), 0);
    for number in number + 1..=last {
        // The chain continues behind a lost object. Its content is unknown, so a state that follows from it is refused.
        let bytes = objects::read(job.store, &name(number)).await?;
        missing = if bytes.is_some() { 0 } else { missing + 1 };
        if missing > GAP {
            break;
        }
        let own = bytes.as_ref().map(|bytes| ObjectHash::of(bytes));
        let previous = core::mem::replace(&mut before, own);
        links.extend(bytes.map(|bytes| Link { number, previous, bytes }));
    }
    if number <= last && before == Some(expected) {
        return Ok(Ok(links));
    }
    Ok(Err(format!("{} is not the one that it has folded in", name(last.max(1)))))
}

/// How many objects in a row may be lost.
const GAP: u32 = 100;

struct Link {
    number: u64,
    previous: Option<ObjectHash>,
    bytes: Bytes,
}
