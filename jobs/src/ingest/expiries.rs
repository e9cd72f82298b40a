//! Expiries: folds in the service's numbered chain of expiries, as far as the policy in force permits them.

use copal_engine::retention::{Series, Signed, held, permits};
use copal_format::expiry::Expiry;
use copal_format::id::ObjectHash;
use copal_format::layout;
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;

use super::Pass;
use crate::error::JobError;
use crate::faults::{Mistake, is_planted};
use crate::objects;
use crate::policy;

impl Pass<'_> {
    /// Folds in expiries from the last folded one to a gap. One that is not believed uses up its number without effect.
    pub(super) async fn fold_expiries(&mut self) -> Result<(), JobError> {
        let head = self.view.root.as_ref().and_then(|(root, _)| root.expiry_head);
        let (mut number, mut before) = head.unwrap_or((0, ObjectHash::NONE));
        let mut folded = 0;
        for _ in 0..EXPIRIES {
            let name = layout::expiry(number + 1);
            let read = match self.next[1].take() {
                Some(found) => found,
                None => objects::read(self.job.store, &name).await?,
            };
            let Some(bytes) = read else { break };
            self.load_snapshots().await?;
            match self.fold_expiry(number + 1, before, &bytes).await? {
                Ok(()) => {}
                Err(why) => self.refused.push((name, why)),
            }
            number += 1;
            before = ObjectHash::of(&bytes);
            self.proposal.expiry_head = Some((number, before));
            folded += 1;
        }
        self.has_more |= folded == EXPIRIES;
        Ok(())
    }

    /// Folds in one expiry; the inner error says why it is not believed.
    async fn fold_expiry(
        &mut self,
        number: u64,
        before: ObjectHash,
        bytes: &[u8],
    ) -> Result<Result<(), String>, JobError> {
        let expiry = match Expiry::decode(number, bytes) {
            Ok(expiry) => expiry,
            Err(error) => return Ok(Err(error.to_string())),
        };
        if expiry.previous != before {
            return Ok(Err("it does not name the expiry before it".into()));
        }
        let is_believed = is_planted(Mistake::ExpiryBelieved);
        let changes = self.view.root.as_ref().and_then(|(root, _)| root.change_head).map(|(number, _)| number);
        if (self.proposal.change_head.is_some() || changes != Some(expiry.change)) && !is_believed {
            return Ok(Err("changes came between the decision and its folding in".into()));
        }
        if expiry.time > self.now {
            return Ok(Err("it was decided later than now".into()));
        }
        let policy = match policy::guarding(self.job, &self.view, self.now).await {
            // An unreadable policy: nobody can tell what it keeps.
            Err(JobError::Damaged { object, why }) => {
                return Ok(Err(format!("the policy in force cannot be read: {object}: {why}")));
            }
            read => read?,
        };
        match policy {
            _ if is_believed => {}
            Some((policy, signed)) if policy == expiry.policy => {
                if !permits(&signed, self.snapshots(), &expiry) {
                    return Ok(Err("the policy keeps a snapshot that it names".into()));
                }
                // A hold raised since the decision counts too. A rebuild cannot know when it was raised, so it keeps
                // more.
                let held = held(&signed, self.all_snapshots(), Time(i64::MAX));
                let is_held = |of: Signed<'_>| held.iter().any(|held| held.series == Series::of(of));
                if self.snapshots().any(|of| is_held(of) && expiry.snapshots.contains(&of.1.id)) {
                    return Ok(Err("a series that it names is held".into()));
                }
            }
            _ => return Ok(Err("it does not name the policy in force".into())),
        }
        let expired: Vec<_> = self
            .view
            .state
            .snapshots
            .keys()
            .filter(|key| self.snapshot(key).is_some_and(|record| expiry.snapshots.contains(&record.id)))
            .copied()
            .collect();
        for key in expired {
            if let Some(record) = self.snapshot(&key).cloned() {
                let forgotten = SnapshotRecord { state: SnapshotState::Forgotten, state_time: self.now, ..record };
                self.proposal.delta.snapshots.insert(key, Some(forgotten));
            }
        }
        Ok(Ok(()))
    }

    /// The snapshots of the base with this pass's changes. Snapshots accepted by this pass are too new to take part.
    fn snapshots(&self) -> impl Iterator<Item = Signed<'_>> {
        self.view.state.snapshots.keys().filter_map(|key| Some((key, self.snapshot(key)?)))
    }

    /// Like [`Self::snapshots`], with those that this pass accepts.
    fn all_snapshots(&self) -> impl Iterator<Item = Signed<'_>> {
        let known = &self.view.state.snapshots;
        let new = self.proposal.delta.snapshots.iter().filter(|(key, _)| !known.contains_key(key));
        self.snapshots().chain(new.filter_map(|(key, record)| Some((key, record.as_ref()?))))
    }
}

/// The most expiries that one root folds in.
const EXPIRIES: usize = 64;
