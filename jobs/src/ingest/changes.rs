//! Changes: folds in the numbered chain of changes that full clients sign: forget, pin, tag, policies and so on.

use std::collections::BTreeMap;

use copal_format::change::Operation;
use copal_format::id::{ClientId, ObjectHash, PackId, SnapshotId};
use copal_format::layout;
use copal_format::policy::{Lingering, SignedPolicy};
use copal_format::state::{PackRecord, SnapshotRecord};
use copal_format::time::Time;

use super::Pass;
use crate::changes::{apply_change, verify_change};
use crate::error::JobError;
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
                None => objects::read(self.job.store, &layout::change(number + 1)).await?,
            };
            let Some(bytes) = read else { break };
            self.load_snapshots().await?;
            if let Some(verified) = verify_change(self.job, number + 1, Some(before), &bytes).await? {
                let by_id = by_id.get_or_insert_with(|| self.snapshots_by_id());
                for operation in &verified.change.operations {
                    self.apply(operation, by_id).await?;
                    self.prove(operation.proven()).await?;
                }
                if verified.change.operations.iter().any(|operation| operation.policy().is_some()) {
                    if let Some(policy) = verified.change.owner_policy() {
                        self.proposal.policy = Some((number + 1, verified.hash));
                        self.replace(in_force.take(), &policy, number + 1).await?;
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

    /// Updates the lingering guard when policy `by` replaces another: `before` if this pass brought it, otherwise the
    /// one in force.
    async fn replace(&mut self, before: Option<SignedPolicy>, by: &SignedPolicy, number: u64) -> Result<(), JobError> {
        let before = match before {
            Some(before) => Some(before),
            None => match policy::current(self.job, &self.view).await {
                // An unreadable policy: nobody can tell what it guarded.
                Err(JobError::Damaged { .. }) => None,
                read => read?.map(|(_, policy)| policy),
            },
        };
        let lingering = self.proposal.lingering.or(self.view.root.as_ref().and_then(|(root, _)| root.lingering));
        if let Some(before) = before {
            // A client may have created this change after this pass has read the clock.
            let stat = self.job.store.stat(&objects::key(layout::change(number))).await?;
            let since = stat.map_or(self.now, |stat| self.now.max(Time(stat.created.0)));
            self.proposal.lingering = Lingering::after(lingering, &before, by, since);
        }
        Ok(())
    }

    /// Reads the snapshots once. Most passes do not need them.
    pub(super) async fn load_snapshots(&mut self) -> Result<(), JobError> {
        if self.view.state.snapshots.is_empty() {
            self.view.load_snapshots(self.job.store).await?;
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
        let records = self.view.packs(self.job.store).await?;
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

/// The most changes that one root folds in.
const CHANGES: usize = 256;
