//! What `docs/recovery.md` tells an operator to do when something was lost or taken over in a deployment, done: the
//! functions, a real S3 server, and the command on machines.

use std::process::Stdio;
use std::time::Duration;

use copal_store::{Store, list_all};
use copal_tests::kit::key;
use copal_tests::kit::lambda::team::{Contents, PASSPHRASE, assert_same, restored};
use copal_tests::kit::lambda::world::until;
use copal_tests::kit::lambda::{Cloud, Faults, Outcome, Team};
use copal_tests::kit::machine::{Machine, contents};
use futures::executor::block_on;
use serde_json::{Value, json};

#[test]
fn a_lost_newest_root_stops_the_functions_until_a_rebuild_is_numbered_above_it() {
    let world = World::start();
    let one = world.save(&world.till, 1);
    let newest = world.names("roots/").remove(0);
    world.till.fill(2, 12);
    let two = world.upload(&world.till);
    world.destroy(&newest, 1);
    let report = world.cloud.run("reconcile");
    assert!(matches!(&report, Outcome::Error { kind, .. } if kind == "StateLost"), "{report:?}");
    world.owner.run(&["rebuild-index"]).unwrap();
    assert!(world.names("roots/")[0] < newest, "a higher number lists first");
    world.decide();
    world.is_whole(&[&one, &two]);
}

#[test]
fn lost_segments_state_runs_and_roots_stop_what_writes_until_the_owner_has_rebuilt_them() {
    for lost in [&["index/"][..], &["roots/", "index/", "state/"]] {
        let world = World::start();
        let (one, gone) = (world.save(&world.till, 1), world.save(&world.desk, 2));
        world.decided(&["forget", &gone.id], &world.desk);
        world.till.fill(3, 12);
        let two = world.upload(&world.till);
        lost.iter().for_each(|prefix| world.destroy(prefix, usize::MAX));
        let Outcome::Response(answer) = world.cloud.run("check") else { panic!("{lost:?}: the check ends") };
        assert_eq!(answer["ok"], json!(false), "{lost:?}");
        let before = world.names("");
        let report = world.cloud.run("prune");
        let Outcome::Error { kind, .. } = &report else { panic!("{lost:?}: {report:?}") };
        assert!(["StateLost", "Damaged"].contains(&kind.as_str()), "{lost:?}: {report:?}");
        assert_eq!(world.names(""), before, "{lost:?}: nothing is deleted on a state that is not whole");
        world.owner.run(&["rebuild-index"]).unwrap();

        // Everything goes on: what waited is decided, what was forgotten stays so, new snapshots are made.
        world.decide();
        for job in ["compact", "prune"] {
            let report = world.cloud.run(job);
            assert!(matches!(report, Outcome::Response(_)), "{lost:?}: {report:?}");
        }
        let three = world.save(&world.desk, 4);
        let Outcome::Response(answer) = world.cloud.run("check") else { panic!("{lost:?}: the check ends") };
        assert_eq!(answer["ok"], json!(true), "{lost:?}: {answer}");
        let listed = world.owner.run(&["snapshots", "--json"]).unwrap();
        assert!(listed.contains(&one.id) && !listed.contains(&gone.id), "{lost:?}: {listed}");
        world.is_whole(&[&one, &two, &three]);
    }
}

#[test]
fn a_deleted_pack_is_found_by_the_check_and_uploaded_again_by_a_machine_that_can_read_nothing() {
    let world = World::start();
    let one = world.save(&world.till, 1);
    let pack = world.largest_pack();
    world.destroy(&pack, 1);
    let Outcome::Response(answer) = world.cloud.run("check") else { panic!("the check ends") };
    assert_eq!(answer["ok"], json!(false));
    // The answer comes before the line is read that tells of it.
    let damage = || world.cloud.function("check").metrics().last().and_then(|line| line["Damage"].as_f64());
    until("the metrics tell of damage", || damage().filter(|found| *found > 0.0));
    assert!(world.owner.run(&["repair"]).is_err(), "it is still lost");

    // The same files, which have not changed since.
    let two = world.back_up(&world.till);
    assert_eq!(world.owner.run(&["repair"]).map(drop), Ok(()));
    world.is_whole(&[&one, &two]);
    // The function agrees with the command: no alarm, long before a prune has forgotten the pack.
    let Outcome::Response(answer) = world.cloud.run("check") else { panic!("the check ends") };
    assert_eq!((&answer["ok"], &answer["damage"]), (&json!(true), &json!(0)), "{answer}");
    until("the metrics tell of none", || damage().filter(|found| *found == 0.0));
}

#[test]
fn what_a_revoked_machine_uploads_is_rejected_and_what_it_saved_before_stays() {
    let world = World::start();
    let good = world.save(&world.till, 1);
    world.till.fill(2, 12);
    world.upload(&world.till);
    world.owner.run(&["client", "revoke", "till"]).unwrap();
    let report = world.cloud.run("reconcile");
    assert_eq!(report, Outcome::Response(json!({ "accepted": 0, "rejected": 1, "refused": 0 })));
    let told = world.owner.copal(&["status", "--json"]).output().unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert!(told["rejected"][0]["reasons"][0].as_str().unwrap().contains("revoked"), "{told}");
    let refused = world.till.run(&["backup", "files", "--no-wait"]).unwrap_err();
    assert!(refused.contains("revoked"), "{refused}");
    world.is_whole(&[&good]);

    // Set up anew it is another client, and what is on it is saved again.
    let anew = world.team.join(&world.owner, "till-2", "write-only", &world.cloud.gateway());
    let again = world.save(&anew, 3);
    world.is_whole(&[&good, &again]);
}

#[test]
fn what_a_full_machine_forgot_after_it_was_taken_over_comes_back() {
    let world = World::start();
    let (one, two) = (world.save(&world.till, 1), world.save(&world.desk, 2));
    world.decided(&["forget", &one.id, &two.id], &world.desk);
    world.owner.run(&["client", "revoke", "desk"]).unwrap();
    world.decided(&["undelete", &one.id, &two.id], &world.owner);
    world.cloud.run("prune");
    world.is_whole(&[&one, &two]);
}

#[test]
fn without_the_descriptor_no_function_works_until_the_owner_has_written_it_again() {
    let world = World::start();
    let one = world.save(&world.till, 1);
    world.destroy("copal/", usize::MAX);
    for job in ["reconcile", "prune", "check", "compact"] {
        let report = world.cloud.run(job);
        assert!(matches!(&report, Outcome::Error { kind, .. } if kind == "Owner"), "{job}: {report:?}");
    }
    world.owner.run(&["repair"]).unwrap();
    let two = world.save(&world.till, 2);
    world.is_whole(&[&one, &two]);
}

#[test]
fn a_lost_manifest_takes_its_snapshot_along_and_later_ones_count() {
    let world = World::start();
    let one = world.save(&world.till, 1);
    let two = world.save(&world.till, 2);
    let first = world.names("manifests/").into_iter().find(|name| name.ends_with(&format!("{:020}", 1))).unwrap();
    world.destroy(&first, 1);
    let Outcome::Response(answer) = world.cloud.run("check") else { panic!("the check ends") };
    assert_eq!(answer["ok"], json!(false));
    let three = world.save(&world.till, 3);
    // The code says that not all is well: one snapshot cannot even be listed.
    world.restores(&two, 4);
    world.restores(&three, 4);
    assert!(world.fresh().run(&["restore", &one.id, "--target", "out"]).is_err());
}

/// A deployment in which no event arrives, so that a test says when manifests are decided.
struct World {
    // First: what it runs uses the rest.
    cloud: Cloud,
    owner: Machine,
    till: Machine,
    desk: Machine,
    team: Team,
}

/// A snapshot and what it must hold.
struct Saved {
    id: String,
    files: std::path::PathBuf,
    contents: Contents,
}

impl World {
    /// With an owner who has access keys, and two machines behind the gateway: one can only save, one can do everything.
    fn start() -> Self {
        let team = Team::start();
        let cloud = team.cloud(|deployment| {
            deployment.faults = Faults { dropped: 1000, ..Faults::default() };
            deployment.timeout = Duration::from_secs(300);
        });
        let owner = team.machine("owner", PASSPHRASE, &team.address(), false);
        let till = team.join(&owner, "till", "write-only", &cloud.gateway());
        let desk = team.join(&owner, "desk", "full", &cloud.gateway());
        Self { cloud, owner, till, desk, team }
    }

    /// New files, saved and decided.
    fn save(&self, machine: &Machine, seed: u64) -> Saved {
        machine.fill(seed, 12);
        self.back_up(machine)
    }

    /// The files as they are, saved and decided.
    fn back_up(&self, machine: &Machine) -> Saved {
        let saved = self.upload(machine);
        self.decide();
        saved
    }

    /// Saved, and not decided.
    fn upload(&self, machine: &Machine) -> Saved {
        let told = machine.run(&["backup", "files", "--no-wait", "--json"]).unwrap();
        let told: Value = told.lines().filter_map(|line| serde_json::from_str(line).ok()).next_back().unwrap();
        let id = told["snapshot_id"].as_str().expect("a snapshot was made").to_owned();
        Saved { id, files: machine.files(), contents: contents(&machine.files()) }
    }

    /// Reconciliation finds what no event told of.
    fn decide(&self) {
        let report = self.cloud.run("reconcile");
        let Outcome::Response(answer) = &report else { panic!("{report:?}") };
        assert_eq!((&answer["rejected"], &answer["refused"]), (&json!(0), &json!(0)), "{report:?}");
    }

    /// A command that waits until the service has folded in what it decides.
    fn decided(&self, arguments: &[&str], machine: &Machine) {
        let mut running = machine.copal(arguments).stdout(Stdio::null()).spawn().expect("the command starts");
        while running.try_wait().expect("it is our process").is_none() {
            self.decide();
        }
        assert!(running.wait().expect("it is our process").success(), "{arguments:?}");
    }

    /// A machine that has never seen the repository, with the passphrase.
    fn fresh(&self) -> Machine {
        self.team.machine("fresh", PASSPHRASE, &self.team.address(), false)
    }

    fn is_whole(&self, snapshots: &[&Saved]) {
        snapshots.iter().for_each(|saved| self.restores(saved, 0));
        self.fresh().run(&["check", "--full"]).unwrap();
    }

    fn restores(&self, saved: &Saved, code: i32) {
        let fresh = self.fresh();
        let out = fresh.place("out");
        let ended = fresh.copal(&["restore", &saved.id, "--target", "out"]).output().expect("the command starts");
        assert_eq!(ended.status.code(), Some(code), "{}", String::from_utf8_lossy(&ended.stderr));
        assert_same(&saved.contents, &restored(&out, &saved.files));
    }

    fn names(&self, prefix: &str) -> Vec<String> {
        let listed = block_on(list_all(self.team.store.as_ref(), prefix)).expect("the store answers");
        listed.into_iter().map(|listed| listed.key.as_str().to_owned()).collect()
    }

    /// The largest pack of files.
    fn largest_pack(&self) -> String {
        let listed = block_on(list_all(self.team.store.as_ref(), "packs/")).expect("the store answers");
        let largest = listed.into_iter().max_by_key(|listed| listed.stat.length).expect("something was saved");
        largest.key.as_str().to_owned()
    }

    /// Deletes the first so many objects below a prefix.
    fn destroy(&self, prefix: &str, most: usize) {
        for name in self.names(prefix).into_iter().take(most) {
            block_on(self.team.store.delete(&key(&name))).expect("the store answers");
        }
    }
}
