//! Library: the snapshots of a repository, from manifests signed by their clients.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use copal_engine::read::{Allowance, SignedSnapshot};
use copal_engine::retention::{age, tag_domains};
use copal_format::client::{ClientHistory, ClientRecord, Role};
use copal_format::id::{ChunkId, ClientId, DomainId, SnapshotId, TagId};
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::secret::Secret;
use copal_format::layout;
use copal_format::order;
use copal_format::repository::Descriptor;
use copal_format::snapshot::SnapshotInfo;
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;

use super::blocks::Blocks;
use super::tree::Tree;
use crate::fault::{Code, Fault};
use crate::owner::Owner;
use crate::view::{Read, View};

/// A snapshot whose manifest was verified and opened.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Its id.
    pub id: SnapshotId,
    /// The client that signed it.
    pub client: ClientId,
    /// The client's role.
    pub role: Role,
    /// The client's name, if the owner gave it one.
    pub client_name: Option<String>,
    /// The number of its manifest.
    pub number: u64,
    /// The domain of its pages.
    pub domain: DomainId,
    /// Its root page.
    pub root: ChunkId,
    /// When it was made, by the client's clock.
    pub time: Time,
    /// The names of its current tags; the id of a tag whose name is not known.
    pub tags: Vec<String>,
    /// Its description.
    pub info: SnapshotInfo,
    /// Its record in the state.
    pub record: SnapshotRecord,
}

impl Snapshot {
    /// The machine that it is from.
    pub fn machine(&self) -> String {
        let id = self.client.to_string();
        self.role.machine(&self.info.host, self.client_name.as_deref().unwrap_or(&id)).to_owned()
    }
}

/// What is known about a client.
struct Known {
    record: Option<ClientRecord>,
    name: Option<String>,
    /// What the descriptions of a write-only client's snapshots may still take.
    allowance: Option<Allowance>,
}

/// Reads snapshots of one repository.
pub struct Library {
    pub(super) owner: OwnerSecret,
    pub(super) owner_key: [u8; 32],
    shared_domain: DomainId,
    pub(super) view: Rc<RefCell<View>>,
    blocks: Rc<RefCell<Blocks>>,
    clients: BTreeMap<ClientId, Known>,
    manifests: BTreeMap<(ClientId, u64), Result<Snapshot, Fault>>,
    /// Names of tags that changes have added.
    pub(super) tag_names: Vec<(TagId, String)>,
    lists_forgotten: bool,
}

impl Library {
    /// A library of the owner's repository.
    pub fn new(owner: &Owner, descriptor: &Descriptor, view: Rc<RefCell<View>>) -> Result<Self, Fault> {
        owner.check(descriptor)?;
        let owner = owner.secret().clone();
        let blocks = Rc::new(RefCell::new(Blocks::new(owner.clone())));
        let Descriptor { owner_key, shared_domain, .. } = *descriptor;
        let (clients, manifests, tag_names) = Default::default();
        let lists_forgotten = false;
        Ok(Self { owner, owner_key, shared_domain, view, blocks, clients, manifests, tag_names, lists_forgotten })
    }

    /// Lists forgotten snapshots too, which can still be undeleted.
    pub fn list_forgotten(&mut self) {
        self.lists_forgotten = true;
    }

    /// Clients whose records are needed.
    pub fn needed_clients(&self) -> Vec<ClientId> {
        let mut clients: Vec<ClientId> = self.listed().into_iter().map(|((client, _), _)| client).collect();
        clients.dedup();
        clients.retain(|client| !self.clients.contains_key(client));
        clients
    }

    /// Takes all versions of a client's record. Uses those that can be trusted and ignores the others.
    pub fn supply_client(&mut self, client: ClientId, records: &[(u64, Vec<u8>)]) {
        let history = ClientHistory::read(self.owner.repository(), &self.owner_key, client, records);
        let record = history.newest;
        let name = record.as_ref().and_then(|record| record.name(&self.owner));
        let snapshots = self.count_of(client);
        let allowance = record.as_ref().and_then(|record| Allowance::of(record.role, DESCRIPTIONS, snapshots));
        self.clients.insert(client, Known { record, name, allowance });
    }

    /// The names of manifests that are needed.
    pub fn needed_manifests(&self) -> Vec<String> {
        let missing = self.listed().into_iter().filter(|(key, _)| !self.manifests.contains_key(key));
        missing.map(|((client, number), _)| layout::manifest(client, number)).collect()
    }

    /// Takes a manifest; `None` if it does not exist.
    pub fn supply_manifest(&mut self, key: &str, bytes: Option<&[u8]>) -> Result<(), Fault> {
        let place = layout::client_of(key).zip(layout::trailing_number(key));
        let place = place.ok_or_else(|| Fault::misuse("it is not a manifest's name"))?;
        let record = self.view.borrow().state().and_then(|state| state.snapshots.get(&place).cloned());
        let record = record.ok_or_else(|| Fault::misuse("this manifest claims no snapshot"))?;
        let read = self.read(place, record, bytes);
        self.manifests.insert(place, read);
        Ok(())
    }

    fn read(
        &self,
        (client, number): (ClientId, u64),
        record: SnapshotRecord,
        bytes: Option<&[u8]>,
    ) -> Result<Snapshot, Fault> {
        let damaged = |why: &str| Fault::new(Code::Damaged, why);
        let known = self.clients.get(&client).ok_or_else(|| damaged("its client's record was not read"))?;
        let signer = known.record.as_ref().ok_or_else(|| damaged("its client's record is lost or damaged"))?;
        let bytes = bytes.ok_or_else(|| damaged("it is not there"))?;
        let signed = SignedSnapshot::verify(&self.owner, signer, number, bytes);
        let signed = signed.map_err(|fault| damaged(&fault.to_string()))?;
        let info = signed.info(&self.owner).map_err(|fault| damaged(&fault.to_string()))?;
        known.allowance.as_ref().map_or(Ok(()), |left| left.take(&info))?;
        Ok(Snapshot {
            id: signed.id(),
            client,
            role: signer.role,
            client_name: known.name.clone(),
            number,
            domain: signed.domain,
            root: signed.claim.root,
            time: signed.claim.client_time,
            tags: Vec::new(),
            info,
            record,
        })
    }

    /// The listed snapshots that were verified, newest first in the order of retention.
    pub fn snapshots(&self) -> Vec<Snapshot> {
        let listed = self.listed().into_iter();
        let mut snapshots: Vec<Snapshot> = listed
            .filter_map(|(key, record)| {
                let read = self.manifests.get(&key)?.as_ref().ok()?;
                let tags = self.tags(&record, read).0;
                Some(Snapshot { record, tags, ..read.clone() })
            })
            .collect();
        order::sort_by(&mut snapshots, |a, b| age(&b.record).cmp(&age(&a.record)));
        snapshots
    }

    /// The manifests that cannot be verified or opened, and why.
    pub fn problems(&self) -> Vec<(String, Fault)> {
        let listed = self.listed().into_iter();
        let problem = |(client, number): (ClientId, u64)| {
            let why = self.manifests.get(&(client, number))?.as_ref().err()?;
            Some((layout::manifest(client, number), why.clone()))
        };
        listed.filter_map(|(key, _)| problem(key)).collect()
    }

    /// A snapshot's tree.
    pub fn tree(&self, id: SnapshotId) -> Result<Tree, Fault> {
        let found = self.manifests.values().flatten().find(|snapshot| snapshot.id == id);
        let found = found.ok_or_else(|| Fault::new(Code::Absent, format!("snapshot {id} is not listed")))?;
        if !self.view.borrow().is_complete() || self.view.borrow().index(found.domain).is_none() {
            return Err(Fault::misuse("the index of the snapshot's domain is to be read first"));
        }
        Ok(Tree::new(self.view.clone(), self.blocks.clone(), found.domain, found.root))
    }

    /// Takes the bytes of a read; `None` if they do not exist.
    pub fn supply(&self, read: &Read, bytes: Option<Vec<u8>>) {
        self.blocks.borrow_mut().supply(read, bytes);
    }

    /// The key of a session's blocks for the host's cipher ([`super::SealedBlock`]); given only once.
    pub fn take_key(&self, session: u32) -> Option<Secret> {
        self.blocks.borrow_mut().take_key(session)
    }

    /// The domains in which a policy's tags have ids.
    pub(super) fn domains(&self) -> BTreeSet<DomainId> {
        let view = self.view.borrow();
        let snapshots = view.state().into_iter().flat_map(|state| state.snapshots.values());
        let clients = self.clients.values().filter_map(|known| Some(known.record.as_ref()?.domain));
        tag_domains(snapshots, Some(self.shared_domain), clients)
    }

    pub(super) fn verified(&self) -> impl Iterator<Item = &Snapshot> {
        self.manifests.values().flatten()
    }

    fn count_of(&self, client: ClientId) -> usize {
        let view = self.view.borrow();
        view.state().map_or(0, |state| state.snapshots.keys().filter(|(of, _)| *of == client).count())
    }

    fn listed(&self) -> Vec<((ClientId, u64), SnapshotRecord)> {
        let view = self.view.borrow();
        let Some(state) = view.state() else { return Vec::new() };
        let is_there =
            |state| state == SnapshotState::Kept || state == SnapshotState::Forgotten && self.lists_forgotten;
        let listed = state.snapshots.iter().filter(|(_, record)| is_there(record.state) && !record.partial);
        listed.map(|(key, record)| (*key, record.clone())).collect()
    }
}

/// Bytes of memory that the descriptions of a write-only client may take, however few snapshots it has.
const DESCRIPTIONS: u64 = 32 << 20;
