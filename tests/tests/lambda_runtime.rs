//! The real compiled functions, run as Lambda runs them, over a real S3 server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use copal_engine::client::Role;
use copal_engine::layout;
use copal_engine::receipt::{Outcome as Decision, Receipt};
use copal_service::view;
use copal_store::s3::S3Store;
use copal_store::{Store, list_all};
use copal_tests::kit::lambda::event::{batch, failures, notification};
use copal_tests::kit::lambda::{Cloud, Deployment, Faults, Outcome};
use copal_tests::kit::repository::key;
use copal_tests::kit::s3::{Kind, Server};
use copal_tests::kit::{Client, Failure, How, Reader, Repository, SeededEntropy, Tree, tree};
use futures::executor::block_on;
use serde_json::{Value, json};

#[test]
fn a_manifest_is_decided_soon_after_it_was_uploaded() {
    let world = World::new();
    let cloud = world.cloud(|_| {});
    let client = world.register(1);
    world.upload(&client, b"letter");
    let receipt = world.receipt(&client, 1);
    assert_eq!(receipt.outcome, Decision::Accepted);
    assert_eq!(world.restore(&receipt), files(b"letter"));
    // The answer comes before the line that says so is read.
    let metrics = until("the metrics are written", || {
        cloud.function("ingest").metrics().into_iter().find(|line| line["ManifestsAccepted"] == json!(1.0))
    });
    assert_eq!(metrics["Function"], "ingest");
    assert_eq!(metrics["Repository"], json!(world.bucket));
    let log = cloud.function("ingest").log();
    let line = log.iter().find(|line| line.contains("\"message\":\"accepted\"")).expect("the decision is logged");
    let line: Value = serde_json::from_str(line).expect("the log is JSON");
    assert_eq!(line["span"]["requestId"], metrics["requestId"]);
}

#[test]
fn events_that_come_twice_late_and_in_another_order_lead_to_the_same_state() {
    for seed in 1..=3 {
        let world = World::new();
        let faults = Faults {
            seed,
            duplicated: 500,
            delayed: 500,
            delay: Duration::from_millis(700),
            reorders: true,
            ..Faults::default()
        };
        let cloud = world.cloud(|deployment| deployment.faults = faults.clone());
        let clients: Vec<Client> = (1..=3).map(|number| world.register(number)).collect();
        for round in 1..=3 {
            clients.iter().for_each(|client| world.upload(client, &[round, client.id.0[0]]));
        }
        for client in &clients {
            for number in 1..=3 {
                let receipt = world.receipt(client, number);
                assert_eq!(receipt.outcome, Decision::Accepted, "seed {seed}");
                assert_eq!(world.restore(&receipt), files(&[number as u8, client.id.0[0]]), "seed {seed}");
            }
        }
        until("the queue is worked off", || cloud.queue().is_empty().then_some(()));
        assert_eq!(cloud.queue().dead().len(), 0, "seed {seed}");
    }
}

#[test]
fn a_manifest_whose_event_was_dropped_is_found_by_reconciliation() {
    let world = World::new();
    let cloud = world.cloud(|deployment| deployment.faults = Faults { dropped: 1000, ..Faults::default() });
    let client = world.register(1);
    world.upload(&client, b"letter");
    until("the event was dropped", || (cloud.queue().dropped() > 0).then_some(()));
    assert!(!world.has(&layout::receipt(client.id, 1)));
    let report = cloud.run("reconcile");
    assert_eq!(report.outcome, Outcome::Response(json!({ "accepted": 1, "rejected": 0, "refused": 0 })));
    assert_eq!(world.receipt(&client, 1).outcome, Decision::Accepted);
}

#[test]
fn an_ingest_that_is_killed_loses_nothing_and_its_messages_come_again() {
    let world = World::new();
    let cloud = world.cloud(|_| {});
    let client = world.register(1);
    let ingest = cloud.function("ingest");
    let mut killed = 0;
    for number in 1..=6u8 {
        world.upload(&client, &[number]);
        // Somewhere in the middle of the work; where exactly is another place each time.
        let until = Instant::now() + Duration::from_secs(2);
        while killed < u32::from(number)
            && Instant::now() < until
            && !world.has(&layout::receipt(client.id, number.into()))
        {
            killed += u32::from(ingest.kill_one());
        }
    }
    for number in 1..=6 {
        assert_eq!(world.receipt(&client, number).outcome, Decision::Accepted);
    }
    assert!(killed > 0, "no invocation was caught at work");
    assert_eq!(cloud.queue().dead().len(), 0);
    let report = cloud.run("check");
    assert!(matches!(&report.outcome, Outcome::Response(answer) if answer["ok"] == json!(true)), "{report:?}");
}

#[test]
fn a_function_that_waits_for_a_store_that_is_away_ends_in_time_and_the_next_one_works() {
    let mut world = World::new();
    let cloud = world.cloud(|deployment| {
        deployment.timeout = Duration::from_secs(4);
        deployment.faults = Faults { dropped: 1000, ..Faults::default() };
    });
    let client = world.register(1);
    world.upload(&client, b"letter");
    world.server.stop();
    let report = cloud.run("reconcile");
    assert!(matches!(&report.outcome, Outcome::Error { kind, .. } if kind == "Expired"), "{report:?}");
    world.server.restart();
    let report = cloud.run("reconcile");
    assert_eq!(report.outcome, Outcome::Response(json!({ "accepted": 1, "rejected": 0, "refused": 0 })));
}

#[test]
fn of_a_batch_only_what_failed_is_reported() {
    let world = World::new();
    let cloud = world.cloud(|deployment| deployment.faults = Faults { dropped: 1000, ..Faults::default() });
    let client = world.register(1);
    world.upload(&client, b"letter");
    let good = notification(&world.bucket, &layout::manifest(client.id, 1), 300, "2026-11-20T12:00:00.000Z", 1);
    let report = cloud.invoke("ingest", &batch([("good", good.to_string().as_str(), 1), ("bad", "no event", 1)]));
    let Outcome::Response(response) = report.outcome else { panic!("{report:?}") };
    assert_eq!(failures(&response), ["bad"]);
    assert_eq!(world.receipt(&client, 1).outcome, Decision::Accepted);
}

#[test]
fn a_message_that_nobody_understands_becomes_a_dead_letter() {
    let world = World::new();
    let cloud = world.cloud(|deployment| deployment.receives_most = 2);
    cloud.queue().send(&json!({ "hello": "world" }));
    until("it is put aside", || (cloud.queue().dead().len() == 1).then_some(()));
    assert!(cloud.queue().is_empty());
}

#[test]
fn scheduled_jobs_run_and_a_process_serves_many_invocations() {
    let world = World::new();
    let cloud = world.cloud(|_| {});
    let client = world.register(1);
    (1..=3).for_each(|number| world.upload(&client, &[number]));
    (1..=3).for_each(|number| drop(world.receipt(&client, number)));
    for _ in 0..2 {
        for job in ["compact", "prune", "check", "reconcile"] {
            let report = cloud.run(job);
            assert!(matches!(report.outcome, Outcome::Response(_)), "{job}: {report:?}");
        }
    }
    for function in ["compact", "prune", "check"] {
        assert_eq!(cloud.function(function).cold_starts().len(), 1, "{function} is started once");
        assert_eq!(cloud.function(function).metrics().len(), 2, "{function} writes metrics for each run");
    }
}

#[test]
fn a_function_that_cannot_start_says_why() {
    let world = World::new();
    let cloud = world.cloud(|deployment| deployment.variables.retain(|(name, _)| name != "COPAL_OWNER_FINGERPRINT"));
    let report = cloud.run("check");
    let told = |outcome: &Outcome| match outcome {
        Outcome::Error { message, .. } => message.contains("the variable COPAL_OWNER_FINGERPRINT is not set"),
        _ => false,
    };
    assert!(told(&report.outcome), "{report:?}");
}

#[test]
fn a_function_of_another_owner_touches_nothing() {
    let world = World::new();
    let cloud = world.cloud(|deployment| {
        deployment.variables.push(("COPAL_OWNER_FINGERPRINT".to_owned(), "07".repeat(32)));
        deployment.faults = Faults { dropped: 1000, ..Faults::default() };
    });
    let client = world.register(1);
    world.upload(&client, b"letter");
    let before = world.names();
    for job in ["reconcile", "prune", "check", "compact"] {
        let report = cloud.run(job);
        assert!(matches!(&report.outcome, Outcome::Error { kind, .. } if kind == "Owner"), "{job}: {report:?}");
    }
    assert_eq!(world.names(), before);
}

#[test]
fn no_access_key_is_ever_logged() {
    let world = World::new();
    let cloud = world.cloud(|deployment| deployment.variables.push(("COPAL_LOG".to_owned(), "debug".to_owned())));
    let client = world.register(1);
    world.upload(&client, b"letter");
    world.receipt(&client, 1);
    let secret = world.server.environment().into_iter().find(|(name, _)| *name == "AWS_SECRET_ACCESS_KEY").unwrap().1;
    let log = cloud.function("ingest").log();
    assert!(log.len() > 10, "so much is logged that the test means something");
    assert!(log.iter().all(|line| !line.contains(&secret)));
}

/// A bucket with the kit's repository in it.
struct World {
    server: Server,
    bucket: String,
    store: Arc<S3Store>,
    repository: Repository,
    entropy: SeededEntropy,
}

impl World {
    fn new() -> Self {
        let server = Server::start(Kind::Versity);
        let bucket = server.bucket();
        let store = Arc::new(server.store(&bucket, ""));
        let repository = Repository::new();
        block_on(repository.create(store.as_ref())).expect("the store takes it");
        Self { server, bucket, store, repository, entropy: SeededEntropy::new(5) }
    }

    /// Functions for it.
    fn cloud(&self, change: impl FnOnce(&mut Deployment)) -> Cloud {
        let mut variables: Vec<(String, String)> =
            self.server.environment().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let fingerprint = self.repository.owner.fingerprint().to_string();
        variables.push(("COPAL_OWNER_FINGERPRINT".to_owned(), fingerprint));
        let mut deployment = Deployment::new(&self.bucket, "", variables);
        change(&mut deployment);
        Cloud::start(&deployment, self.store.clone())
    }

    fn register(&self, number: u8) -> Client {
        block_on(self.repository.register(self.store.as_ref(), number, Role::Full)).expect("the store takes it")
    }

    /// A backup that leaves the decision to the functions.
    fn upload(&self, client: &Client, content: &[u8]) {
        let how = How { ingests: false, patience: 1, ..How::default() };
        let host = self.repository.host(self.store.as_ref(), &self.entropy);
        let result = block_on(client.back_up(&host, &files(content), &how));
        assert!(matches!(result, Ok(_) | Err(Failure::Patience { last: None })), "{result:?}");
    }

    /// The answer to a manifest, once it is there.
    fn receipt(&self, client: &Client, number: u64) -> Receipt {
        let name = layout::receipt(client.id, number);
        let bytes = until("the manifest is answered", || block_on(self.store.read(&key(&name))).ok());
        Receipt::decode(client.id, number, &bytes).expect("receipts can be read")
    }

    fn restore(&self, receipt: &Receipt) -> Tree {
        let view = block_on(view::read(self.store.as_ref())).expect("the state can be read");
        let snapshot = view.state.snapshots.values().find(|of| of.id == receipt.manifest.snapshot());
        let snapshot = snapshot.expect("the snapshot is known").clone();
        let reader = Reader::new(&self.repository);
        block_on(reader.restore(self.store.as_ref(), &view, &snapshot)).expect("the snapshot is whole")
    }

    fn has(&self, name: &str) -> bool {
        block_on(self.store.stat(&key(name))).expect("the store answers").is_some()
    }

    fn names(&self) -> Vec<String> {
        let listed = block_on(list_all(self.store.as_ref(), "")).expect("the store answers");
        listed.into_iter().map(|listed| listed.key.as_str().to_owned()).collect()
    }
}

fn files(content: &[u8]) -> Tree {
    tree([("a/letter", content), ("b/large", &content.repeat(300)[..])])
}

/// Waits until something is so.
fn until<T>(what: &str, is_it: impl FnMut() -> Option<T>) -> T {
    let mut is_it = is_it;
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = is_it() {
            return found;
        }
        assert!(Instant::now() < deadline, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
