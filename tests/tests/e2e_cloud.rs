//! Everything at once, with real processes: machines that save through the gateway, the functions, a real S3 server; and
//! what goes wrong with them.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use copal_store::list_all;
use copal_store::s3::S3Store;
use copal_tests::kit::lambda::team::{Contents, PASSPHRASE, assert_same, restored};
use copal_tests::kit::lambda::world::until;
use copal_tests::kit::lambda::{Faults, Outcome, Team};
use copal_tests::kit::machine::{Machine, contents};
use futures::executor::block_on;
use serde_json::{Value, json};

#[test]
fn three_clients_save_while_everything_fails_and_every_snapshot_restores() {
    let mut team = Team::start();
    let cloud = team.cloud(|deployment| {
        deployment.faults = Faults {
            seed: 11,
            dropped: 200,
            duplicated: 200,
            delayed: 200,
            delay: Duration::from_millis(500),
            reorders: true,
        };
        deployment.schedules = vec![
            ("reconcile", Duration::from_secs(2)),
            ("prune", Duration::from_secs(3)),
            ("check", Duration::from_secs(4)),
            ("compact", Duration::from_secs(5)),
        ];
    });
    let gateway = cloud.gateway();
    let owner = team.machine("owner", PASSPHRASE, &gateway, true);
    std::fs::write(
        owner.place("policy.toml"),
        "keep-last = 100\ntimezone = \"\"\ngrace = \"2s\"\ncheck-share = \"1/2\"\n",
    )
    .unwrap();
    owner.run(&["policy", "set", "policy.toml"]).unwrap();

    let laptop = team.join(&owner, "laptop", "full", &gateway);
    let desk = team.join(&owner, "desk", "full", &gateway);
    let till = team.join(&owner, "till", "write-only", &gateway);
    let machines = [&laptop, &desk, &till];

    // Each saves three times; meanwhile the jobs run on their schedules.
    let store = team.store.clone();
    let store = store.as_ref();
    let saved: Vec<BTreeMap<String, Contents>> = thread::scope(|scope| {
        let works = machines.iter().zip(0..).map(|(machine, number)| scope.spawn(move || save(machine, store, number)));
        let works: Vec<_> = works.collect();
        // One ingest dies in the middle of its work, and the store goes away for a while.
        let deadline = Instant::now() + Duration::from_secs(240);
        let mut killed = false;
        while !killed && Instant::now() < deadline {
            killed = cloud.function("ingest").kill_one();
            thread::sleep(Duration::from_millis(5));
        }
        assert!(killed, "no ingest was caught at work");
        team.server.stop();
        thread::sleep(Duration::from_secs(1));
        team.server.restart();
        works.into_iter().map(|work| work.join().expect("a client ends well")).collect()
    });

    // What was dropped on the way is found, and everything is decided.
    until("everything is decided", || {
        let report = cloud.run("reconcile");
        (report == Outcome::Response(json!({ "accepted": 0, "rejected": 0, "refused": 0 }))).then_some(())
    });

    // A machine that was never there, with the passphrase and nothing else.
    let fresh = team.machine("fresh", PASSPHRASE, &team.address(), false);
    let listed: BTreeSet<String> = ids(&fresh.run(&["snapshots", "--json"]).unwrap());
    for (machine, snapshots) in machines.iter().zip(&saved) {
        assert_eq!(snapshots.len(), 3);
        for (id, contents) in snapshots {
            assert!(listed.contains(id), "{id} is listed");
            let out = fresh.place(&format!("out-{id}"));
            fresh.run(&["restore", id, "--target", out.to_str().unwrap()]).unwrap();
            assert_same(contents, &restored(&out, &machine.files()));
            std::fs::remove_dir_all(out).unwrap();
        }
    }
    fresh.run(&["check", "--full"]).unwrap();

    // Once the grace period is over nothing lies there that nothing refers to.
    fresh.run(&["forget", saved[0].keys().next().unwrap()]).unwrap();
    for _ in 0..2 {
        team.age(Duration::from_secs(9 * 24 * 3600));
        thread::sleep(Duration::from_millis(2100));
        let report = cloud.run("prune");
        assert!(matches!(report, Outcome::Response(_)), "{report:?}");
    }
    assert_eq!(team.orphans(), BTreeSet::new());
    let report = cloud.run("check");
    assert!(matches!(&report, Outcome::Response(answer) if answer["ok"] == json!(true)), "{report:?}");
    fresh.run(&["check", "--full"]).unwrap();
}

/// Saves three versions of a machine's files; gives what each snapshot must hold. The first run of one machine is killed.
fn save(machine: &Machine, store: &S3Store, number: u64) -> BTreeMap<String, Contents> {
    let mut saved = BTreeMap::new();
    for round in 0..3 {
        machine.fill(number * 100 + round, 40 + 10 * round as usize);
        if number == 1 && round == 1 {
            kill_a_backup(machine, store);
        }
        let arguments = ["backup", "files", "--json"];
        // The store may be away for longer than a client is patient.
        let mut last = String::new();
        let told = until("the backup is accepted", || match machine.run(&arguments) {
            Ok(told) => Some(told),
            Err(why) => {
                if why != last {
                    println!("round {round} of machine {number}: {why}");
                }
                last = why;
                None
            }
        });
        let told: Value = told.lines().filter_map(|line| serde_json::from_str(line).ok()).next_back().unwrap();
        let id = told["snapshot_id"].as_str().expect("a snapshot was made").to_owned();
        saved.insert(id, contents(&machine.files()));
    }
    saved
}

/// Kills a backup while it works: when it, or another one, has just stored a pack.
fn kill_a_backup(machine: &Machine, store: &S3Store) {
    let packs = || block_on(list_all(store, "packs/")).map_or(0, |listed| listed.len());
    let before = packs();
    let mut backup = machine.copal(&["backup", "files", "--quiet"]);
    let mut backup = backup.spawn().expect("the command starts");
    until("a pack is stored", || {
        let has_ended = backup.try_wait().expect("it is our process").is_some();
        (has_ended || packs() > before).then_some(())
    });
    // It may have come to its end.
    let _ = backup.kill();
    backup.wait().expect("it is our process");
}

fn ids(listing: &str) -> BTreeSet<String> {
    let rows: Vec<Value> = match serde_json::from_str(listing) {
        Ok(Value::Array(rows)) => rows,
        _ => listing.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
    };
    rows.iter().filter_map(|row| row["id"].as_str().map(str::to_owned)).collect()
}
