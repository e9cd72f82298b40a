//! Changes: folds in the numbered chain of changes that full clients sign: forget, pin, tag, policies and so on.

use std::collections::BTreeMap;

use copal_engine::change::{Change, Operation, VerifiedChange};
use copal_engine::client::Role;
use copal_engine::id::{ClientId, ObjectHash, PackId, SnapshotId};
use copal_engine::layout;
use copal_engine::retention::{Lingering, SignedPolicy};
use copal_engine::state::{PackRecord, SnapshotRecord, SnapshotState};
use copal_engine::time::Time;

use super::Pass;
use crate::clients;
use crate::error::JobError;
use crate::host::Host;
use crate::objects;
use crate::policy;

impl Pass<'_> {
    /// Folds in changes from the last folded one to a gap. An invalid change uses up its number without effect.
    pub(super) async fn fold_changes(&mut self) -> Result<(), JobError> {
        let head = self.view.root.as_ref().and_then(|(root, _)| root.change_head);
        let (mut number, mut before) = head.unwrap_or((0, ObjectHash::NONE));
        let mut folded = 0;
        let mut by_id: Option<BTreeMap<SnapshotId, (ClientId, u64)>> = None;
        let mut in_force = None;
        for _ in 0..CHANGES {
            let read = match self.next[0].take() {
                Some(found) => found,
                None => objects::read(self.host.store, &layout::change(number + 1)).await?,
            };
            let Some(bytes) = read else { break };
            self.load_snapshots().await?;
            if let Some(verified) = verify_change(self.host, number + 1, Some(before), &bytes).await? {
                let by_id = by_id.get_or_insert_with(|| self.snapshots_by_id());
                for operation in &verified.change.operations {
                    self.apply(operation, by_id).await?;
                    self.prove(operation.proven()).await?;
                }
                if verified.change.operations.iter().any(|operation| operation.policy().is_some()) {
                    if let Some(policy) = policy::of(&verified.change) {
                        self.proposal.policy = Some((number + 1, verified.hash));
                        self.replace(in_force.take(), &policy).await?;
                        in_force = Some(policy);
                    } else {
                        let why = "its policy cannot be read, or does not carry the owner's signature";
                        self.refused.push((layout::change(number + 1), why.into()));
                    }
                }
            } else {
                let why = "no full client has signed it, it lacks the owner's signature, or it does not follow the one before";
                self.refused.push((layout::change(number + 1), why.into()));
            }
            number += 1;
            before = ObjectHash::of(&bytes);
            self.proposal.change_head = Some((number, before));
            folded += 1;
        }
        self.has_more |= folded == CHANGES;
        Ok(())
    }

    /// Updates the lingering guard when policy `by` replaces another: `before` if this pass brought that one.
    async fn replace(&mut self, before: Option<SignedPolicy>, by: &SignedPolicy) -> Result<(), JobError> {
        let before = match before {
            Some(before) => Some(before),
            None => match policy::current(self.host, &self.view).await {
                // An unreadable policy: nobody can tell what it guarded.
                Err(JobError::Damaged { .. }) => None,
                read => read?.map(|(_, policy)| policy),
            },
        };
        let lingering = self.proposal.lingering.or(self.view.root.as_ref().and_then(|(root, _)| root.lingering));
        if let Some(before) = before {
            self.proposal.lingering = Lingering::after(lingering, &before, by, self.now);
        }
        Ok(())
    }

    /// Reads the snapshots once. Most passes do not need them.
    pub(super) async fn load_snapshots(&mut self) -> Result<(), JobError> {
        if self.view.state.snapshots.is_empty() {
            self.view.load_snapshots(self.host.store).await?;
        }
        Ok(())
    }

    fn snapshots_by_id(&self) -> BTreeMap<SnapshotId, (ClientId, u64)> {
        let known = self.view.state.snapshots.iter().map(|(key, record)| (record.id, *key));
        let new = self.proposal.delta.snapshots.iter();
        known.chain(new.filter_map(|(key, record)| Some((record.as_ref()?.id, *key)))).collect()
    }

    /// Marks packs as proven by the owner, if a record of them exists.
    async fn prove(&mut self, packs: &[PackId]) -> Result<(), JobError> {
        if packs.is_empty() {
            return Ok(());
        }
        let records = self.view.packs(self.host.store).await?;
        for id in packs {
            let changed = self.proposal.delta.packs.get(id).cloned().unwrap_or_else(|| records.get(id).cloned());
            if let Some(record) = changed {
                self.proposal.delta.packs.insert(*id, Some(PackRecord { is_proven: true, ..record }));
            }
        }
        Ok(())
    }

    /// A snapshot with the changes of this pass.
    pub(super) fn snapshot(&self, key: &(ClientId, u64)) -> Option<&SnapshotRecord> {
        let changed = self.proposal.delta.snapshots.get(key).and_then(Option::as_ref);
        changed.or_else(|| self.view.state.snapshots.get(key))
    }

    async fn apply(
        &mut self,
        operation: &Operation,
        by_id: &BTreeMap<SnapshotId, (ClientId, u64)>,
    ) -> Result<(), JobError> {
        for key in operation.snapshots().iter().filter_map(|id| by_id.get(id)) {
            let Some(mut record) = self.snapshot(key).cloned() else { continue };
            let is_present = match operation {
                Operation::Undelete(_) => self.has(record.domain, record.root).await?,
                _ => false,
            };
            if apply_change(operation, &mut record, is_present, self.now) {
                self.proposal.delta.snapshots.insert(*key, Some(record));
            }
        }
        Ok(())
    }
}

/// The change in these bytes. None unless a full client has signed it, the owner too where that is required, and it
/// follows the change `before`, if that is known.
pub(crate) async fn verify_change(
    host: &Host<'_>,
    number: u64,
    before: Option<ObjectHash>,
    bytes: &[u8],
) -> Result<Option<VerifiedChange>, JobError> {
    let signed = signed_change(host, number, before, bytes).await?;
    Ok(signed.filter(|(_, counts)| *counts).map(|(verified, _)| verified))
}

/// Like [`verify_change`], but also returns a revoked client's change, which may have counted before. The flag says
/// whether it counts now.
pub(crate) async fn signed_change(
    host: &Host<'_>,
    number: u64,
    before: Option<ObjectHash>,
    bytes: &[u8],
) -> Result<Option<(VerifiedChange, bool)>, JobError> {
    let Ok(client) = Change::claimed_client(bytes) else { return Ok(None) };
    let Some(record) = clients::read(host, client).await? else { return Ok(None) };
    let counts = record.accepts_change(number, ObjectHash::of(bytes));
    let Some(keys) = record.keys.filter(|_| record.role == Role::Full) else { return Ok(None) };
    let Ok(verified) = Change::verify(host.repository, &keys.manifest, client, number, bytes) else { return Ok(None) };
    let is_vouched = verified.change.is_signed_by_owner(host.repository, &host.owner_key);
    let follows = before.is_none_or(|before| verified.change.previous == before);
    Ok((is_vouched && follows).then_some((verified, counts)))
}

/// Whether the client named in these bytes has signed them, so that their content is known, counting or not.
pub(crate) async fn is_signed(host: &Host<'_>, number: u64, bytes: &[u8]) -> Result<bool, JobError> {
    let Ok(client) = Change::claimed_client(bytes) else { return Ok(false) };
    let keys = clients::read(host, client).await?.and_then(|record| record.keys);
    let verify = |key: &[u8; 32]| Change::verify(host.repository, key, client, number, bytes);
    Ok(keys.is_some_and(|keys| verify(&keys.manifest).is_ok()))
}

/// Applies an operation to one snapshot; returns whether anything changed. A pinned snapshot cannot be forgotten, and
/// one whose root page is gone (not `is_present`) cannot be undeleted.
pub(crate) fn apply_change(operation: &Operation, record: &mut SnapshotRecord, is_present: bool, now: Time) -> bool {
    let before = record.clone();
    match operation {
        Operation::Forget(_) if record.state == SnapshotState::Kept && !record.pinned => {
            record.state = SnapshotState::Forgotten;
        }
        Operation::Undelete(_) if record.state == SnapshotState::Forgotten && is_present => {
            record.state = SnapshotState::Kept;
        }
        Operation::Pin(_) => record.pinned = true,
        Operation::Unpin(_) => record.pinned = false,
        Operation::Release { .. } => record.released = true,
        Operation::Tag { add, remove, .. } => {
            record.tags.retain(|tag| !remove.contains(tag));
            record.tags.extend(add.iter().map(|(tag, _)| *tag));
            record.tags.sort_unstable();
            record.tags.dedup();
        }
        _ => {}
    }
    let is_changed = *record != before;
    if record.state != before.state {
        record.state_time = now;
    }
    is_changed
}

/// Changes that one root folds in at most.
const CHANGES: usize = 256;
