//! Person: forgets, undeletes, pins and releases snapshots and sets policies; a thief of that person's signing key tries
//! what the owner must sign.

use bytes::Bytes;
use copal_engine::retention::held;
use copal_format::change::{Change, Operation, OwnerSignature};
use copal_format::id::{ObjectHash, SnapshotId};
use copal_format::layout;
use copal_format::policy::{Floor, Hold};
use copal_format::repository::IngestBy;
use copal_format::state::SnapshotState;
use copal_format::time::Time;
use copal_jobs::error::JobError;
use copal_jobs::ingest::{Scope, ingest};
use copal_jobs::policy;
use copal_jobs::view::{self, View};
use copal_store::Created;
use copal_tests::kit::repository::key;
use copal_tests::kit::{Client, guarded, keep_last, keep_last_unsigned};

use super::actors::Scene;
use super::law::{AGES, LASTING};

impl Scene<'_> {
    /// Forgets, undeletes and pins snapshots now and then.
    pub(super) async fn decide(mut self, client: &Client) {
        loop {
            match self.change(client).await {
                Ok(()) => {}
                Err(error) => self.allow("a change", &error),
            }
        }
    }

    async fn change(&mut self, client: &Client) -> Result<(), JobError> {
        let view = view::read(self.job.store).await?;
        self.expect_lived(&view);
        let snapshots: Vec<_> = view.state.snapshots.values().filter(|snapshot| !snapshot.partial).collect();
        if snapshots.is_empty() || self.random.chance(700) {
            return Ok(());
        }
        let some: Vec<SnapshotId> =
            snapshots.iter().filter(|_| self.random.chance(400)).map(|snapshot| snapshot.id).collect();
        let mut is_forged = false;
        let operation = match self.random.below(if self.habits.guards { 16 } else { 11 }) {
            _ if self.habits.is_lasting && self.watch.seen().law.policy.is_none() => self.guarded_policy(),
            0..6 => Operation::Forget(some.clone()),
            6..8 => Operation::Undelete(
                snapshots.iter().filter(|of| of.state == SnapshotState::Forgotten).map(|of| of.id).collect(),
            ),
            8 => match self.watch.to_prove(&view) {
                packs if packs.is_empty() => return Ok(()),
                packs => Operation::prove(&self.repository.owner, packs),
            },
            9 => Operation::Pin(some.iter().take(1).copied().collect()),
            10 if self.habits.guards => self.guarded_policy(),
            10 => keep_last(1 + self.random.below(3) as u32),
            11 => self.guarded_policy(),
            12 => {
                let Some((_, policy)) = policy::current(&self.job, &view).await? else { return Ok(()) };
                let held = held(&policy, &view.state.snapshots, Time(i64::MAX));
                release(held.into_iter().map(|held| held.snapshot).filter(|_| self.random.chance(700)).collect())
            }
            // Who has the client's key, and not the owner's, tries what the owner must sign.
            nth => {
                is_forged = true;
                match nth {
                    13 => keep_last_unsigned(1),
                    14 => Operation::Forget(some.clone()),
                    _ if self.random.chance(500) => release(some.clone()),
                    _ => guarded(1, Floor::default(), None),
                }
            }
        };
        if matches!(operation, Operation::Forget(_)) {
            self.memory.forgotten.borrow_mut().extend(&some);
        }
        if let Operation::Undelete(back) = &operation {
            self.memory.undeleted.borrow_mut().extend(back);
        }
        self.watch.note(|| format!("somebody wants to {operation:?}"));
        self.hand_in(client, &view, &operation, is_forged).await?;
        if !self.habits.mails || self.random.chance(500) {
            ingest(&self.job, IngestBy::Client, Scope::Client(client.id), &|_| false).await?;
        }
        Ok(())
    }

    /// Somebody with the key opens all that nobody has proven, and proves what is sound.
    pub(super) async fn prove_all(&self, client: &Client) -> Result<(), JobError> {
        let view = view::read(self.job.store).await?;
        let packs = self.watch.to_prove(&view);
        if packs.is_empty() {
            return Ok(());
        }
        self.hand_in(client, &view, &Operation::prove(&self.repository.owner, packs), false).await?;
        ingest(&self.job, IngestBy::Service, Scope::All, &|_| false).await.map(|_| ())
    }

    /// Writes a change under the next free number.
    pub(super) async fn hand_in(
        &self,
        client: &Client,
        view: &View,
        operation: &Operation,
        is_forged: bool,
    ) -> Result<(), JobError> {
        let head = view.root.as_ref().and_then(|(root, _)| root.change_head).unwrap_or((0, ObjectHash::NONE));
        let (mut number, mut previous) = (head.0 + 1, head.1);
        loop {
            let time = Time(self.job.store.now().await?.0);
            let mut change = Change { number, previous, client: client.id, time, operations: vec![operation.clone()] };
            let owner = match is_forged {
                true => client.keys.manifest_key(),
                false => self.repository.owner.signing_key(),
            };
            change.sign_as_owner(self.job.repository, &owner);
            let bytes = change.sign(self.job.repository, &client.keys.manifest_key());
            let hash = ObjectHash::of(&bytes);
            let name = key(&layout::change(number));
            // Once the client is revoked, a check names what its thief has written.
            if is_forged || self.watch.seen().thefts.is_stolen(client.id) {
                self.memory.forged.borrow_mut().insert(layout::change(number));
            }
            if self.job.store.create(&name, Bytes::from(bytes)).await? == Created::New {
                return Ok(());
            }
            let stored = ObjectHash::of(&self.job.store.read(&name).await?);
            if stored == hash {
                return Ok(());
            }
            (number, previous) = (number + 1, stored);
        }
    }

    /// A policy of the owner's, with a floor, a hold, both or neither.
    fn guarded_policy(&mut self) -> Operation {
        let ages = if self.habits.is_lasting { &[LASTING][..] } else { &AGES };
        let floor = Floor { last: self.random.below(3) as u32, age: *self.random.pick(ages) };
        let holds = [None, Some(Hold { share: 50, least: 2_000 }), Some(Hold { share: 100, least: 6_000 })];
        guarded(1 + self.random.below(3) as u32, floor, *self.random.pick(&holds))
    }
}

fn release(snapshots: Vec<SnapshotId>) -> Operation {
    Operation::Release { snapshots, signature: OwnerSignature::NONE }
}
