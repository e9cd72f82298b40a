//! What is stored before what: a crash between any two calls loses nothing that counts.

use std::collections::BTreeMap;
use std::time::Duration;

use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::id::{ClientId, SnapshotId};
use copal_format::layout::{self, Place, Prunable};
use copal_format::manifest::Manifest;
use copal_format::receipt::{IngestBy, Receipt};
use copal_format::root::{Deletion, Root};
use copal_format::state::{DoomedState, RunReader, SnapshotState, State, StateFold};
use copal_jobs::compact::compact;
use copal_jobs::faults::{self, Mistake, Windows};
use copal_jobs::ingest::{Scope, ingest};
use copal_jobs::rebuild::rebuild;
use copal_store::Op;
use copal_store::record::{Event, Outcome, Record};
use copal_tests::kit::{Client, How, Random, Tree, World, path};
use futures::executor::block_on;

#[test]
fn packs_are_stored_before_the_manifest_that_names_them() {
    let life = Life::new(None);
    for (client, number, created) in life.numbered("manifests/") {
        let bytes = life.world.read(&created.key);
        let (repository, public) = (life.world.repository.owner.repository(), life.keys[&client]);
        let manifest = Manifest::verify(repository, &public, client, number, &bytes).unwrap();
        for (pack, _) in manifest.manifest.packs {
            life.stored_before(&layout::pack(Place::Packs, pack), created);
        }
    }
}

#[test]
fn runs_segments_and_packs_are_stored_before_the_root_that_names_them() {
    let life = Life::new(None);
    for created in life.created("roots/") {
        let (root, state) = life.state(&created.key);
        root.runs.iter().for_each(|run| life.stored_before(&layout::state(run.hash), created));
        state.segments.keys().for_each(|(_, hash)| life.stored_before(&layout::segment(*hash), created));
        state.overlays.keys().for_each(|(_, hash)| life.stored_before(&layout::state(*hash), created));
        state.packs.iter().for_each(|(id, pack)| life.stored_before(&layout::pack(pack.place, *id), created));
    }
}

#[test]
fn a_manifest_is_answered_after_the_root_that_decided_it() {
    let life = Life::new(None);
    for (client, number, created) in life.numbered("receipts/") {
        let receipt = Receipt::decode(client, number, &life.world.read(&created.key)).unwrap();
        life.stored_before(&layout::manifest(client, number), created);
        life.stored_before(&layout::root(receipt.root), created);
    }
}

#[test]
fn nothing_is_deleted_before_a_root_dooms_it_and_a_record_says_so() {
    let life = Life::new(None);
    assert!(life.deleted().count() > 5, "little was deleted");
    assert_eq!(life.deleted_too_early(), Vec::<String>::new());
}

#[test]
fn what_is_deleted_too_early_is_noticed() {
    let life = Life::new(Some(Mistake::DeletedFirst));
    assert_ne!(life.deleted_too_early(), Vec::<String>::new());
}

/// Two clients' backups, prunes, a merge and a rebuild, and every call that was made.
struct Life {
    world: World,
    events: Vec<Event>,
    keys: BTreeMap<ClientId, [u8; 32]>,
}

impl Life {
    fn new(fault: Option<Mistake>) -> Self {
        faults::plant(fault, Windows::DESIGN);
        let world = World::new();
        let clients = [(1, Role::Full), (2, Role::WriteOnly)].map(|(number, role)| world.register(number, role));
        let events = recorded(&world, &clients);
        faults::plant(None, Windows::DESIGN);
        let keys = clients.iter().map(|client| (client.id, client.keys.manifest_public())).collect();
        Self { world, events, keys }
    }

    /// The calls that created objects.
    fn created<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a Event> {
        let is_new = |event: &&Event| event.op == Op::Create && event.outcome == Outcome::New;
        self.events.iter().filter(is_new).filter(move |event| event.key.starts_with(prefix))
    }

    /// The same, of objects named for a client and a number.
    fn numbered<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (ClientId, u64, &'a Event)> {
        let named =
            |event: &'a Event| Some((layout::client_of(&event.key)?, layout::trailing_number(&event.key)?, event));
        self.created(prefix).filter_map(named)
    }

    fn deleted(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| event.op == Op::Delete)
    }

    /// Whatever stores an object has ended before the other call begins.
    fn stored_before(&self, name: &str, later: &Event) {
        let is_stored = self.created(name).any(|event| event.key == name && event.precedes(later));
        assert!(is_stored, "{name} was not there yet when {} was stored", later.key);
    }

    /// Deletions of what no record names that was there before, or that no root had doomed.
    fn deleted_too_early(&self) -> Vec<String> {
        let records: Vec<(Deletion, &Event)> = self
            .created("deletions/")
            .map(|event| (Deletion::decode(&self.world.read(&event.key)).unwrap(), event))
            .collect();
        let is_due = |deleted: &&Event| {
            !records.iter().any(|(deletion, recorded)| {
                Prunable::parse(&deleted.key).is_some_and(|name| deletion.names.contains(&name))
                    && recorded.precedes(deleted)
                    && self.doomed_before(deletion.root_number, &deleted.key, recorded)
            })
        };
        self.deleted().filter(is_due).map(|event| event.key.clone()).collect()
    }

    fn doomed_before(&self, root: u64, name: &str, later: &Event) -> bool {
        let object = layout::root(root);
        let is_first = self.created(&object).any(|event| event.precedes(later));
        let name = Prunable::parse(name);
        let dooms = |state: State| {
            name.and_then(|name| state.doomed.get(&name)).is_some_and(|record| record.state == DoomedState::Doomed)
        };
        is_first && dooms(self.state(&object).1)
    }

    /// A root, and what its runs say together.
    fn state(&self, object: &str) -> (Root, State) {
        let root = Root::decode(layout::root_number(object).unwrap(), &self.world.read(object)).unwrap();
        let mut fold = StateFold::default();
        for run in &root.runs {
            fold.add(&RunReader::parse(&self.world.read(&layout::state(run.hash))).unwrap()).unwrap();
        }
        (root, fold.finish())
    }
}

/// Makes every call of a life.
fn recorded(world: &World, clients: &[Client; 2]) -> Vec<Event> {
    let store = Record::new(&world.store);
    let job = world.job_of(&store);
    for round in 0..4 {
        for client in clients {
            let how = How { split: Some(5), ..How::default() };
            block_on(client.back_up(&job, &tree(round), &how)).unwrap();
        }
        world.write_change(&clients[0], vec![Operation::Forget(all_but_newest(world))]);
        block_on(ingest(&job, IngestBy::Client, Scope::Client(clients[0].id), &|_| false)).unwrap();
        world.prune_on(&store, Duration::ZERO).unwrap();
    }
    block_on(compact(&job)).unwrap();
    block_on(rebuild(&job)).unwrap();
    store.take()
}

/// The older snapshots of every client.
fn all_but_newest(world: &World) -> Vec<SnapshotId> {
    let view = world.view();
    let kept: Vec<_> = view.state.snapshots.iter().filter(|(_, of)| of.state == SnapshotState::Kept).collect();
    let is_older = |at: usize| kept.get(at + 1).is_some_and(|later| later.0.0 == kept[at].0.0);
    (0..kept.len()).filter(|at| is_older(*at)).map(|at| kept[at].1.id).collect()
}

fn tree(round: u64) -> Tree {
    let file = |at: u64| {
        // A third of the files stays, the others differ each time.
        let mut random = Random::new(if at.is_multiple_of(3) { at } else { at + 100 * round });
        let mut content = vec![0; random.below(5_000)];
        random.fill(&mut content);
        (path(&format!("d{}/f{at:02}", at % 2)), content)
    };
    (0..20).map(file).collect()
}
