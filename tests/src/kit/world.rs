//! World: a store in memory with the kit's repository in it, for scenarios that go one step at a time.

use std::time::Duration;

use bytes::Bytes;
use copal_format::change::{Change, Operation};
use copal_format::client::Role;
use copal_format::expiry::Expiry;
use copal_format::id::{ChunkId, ObjectHash, PackId, SnapshotId};
use copal_format::layout::{self, Place};
use copal_format::manifest::Manifest;
use copal_format::pack::{self, Pack, PackKind};
use copal_format::receipt::Receipt;
use copal_format::repository::IngestBy;
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;
use copal_jobs::check::{self, Depth};
use copal_jobs::context::JobContext;
use copal_jobs::error::JobError;
use copal_jobs::expire;
use copal_jobs::ingest::{self, Scope, ingest};
use copal_jobs::prune::{self, Options};
use copal_jobs::rebuild;
use copal_jobs::view::{self, View};
use copal_store::memory::MemoryStore;
use copal_store::{Store, StoreTime, list_all};
use ed25519_dalek::SigningKey;
use futures::executor::block_on;

use super::craft::claim;
use super::repository::key;
use super::{Client, Failure, How, Reader, Repository, SeededEntropy, Tree, tree};

/// A repository and everybody's tools.
pub struct World {
    pub store: MemoryStore,
    pub repository: Repository,
    entropy: SeededEntropy,
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

pub const DAY: Duration = Duration::from_secs(24 * 3600);

impl World {
    /// A repository to which nothing was written.
    pub fn new() -> Self {
        let world = Self { store: MemoryStore::new(), repository: Repository::new(), entropy: SeededEntropy::new(1) };
        world.store.set_now(StoreTime(1_700_000_000_000_000_000));
        block_on(world.repository.create(&world.store)).expect("memory does not fail");
        world
    }

    /// A repository to which nothing was written, and a full client of it.
    pub fn with_client() -> (Self, Client) {
        let world = Self::new();
        let client = world.register(1, Role::Full);
        (world, client)
    }

    /// The same objects once more.
    pub fn copy(&self) -> Self {
        let copy = Self::new();
        for name in self.names("").iter().filter(|name| !copy.has(name)) {
            copy.put(name, self.read(name));
        }
        copy
    }

    pub fn job(&self) -> JobContext<'_> {
        self.repository.job(&self.store, &self.entropy)
    }

    /// The same with another store before this one.
    pub fn job_of<'a>(&'a self, store: &'a dyn Store) -> JobContext<'a> {
        self.repository.job(store, &self.entropy)
    }

    pub fn register(&self, number: u8, role: Role) -> Client {
        block_on(self.repository.register(&self.store, number, role)).expect("memory does not fail")
    }

    /// Backs up and expects a good answer.
    pub fn back_up(&self, client: &Client, tree: &Tree) -> SnapshotId {
        self.try_back_up(client, tree, &How::default()).expect("the backup is accepted")
    }

    /// Backs up once a day: a file of so many bytes, and of other bytes each time.
    pub fn back_up_daily<const N: usize>(&self, client: &Client, lengths: [usize; N]) -> [SnapshotId; N] {
        let mut fill = 0;
        lengths.map(|length| {
            fill += 1;
            self.wait(DAY);
            self.back_up(client, &tree([("a", &vec![fill; length][..])]))
        })
    }

    pub fn try_back_up(&self, client: &Client, tree: &Tree, how: &How<'_>) -> Result<SnapshotId, Failure> {
        block_on(client.back_up(&self.job(), tree, how))
    }

    /// Backs up, and leaves it to others to decide about it.
    pub fn upload(&self, client: &Client, tree: &Tree) {
        let how = How { ingests: false, patience: 1, ..How::default() };
        let failure = self.try_back_up(client, tree, &how).expect_err("nobody answers");
        assert!(matches!(failure, Failure::Patience { .. }), "{failure}");
    }

    /// Backs up as a client does that began when the repository was as in this view, and uploads everything.
    pub fn back_up_since(&self, view: &View, client: &Client, tree: &Tree) -> SnapshotId {
        let job = self.job();
        let mut run = client.begin(&job).expect("it begins");
        let packs = block_on(run.take_all(&job, tree)).expect("memory does not fail");
        block_on(client.commit_run(&job, view, &mut run, packs, false)).expect("the backup is accepted")
    }

    pub fn view(&self) -> View {
        block_on(view::read(&self.store)).expect("the state can be read")
    }

    pub fn snapshot(&self, id: SnapshotId) -> SnapshotRecord {
        let view = self.view();
        view.state.snapshots.values().find(|snapshot| snapshot.id == id).expect("the snapshot is known").clone()
    }

    pub fn states<const N: usize>(&self, snapshots: [SnapshotId; N]) -> [SnapshotState; N] {
        snapshots.map(|id| self.snapshot(id).state)
    }

    pub fn restore(&self, id: SnapshotId) -> Result<Tree, String> {
        let reader = Reader::new(&self.repository);
        block_on(reader.restore(&self.store, &self.view(), &self.snapshot(id)))
    }

    /// Decides about everything that waits.
    pub fn ingest(&self) -> Result<Vec<Receipt>, JobError> {
        block_on(ingest(&self.job(), IngestBy::Service, Scope::All, &|_| false))
    }

    /// Folds in the decisions that wait; gives what is not believed, and why.
    pub fn fold(&self) -> Vec<(String, String)> {
        let worked = block_on(ingest::work(&self.job(), IngestBy::Service, Scope::Decisions, &|_| false));
        worked.expect("the decisions are folded in").refused
    }

    /// Lets expire what the policy does not keep; gives the oldest first.
    pub fn expire(&self) -> expire::Report {
        let mut report = self.try_expire().expect("the expiry ends well");
        report.expired.sort_by_key(|id| self.snapshot(*id).accepted);
        report
    }

    pub fn try_expire(&self) -> Result<expire::Report, JobError> {
        block_on(expire::expire(&self.job(), IngestBy::Service))
    }

    /// An expiry of these snapshots now, under the policy in force.
    pub fn expiry(&self, number: u64, previous: ObjectHash, snapshots: Vec<SnapshotId>) -> Expiry {
        let (root, _) = self.view().root.expect("there is a root");
        let policy = root.policy.expect("a policy is in force").0;
        let change = root.change_head.expect("the policy is a change").0;
        let time = Time(block_on(self.store.now()).expect("memory does not fail").0);
        Expiry { number, previous, policy, change, time, snapshots }
    }

    pub fn prune(&self, grace: Duration) -> prune::Report {
        self.try_prune(&Options { grace, ..Options::new([4096, 3072]) }).expect("the prune ends well")
    }

    /// Prunes so many times with a grace period of a day, and waits after each.
    pub fn prune_and_wait(&self, times: usize, wait: Duration) {
        for _ in 0..times {
            self.prune(DAY);
            self.wait(wait);
        }
    }

    /// Prunes so many times with a grace period of a day, and waits before each.
    pub fn wait_and_prune(&self, times: usize, wait: Duration) {
        for _ in 0..times {
            self.wait(wait);
            self.prune(DAY);
        }
    }

    pub fn try_prune(&self, options: &Options) -> Result<prune::Report, JobError> {
        block_on(prune::prune(&self.job(), options))
    }

    /// One prune on another store before this one.
    pub fn prune_on(&self, store: &dyn Store, grace: Duration) -> Result<prune::Report, JobError> {
        block_on(prune::prune(&self.job_of(store), &Options { grace, ..Options::new([4096, 3072]) }))
    }

    /// A check of everything.
    pub fn check(&self) -> check::Report {
        self.check_to(Depth::Data { part: 1, parts: 1 })
    }

    pub fn check_to(&self, depth: Depth) -> check::Report {
        block_on(check::check(&self.job(), depth)).expect("the check ends well")
    }

    pub fn rebuild(&self) -> rebuild::Report {
        block_on(rebuild::rebuild(&self.job())).expect("the rebuild ends well")
    }

    /// Destroys everything below these folders, and rebuilds.
    pub fn rebuild_without(&self, folders: &[&str]) -> rebuild::Report {
        folders.iter().for_each(|folder| self.destroy_all(folder));
        self.rebuild()
    }

    /// Destroys what jobs have made, and rebuilds it.
    pub fn rebuild_without_state(&self) -> rebuild::Report {
        self.lose_state();
        self.rebuild()
    }

    pub fn wait(&self, time: Duration) {
        self.store.advance(time);
    }

    /// A full client's decision, folded in.
    pub fn change(&self, client: &Client, operations: Vec<Operation>) {
        self.write_change(client, operations);
        self.ingest().expect("the change is folded in");
    }

    /// Writes a change and leaves it to others to fold it in.
    pub fn write_change(&self, client: &Client, operations: Vec<Operation>) {
        let (name, bytes) = self.signed_change(client, operations);
        self.put(&name, bytes);
    }

    /// The next change, and its name.
    pub fn signed_change(&self, client: &Client, operations: Vec<Operation>) -> (String, Vec<u8>) {
        let last = self.end_of("changes/");
        self.change_behind(last, client, operations, &self.repository.owner.signing_key())
    }

    /// The change behind the one of this number and hash, and its name. The key signs what only the owner may do.
    pub fn change_behind(
        &self,
        (last, previous): (u64, ObjectHash),
        client: &Client,
        operations: Vec<Operation>,
        owner: &SigningKey,
    ) -> (String, Vec<u8>) {
        let mut change = Change { number: last + 1, previous, client: client.id, time: Time(0), operations };
        change.sign_as_owner(self.repository.owner.repository(), owner);
        let bytes = change.sign(self.repository.owner.repository(), &client.keys.manifest_key());
        (layout::change(last + 1), bytes)
    }

    /// The number and hash of the last object of a chain, by the folder it lies in; number 0 where it has not begun.
    pub fn end_of(&self, chain: &str) -> (u64, ObjectHash) {
        let names = self.names(chain);
        (names.len() as u64, names.last().map_or(ObjectHash::NONE, |name| ObjectHash::of(&self.read(name))))
    }

    pub fn put(&self, name: &str, bytes: Vec<u8>) {
        block_on(self.store.create(&key(name), Bytes::from(bytes))).expect("memory does not fail");
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        block_on(self.store.read(&key(name))).expect("the object is there").to_vec()
    }

    pub fn has(&self, name: &str) -> bool {
        block_on(self.store.stat(&key(name))).expect("memory does not fail").is_some()
    }

    pub fn destroy(&self, name: &str) {
        block_on(self.store.delete(&key(name))).expect("memory does not fail");
    }

    /// Destroys an object, or flips a bit of it.
    pub fn harm(&self, name: &str, is_gone: bool) {
        if is_gone { self.destroy(name) } else { self.flip(name) }
    }

    pub fn destroy_all(&self, prefix: &str) {
        self.names(prefix).iter().for_each(|name| self.destroy(name));
    }

    /// Destroys what jobs have made: roots, runs of the state, and the index.
    pub fn lose_state(&self) {
        ["roots/", "state/", "index/"].iter().for_each(|prefix| self.destroy_all(prefix));
    }

    /// The names of the packs of clients that hold data, or pages.
    pub fn packs(&self, kind: PackKind) -> Vec<String> {
        let is_of_kind = |name: &String| pack::parse(&self.read(name)).expect("a table").kind == kind;
        self.names("packs/").into_iter().filter(is_of_kind).collect()
    }

    /// Stores a pack; gives how a manifest names it.
    pub fn put_pack(&self, pack: &Pack) -> (PackId, u64) {
        self.put(&layout::pack(Place::Packs, pack.id), pack.bytes.clone());
        (pack.id, pack.bytes.len() as u64)
    }

    /// The next manifest of a client's chain, with these packs and this root page.
    pub fn manifest(&self, client: &Client, packs: &[(PackId, u64)], root: Option<ChunkId>) -> Manifest {
        let (last, previous) = self.end_of(&format!("manifests/{}/", client.id));
        let snapshot = root.map(|root| claim(root, false));
        let plain = Manifest::new(client.id, last + 1, previous, client.domain);
        Manifest { packs: packs.to_vec(), snapshot, ..plain }
    }

    /// Stores a manifest that a client has signed; gives its number.
    pub fn put_manifest(&self, signer: &Client, manifest: &Manifest) -> u64 {
        let bytes = manifest.sign(self.repository.owner.repository(), &signer.keys.manifest_key());
        self.put(&layout::manifest(manifest.client, manifest.number), bytes);
        manifest.number
    }

    /// Flips a bit in the middle of an object.
    pub fn flip(&self, name: &str) {
        let flip = |bytes: &mut Vec<u8>| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        };
        self.store.corrupt(&key(name), flip).expect("the object is there");
    }

    pub fn names(&self, prefix: &str) -> Vec<String> {
        let listed = block_on(list_all(&self.store, prefix)).expect("memory does not fail");
        listed.into_iter().map(|listed| listed.key.as_str().to_owned()).collect()
    }

    pub fn receipt(&self, client: &Client, number: u64) -> Receipt {
        let bytes = self.read(&layout::receipt(client.id, number));
        Receipt::decode(client.id, number, &bytes).expect("receipts can be read")
    }
}
