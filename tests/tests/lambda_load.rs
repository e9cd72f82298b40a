//! Load: many clients at once, over MinIO, whose own notifications reach ingest: twice, late, in another order, or never.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use copal_format::receipt::Outcome as Decision;
use copal_tests::kit::Client;
use copal_tests::kit::lambda::world::{files, until};
use copal_tests::kit::lambda::{Cloud, Faults, Outcome, Webhook, World};
use copal_tests::kit::s3::Server;
use serde_json::json;

#[test]
fn what_minio_tells_leads_to_every_decision_whatever_becomes_of_it_on_the_way() {
    let webhook = Arc::new(Webhook::bind());
    let world = World::on(Server::telling(webhook.address()), FOLDER);
    world.server.notify(&world.bucket, &["manifests/", "changes/"].map(|folder| format!("{FOLDER}/{folder}")));
    let cloud = world.cloud(|deployment| {
        deployment.webhook = Some(webhook.clone());
        deployment.timeout = Duration::from_secs(300);
        deployment.faults = Faults {
            seed: 21,
            dropped: 150,
            duplicated: 300,
            delayed: 300,
            delay: Duration::from_millis(700),
            reorders: true,
        };
    });
    let clients: Vec<Client> = (1..=CLIENTS).map(|number| world.register(number)).collect();

    let started = Instant::now();
    thread::scope(|scope| {
        for client in &clients {
            scope.spawn(|| (1..=ROUNDS).for_each(|round| world.upload(client, &content(client, round))));
        }
    });
    let uploaded = started.elapsed();
    let manifests = u64::from(CLIENTS) * u64::from(ROUNDS);
    until("the server has told of every manifest", || (webhook.told() >= manifests).then_some(()));
    until("the queue is worked off", || cloud.queue().is_empty().then_some(()));
    let happened = cloud.queue().happened();
    let each = [happened.dropped, happened.duplicated, happened.delayed, happened.reordered];
    assert!(each.iter().all(|count| *count > 0), "{happened:?}");
    reconcile(&cloud);

    for client in &clients {
        for round in 1..=ROUNDS {
            assert_eq!(world.receipt(client, round.into()).outcome, Decision::Accepted, "{} {round}", client.id);
        }
        let last = world.receipt(client, ROUNDS.into());
        assert_eq!(world.restore(&last), files(&content(client, ROUNDS)));
    }
    println!(
        "{manifests} manifests of {CLIENTS} clients uploaded in {uploaded:.1?}, decided after {:.1?}; {} events told, \
         {happened:?}, {} invocations of ingest",
        started.elapsed(),
        webhook.told(),
        cloud.function("ingest").metrics().len()
    );
    assert_eq!(cloud.queue().dead().len(), 0);
    let report = cloud.run("check");
    assert!(matches!(&report, Outcome::Response(answer) if answer["ok"] == json!(true)), "{report:?}");
}

/// Looks for what no event told of, until there is nothing.
fn reconcile(cloud: &Cloud) {
    let nothing = Outcome::Response(json!({ "accepted": 0, "rejected": 0, "refused": 0 }));
    until("everything is decided", || (cloud.run("reconcile") == nothing).then_some(()));
}

fn content(client: &Client, round: u8) -> [u8; 2] {
    [round, client.id.0[0]]
}

const FOLDER: &str = "our/team";
const CLIENTS: u8 = 12;
const ROUNDS: u8 = 8;
