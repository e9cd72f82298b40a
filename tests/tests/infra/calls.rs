//! Calls: what the functions that are invoked by events and schedules ask of the store, in the life of a repository,
//! recorded by the recording store.

use std::collections::BTreeSet;
use std::time::Duration;

use copal_format::client::Role;
use copal_format::id::ObjectHash;
use copal_format::layout;
use copal_jobs::check::{Depth, Tables};
use copal_jobs::faults::{Windows, plant};
use copal_jobs::prune::Options;
use copal_jobs::shares::{ShareId, Terms};
use copal_jobs::upkeep;
use copal_lambda::failure::Failure;
use copal_lambda::function::Function;
use copal_store::Op;
use copal_store::record::{Event, Record};
use copal_tests::kit::lambda::event::{batch, notification};
use copal_tests::kit::lambda::work::{environment, work};
use copal_tests::kit::{DAY, Tree, World, asked, keep_last, noise};
use futures::executor::block_on;
use serde_json::{Value, json};

/// A call of S3 by a function, of many alike in one folder one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    /// Which function.
    pub(crate) function: &'static str,
    /// The action, as IAM calls it.
    pub(crate) action: &'static str,
    /// The folder of the object, or [`COPIES`]; empty for calls of the bucket.
    pub(crate) folder: String,
}

/// What stands for the folder of second copies of client records, which have others beside them.
pub(crate) const COPIES: &str = "clients/*.b";

impl Call {
    pub(crate) fn new(function: &'static str, action: &'static str, name: &str) -> Call {
        let is_copy = name.starts_with("clients/") && name.ends_with(".b");
        let folder = if is_copy { COPIES } else { name.split('/').next().unwrap_or_default() };
        Call { function, action, folder: if action == LIST { String::new() } else { folder.to_owned() } }
    }
}

/// What the jobs ask in a life in which each has everything to do that it does.
pub(crate) fn of_jobs() -> BTreeSet<Call> {
    let world = World::new();
    let mut story = Story { world: &world, calls: BTreeSet::new() };
    let client = world.register(1, Role::Full);
    let other = world.register(2, Role::WriteOnly);

    // Manifests that events tell of, one that only reconciliation finds, and a policy.
    world.upload(&client, &noise(1, 40, 900));
    story.ingest(&[layout::manifest(client.id, 1)]);
    world.upload(&other, &noise(2, 4, 900));
    story.run(Function::Ingest);
    world.write_change(&client, vec![keep_last(1)]);
    story.ingest(&[layout::change(1)]);

    // A quarter of the files stays: packs become sparse, blocks are moved, the rest is doomed and deleted.
    let some: Tree =
        noise(1, 40, 900).into_iter().enumerate().filter(|(at, _)| at % 4 == 0).map(|(_, of)| of).collect();
    world.back_up(&client, &some);
    // Runs that end early note where the next one goes on, and delete what was noted before.
    for steps in 1..=4 {
        story.cut_prune(steps);
        story.cut_check(steps);
    }
    for _ in 0..3 {
        story.run(Function::Prune);
        world.wait(DAY + Duration::from_secs(1));
    }
    story.run(Function::Check);

    // A pack is lost, and a client packs what was in it again.
    let lost = world.names("moved/").into_iter().chain(world.names("packs/")).next().expect("there are packs");
    world.destroy(&lost);
    story.run(Function::Check);
    world.upload(&client, &some);
    story.run(Function::Ingest);

    // More roots than are kept, segments to be merged, and something that nobody names.
    for seed in 100..210 {
        world.back_up(&client, &noise(seed, 1, 600));
    }
    // Ingest folds what is small; what is merged otherwise has millions of entries.
    plant(None, Windows { cover: 1, ..Windows::DESIGN });
    story.run(Function::Compact);
    plant(None, Windows::DESIGN);
    world.put(&layout::segment(ObjectHash([7; 32])), vec![0; 64]);
    // Meanwhile a change that no ingest has seen, and a reader that the repository carries.
    world.write_change(&client, vec![keep_last(2)]);
    let reader = b"a reader".to_vec();
    world.put(&layout::reader(ObjectHash::of(&reader)), reader);
    // A share that ends, and what is left of one that was given up.
    let id = ShareId::parse(&"a".repeat(32)).expect("digits");
    let terms = Terms { token: "ab".repeat(32), ends: 1, count: 1, length: 20, list: 20, label: String::new() };
    world.put(id.terms().as_str(), terms.encode().to_vec());
    world.put(id.data(1).as_str(), vec![0; 20]);
    for days in [9, 2, 200, 2] {
        world.wait(DAY * days);
        story.run(Function::Prune);
    }
    story.run(Function::Check);

    // A root is lost of which a client has its answer: nobody writes on.
    world.upload(&client, &noise(3, 4, 900));
    story.run(Function::Ingest);
    let newest = world.names("roots/").into_iter().next().expect("there are roots");
    world.destroy(&newest);
    let refused = story.ask(Function::Prune, json!({ "job": "prune" })).expect_err("the state is lost");
    assert_eq!(refused.name(), "StateLost");
    story.calls
}

struct Story<'a> {
    world: &'a World,
    calls: BTreeSet<Call>,
}

impl Story<'_> {
    /// Ingest, told of new objects.
    fn ingest(&mut self, names: &[String]) {
        let bodies: Vec<String> =
            names.iter().map(|name| notification("bucket", name, 300, TIME, 1).to_string()).collect();
        self.invoke(Function::Ingest, batch(bodies.iter().map(|body| ("m", &**body, 1))));
    }

    /// A function, as its schedule starts it.
    fn run(&mut self, function: Function) {
        let job = if function == Function::Ingest { "reconcile" } else { function.name() };
        self.invoke(function, json!({ "job": job }));
    }

    /// What the function prune does of a prune, in no more steps than these.
    fn cut_prune(&mut self, steps: u64) {
        let store = Record::new(&self.world.store);
        let options = Options { budget: asked(steps), ..Options::new([4096, 3072]) };
        block_on(upkeep::prune(&self.world.job_of(&store), &options)).expect("it ends well");
        self.note(Function::Prune, &store.take());
    }

    /// The same of a check.
    fn cut_check(&mut self, steps: u64) {
        let store = Record::new(&self.world.store);
        let depth = Depth::Data { part: 1, parts: 1 };
        block_on(upkeep::check(&self.world.job_of(&store), (depth, Tables::All), &asked(steps))).expect("it ends well");
        self.note(Function::Check, &store.take());
    }

    fn note(&mut self, function: Function, events: &[Event]) {
        self.calls.extend(events.iter().map(|event| Call::new(function.name(), action(event.op), &event.key)));
    }

    fn invoke(&mut self, function: Function, payload: Value) {
        self.ask(function, payload).unwrap_or_else(|failure| panic!("{}: {failure}", function.name()));
    }

    fn ask(&mut self, function: Function, payload: Value) -> Result<Value, Failure> {
        let environment = environment(self.world.repository.owner.fingerprint(), "");
        let store = Record::new(&self.world.store);
        let answered = work(&environment, &store, function, payload, Duration::from_secs(900));
        self.note(function, &store.take());
        answered.map(|(answer, _)| answer)
    }
}

/// What IAM calls a call of the store, as `store::s3` makes it.
fn action(op: Op) -> &'static str {
    match op {
        Op::Create => "s3:PutObject",
        Op::Read | Op::ReadRange | Op::Map | Op::Stat => "s3:GetObject",
        // The clock is what a HEAD of the bucket answers.
        Op::List | Op::Now => LIST,
        Op::Delete => "s3:DeleteObject",
    }
}

pub(crate) const LIST: &str = "s3:ListBucket";
const TIME: &str = "2026-11-20T12:00:00.000Z";
