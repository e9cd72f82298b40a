//! Theft: a client's keys, which somebody else has from some moment on, and what that thief must not take away: whatever
//! was restorable by then in the domains where those keys may write.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use copal_format::client::Role;
use copal_format::id::{ChunkId, ClientId, DomainId, ObjectHash, PackId, SnapshotId};
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;
use copal_jobs::view::View;
use copal_store::Store;
use copal_store::memory::MemoryStore;
use copal_tests::kit::picture::Picture;
use copal_tests::kit::{Client, Repository};
use futures::executor::block_on;

use super::law::Law;
use super::watch::{Seen, Watch};

/// Which keys are stolen, and what is owed all the same.
#[derive(Default)]
pub(super) struct Thefts {
    /// The clients whose keys are stolen, with the last manifest that they wrote themselves.
    stolen: BTreeMap<ClientId, (u64, ObjectHash)>,
    /// Domains of stolen write-only clients.
    robbed: BTreeSet<DomainId>,
    /// Whether a full client's key is stolen: it may write in any domain.
    is_everywhere: bool,
    /// Clients that the owner has revoked since.
    revoked: BTreeSet<ClientId>,
    /// Snapshots of these domains that were restorable before.
    owed: BTreeSet<SnapshotId>,
    /// For how long they are, if a thief has the passphrase, too.
    bound: Option<Bound>,
}

/// A thief with the passphrase, against whom the floor helps for a while.
#[derive(Clone, Copy)]
struct Bound {
    since: Time,
    /// The floor that was in force then. To lower it ends it no sooner.
    floor: Duration,
}

impl Thefts {
    /// Whether somebody else has a client's keys.
    pub(super) fn is_stolen(&self, client: ClientId) -> bool {
        self.stolen.contains_key(&client)
    }

    /// Whether the owner has revoked a client since its keys were stolen.
    pub(super) fn is_revoked(&self, client: ClientId) -> bool {
        self.revoked.contains(&client)
    }

    /// Whether a thief may write in a domain.
    pub(super) fn is_robbed(&self, domain: DomainId) -> bool {
        self.is_everywhere || self.robbed.contains(&domain)
    }

    /// Whether a thief may have harmed a snapshot, or made it.
    pub(super) fn may_harm(&self, snapshot: &SnapshotRecord) -> bool {
        self.is_robbed(snapshot.domain) && !self.owed.contains(&snapshot.id)
    }

    /// A snapshot was made after every thief was found out: it must be whole.
    pub(super) fn owe_if_healed(&mut self, snapshot: SnapshotId) {
        if self.bound.is_none() && self.stolen.keys().all(|client| self.revoked.contains(client)) {
            self.owed.insert(snapshot);
        }
    }

    /// Nothing is owed any more once the floor, or the grace period if that is longer, is over for a thief with the
    /// passphrase. The thief may have signed a shorter grace period, which counts at once.
    pub(super) fn pass(&mut self, law: &Law, now: Time) {
        if self.bound.is_some_and(|bound| now.since(bound.since) >= bound.floor.max(law.least_grace())) {
            self.owed.clear();
        }
    }

    /// Nothing is owed of a snapshot once it was forgotten by rule.
    pub(super) fn settle(&mut self, staying: impl Iterator<Item = SnapshotId>) {
        if !self.owed.is_empty() {
            let staying: BTreeSet<_> = staying.collect();
            self.owed.retain(|id| staying.contains(id));
        }
    }
}

impl Watch {
    /// From now on a thief has a client's keys. What is restorable now is owed from here on; where there
    /// is nothing, there is nothing to steal yet.
    pub(super) fn steal(&self, client: &Client, has_passphrase: bool) {
        let mut seen = self.seen();
        let Some(live) = &seen.live else { return };
        let head = live.state.heads.get(&client.id).map_or((0, ObjectHash::NONE), |head| (head.number, head.hash));
        let is_reached = |of: &SnapshotRecord| client.role == Role::Full || of.domain == client.domain;
        let kept = live.state.snapshots.values().filter(|of| of.state == SnapshotState::Kept && !of.partial);
        let new = kept.filter(|of| is_reached(of) && !seen.thefts.is_robbed(of.domain));
        let is_restorable = |of: &&SnapshotRecord| self.below(live, [(of.domain, of.root)]).is_subset(&seen.healthy);
        let owed: Vec<_> = new.filter(is_restorable).map(|of| of.id).collect();
        if owed.is_empty() {
            return;
        }
        let bound = Bound { since: live.root.time, floor: floor(&seen.law) };
        let thefts = &mut seen.thefts;
        thefts.bound = thefts.bound.or((has_passphrase && client.role == Role::Full).then_some(bound));
        thefts.stolen.insert(client.id, head);
        thefts.is_everywhere |= client.role == Role::Full;
        thefts.robbed.insert(client.domain);
        let count = owed.len();
        thefts.owed.extend(owed);
        drop(seen);
        self.note(|| format!("THE KEY OF {} IS STOLEN; {count} snapshots are owed", client.id));
    }

    /// The owner revokes every client whose keys are stolen, from behind the last manifest of its own. Within the floor that
    /// undoes whatever the thief has done.
    pub(super) fn revoke_thieves(&self, memory: &MemoryStore, repository: &Repository, clients: &[Client]) {
        let now = Time(block_on(memory.now()).map_or(0, |now| now.0));
        for client in clients {
            let last = self.seen().thefts.stolen.get(&client.id).copied();
            let Some(last) = last.filter(|_| self.seen().thefts.revoked.insert(client.id)) else { continue };
            block_on(repository.revoke(memory, client, last, None)).expect("memory does not fail");
            self.note(|| format!("{} IS REVOKED behind manifest {}", client.id, last.0));
            if client.role == Role::Full {
                let thefts = &mut self.seen().thefts;
                thefts.bound = thefts.bound.filter(|bound| now.since(bound.since) >= bound.floor);
            }
        }
    }

    /// Packs that nobody has proven, and that hold what they say: who opens them with the key proves these.
    pub(super) fn to_prove(&self, view: &View) -> Vec<PackId> {
        let is_whole = |id: &PackId| self.truth.as_ref().is_none_or(|truth| truth.is_whole(id));
        let unproven = view.state.packs.iter().filter(|(_, record)| !record.is_proven);
        unproven.map(|(id, _)| *id).filter(is_whole).collect()
    }

    /// What lies below pages, going on only from copies that are what their ids say.
    pub(super) fn below(
        &self,
        picture: &Picture,
        pages: impl IntoIterator<Item = (DomainId, ChunkId)>,
    ) -> BTreeSet<(DomainId, ChunkId)> {
        picture.reached_through(|entry| self.holds(entry), pages)
    }

    /// Snapshots that a root must leave whole: what is kept, and what the guard of the policy keeps.
    pub(super) fn staying<'a>(
        law: &Law,
        before: Option<&'a Picture>,
        picture: &'a Picture,
    ) -> impl Iterator<Item = &'a SnapshotRecord> {
        let kept = picture.state.snapshots.values().filter(|of| of.state == SnapshotState::Kept && !of.partial);
        let guarded = before.map(|before| law.guarded(before, picture.root.time)).unwrap_or_default();
        kept.chain(guarded)
    }

    /// Whether a snapshot lacks something that it is made of.
    pub(super) fn is_harmed(&self, snapshot: &SnapshotRecord) -> bool {
        let seen = self.seen();
        let Seen { live, damaged, .. } = &*seen;
        live.as_ref().is_some_and(|live| {
            !self.below(live, [(snapshot.domain, snapshot.root)]).is_subset(&self.healthy(live, damaged))
        })
    }
}

/// How long the policy in force keeps what was accepted.
fn floor(law: &Law) -> Duration {
    law.policy.as_ref().map(|(_, policy)| policy.floor().age).unwrap_or_default()
}
