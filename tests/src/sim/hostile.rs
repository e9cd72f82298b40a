//! Hostile: a write-only client that claims what it must not, over and over, among sound claims of its own. It can hurt
//! nobody else, and what is a lie whenever it is decided is never accepted.

use bytes::Bytes;
use copal_engine::id::{ChunkId, ClientId, DomainId, ObjectHash, PackId, SnapshotId};
use copal_engine::layout::{self, Place, Prunable};
use copal_engine::limits::NUMBER;
use copal_engine::manifest::Manifest;
use copal_engine::pack::Pack;
use copal_engine::receipt::{Outcome, Receipt};
use copal_engine::state::DoomedState;
use copal_service::check::{Finding, Kind};
use copal_service::error::JobError;
use copal_service::view::{self, View};
use copal_store::{Created, StoreError};

use super::actors::Scene;
use super::watch::Watch;
use crate::kit::Client;
use crate::kit::craft::{claim, data_pack, id, tree_pack};
use crate::kit::repository::key;

/// What a claim is about.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Lie {
    /// Nothing is wrong with it, but that its pack may have been there before.
    None,
    /// A root was seen that there never will be.
    RootSeen,
    /// A page refers to what never was.
    Reference,
    /// A page refers to what another domain has.
    ForeignReference,
    /// The snapshot is another domain's.
    ForeignRoot,
    /// A pack is another domain's.
    ForeignPack,
    /// A page is no higher than what it refers to.
    Height,
    /// A pack was deleted, and is there again.
    Spent,
    /// A pack is longer than it is.
    Length,
    /// The domain is not the client's.
    Domain,
    /// It does not name the manifest before it.
    Chain,
    /// Another one has signed it.
    Signature,
}

/// A manifest in the making.
struct Claim {
    packs: Vec<(PackId, u64)>,
    root: Option<ChunkId>,
}

/// Whether a finding is what the hostile client has done to itself: it writes several pages under one id, and a rebuild,
/// which takes in the packs of what it does not believe, may find that one of them has no sound references. And behind a
/// manifest whose signature is wrong a rebuild has nothing to compare the next one with.
pub(super) fn is_own_harm(watch: &Watch, finding: &Finding) -> bool {
    let seen = watch.seen();
    let known =
        |id: &SnapshotId| seen.live.iter().flat_map(|live| live.state.snapshots.values()).find(|of| of.id == *id);
    let is_own = |id: &SnapshotId| known(id).is_some_and(|snapshot| snapshot.domain == OWN);
    let is_dangling = finding.kind == Kind::Dangling && !finding.snapshots.is_empty();
    let names = layout::manifest(SELF, 0);
    let is_manifest = names.rsplit_once('/').is_some_and(|(folder, _)| finding.object.starts_with(folder));
    is_manifest || (is_dangling && finding.snapshots.iter().all(is_own))
}

impl Scene<'_> {
    /// Claims one thing after the other.
    pub(super) async fn deceive(mut self, client: &Client) {
        loop {
            if let Err(error) = self.lie(client).await {
                self.allow("a hostile client", &error);
            }
        }
    }

    async fn lie(&mut self, client: &Client) -> Result<(), JobError> {
        let view = view::read(self.host.store).await?;
        let lie = *self.random.pick(&LIES);
        let Some(made) = self.make(client, &view, lie).await? else { return Ok(()) };
        let (number, bytes) = self.sign(client, &view, &made, lie).await?;
        let hash = ObjectHash::of(&bytes);
        self.watch.note(|| format!("{} claims {lie:?} as manifest {number}", client.id));
        if self.host.store.create(&key(&layout::manifest(client.id, number)), bytes).await? != Created::New {
            return Ok(());
        }
        for _ in 0..PATIENCE {
            match self.host.store.read(&key(&layout::receipt(client.id, number))).await {
                Ok(bytes) => {
                    let receipt = Receipt::decode(client.id, number, &bytes);
                    let is_accepted = receipt.is_ok_and(|of| of.outcome == Outcome::Accepted && of.manifest == hash);
                    if is_accepted && lie != Lie::None {
                        self.watch.broken(format!("manifest {number} of {} lies ({lie:?}) and is accepted", client.id));
                    }
                    return Ok(());
                }
                Err(StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Stores what a claim needs; none if there is nothing to lie about yet.
    async fn make(&mut self, client: &Client, view: &View, lie: Lie) -> Result<Option<Claim>, JobError> {
        let own = client.domain;
        let (page, chunk) = (id(self.random.below(8) as u8 + 1), id(self.random.below(8) as u8 + 100));
        let foreign = view.state.snapshots.values().find(|snapshot| snapshot.domain != own);
        let reference = match lie {
            Lie::Reference => {
                let mut never = [0; 24];
                self.random.fill(&mut never);
                ChunkId(never)
            }
            Lie::ForeignReference | Lie::ForeignRoot | Lie::Domain => match foreign {
                Some(snapshot) if lie != Lie::Domain => snapshot.root,
                Some(_) => chunk,
                None => return Ok(None),
            },
            Lie::Height => id(50),
            _ => chunk,
        };
        if lie == Lie::ForeignRoot {
            return Ok(Some(Claim { packs: Vec::new(), root: Some(reference) }));
        }
        if lie == Lie::ForeignPack {
            let pack = view.state.packs.iter().find(|(_, pack)| pack.domain != own && pack.place == Place::Packs);
            return Ok(pack.map(|(id, pack)| Claim { packs: vec![(*id, pack.length)], root: None }));
        }
        let random = self.random.below(256) as u8;
        let data = data_pack(own, random, &[chunk]);
        let tree = match lie {
            Lie::Height => tree_pack(own, random, &[(id(50), 1, &[chunk]), (page, 1, &[reference])]),
            Lie::ForeignReference => tree_pack(own, random, &[(page, 9, &[reference])]),
            _ => tree_pack(own, random, &[(page, 1, &[reference])]),
        };
        if lie == Lie::Spent {
            let is_spent = |pack: &Pack| {
                let record = view.state.doomed.get(&Prunable::Pack(Place::Packs, pack.id));
                record.is_some_and(|record| record.state == DoomedState::Spent)
            };
            // Packs are made of few bytes here, so that one that was deleted can be made again.
            let spent = (0..=u8::MAX).map(|random| data_pack(own, random, &[chunk])).find(is_spent);
            let Some(spent) = spent else { return Ok(None) };
            let named = self.store(spent).await?;
            return Ok(Some(Claim { packs: vec![named], root: None }));
        }
        let mut packs = vec![self.store(data).await?, self.store(tree).await?];
        if lie == Lie::Length {
            packs[0].1 += 1;
        }
        Ok(Some(Claim { packs, root: Some(page) }))
    }

    async fn store(&self, pack: Pack) -> Result<(PackId, u64), JobError> {
        let named = (pack.id, pack.bytes.len() as u64);
        self.host.store.create(&key(&layout::pack(Place::Packs, pack.id)), Bytes::from(pack.bytes)).await?;
        Ok(named)
    }

    /// The manifest, for the next free number of the chain.
    async fn sign(&mut self, client: &Client, view: &View, made: &Claim, lie: Lie) -> Result<(u64, Bytes), JobError> {
        let head = view.state.heads.get(&client.id).map_or((0, ObjectHash::NONE), |head| (head.number, head.hash));
        let (mut number, mut previous) = (head.0 + 1, head.1);
        while let Some(stored) = self.stored(&layout::manifest(client.id, number)).await? {
            (number, previous) = (number + 1, ObjectHash::of(&stored));
        }
        if lie == Lie::Chain {
            previous = ObjectHash([0xee; 32]);
        }
        let foreign = view.state.snapshots.values().map(|snapshot| snapshot.domain).find(|of| *of != client.domain);
        let manifest = Manifest {
            proven: None,
            client: client.id,
            number,
            previous,
            domain: foreign.filter(|_| lie == Lie::Domain).unwrap_or(client.domain),
            root_seen: (lie == Lie::RootSeen).then_some((*self.random.pick(&FAR), ObjectHash([7; 32]))),
            packs: made.packs.clone(),
            snapshot: made.root.map(|root| claim(root, self.random.chance(200))),
        };
        let key = match lie {
            Lie::Signature => client.keys.request_key(),
            _ => client.keys.manifest_key(),
        };
        Ok((manifest.number, Bytes::from(manifest.sign(self.host.repository, &key))))
    }

    async fn stored(&self, name: &str) -> Result<Option<Bytes>, JobError> {
        match self.host.store.read(&key(name)).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The hostile client, and its domain.
const SELF: ClientId = ClientId([5; 16]);
pub(super) const OWN: DomainId = DomainId([5; 16]);
const LIES: [Lie; 14] = [
    Lie::None,
    Lie::None,
    Lie::None,
    Lie::RootSeen,
    Lie::Reference,
    Lie::ForeignReference,
    Lie::ForeignRoot,
    Lie::ForeignPack,
    Lie::Height,
    Lie::Spent,
    Lie::Length,
    Lie::Domain,
    Lie::Chain,
    Lie::Signature,
];
/// Numbers of roots that nobody can have seen.
const FAR: [u64; 3] = [u64::MAX, NUMBER, 1 << 41];
/// So often it looks for an answer.
const PATIENCE: u32 = 40;
