//! Together: processes that back up, forget, prune and check one repository at once, none of which waits for another. No
//! snapshot that was reported is lost, nothing dangles, and nobody sees damage. `COPAL_ROUNDS=n` goes on for longer.

mod twice;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use crate::kit::{Image, Machine, Ran, Run, image, noise, text, texts};

/// Three machines, of which one has two jobs that overlap.
const JOBS: [&str; 4] = ["laptop", "laptop", "desktop", "server"];

#[test]
fn whatever_runs_at_once_no_snapshot_is_lost_and_nothing_dangles() {
    let place = Place { machine: Machine::new() };
    let rounds = std::env::var("COPAL_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().expect("a number"));
    let mut reported: BTreeMap<String, (PathBuf, BTreeMap<PathBuf, Image>)> = BTreeMap::new();
    let mut forgotten = BTreeSet::new();
    for round in 0..rounds {
        BTreeSet::from(JOBS).into_iter().for_each(|host| place.change(host, round));
        let ran = place.round();
        for (host, backup) in ran.backups {
            let source = place.source(host);
            let id = text(&backup.exits(0).json()["snapshot_id"]);
            let tree = image(&source);
            assert!(reported.insert(id, (source, tree)).is_none(), "every backup makes a snapshot of its own");
        }
        for (what, other) in ran.others {
            let other = other.exits(0);
            if what == "forget" {
                let rows = other.json()["snapshots"].as_array().unwrap().clone();
                forgotten.extend(rows.iter().filter(|row| row["keep"] == false).map(|row| text(&row["id"])));
            }
        }
    }
    let kept: BTreeSet<String> = texts(&place.machine.json(&["snapshots"]), "id").into_iter().collect();
    let expected = reported.keys().filter(|id| !forgotten.contains(*id)).cloned().collect();
    assert_eq!(kept, expected, "what was reported and not forgotten is there");
    assert!(!forgotten.is_empty(), "something was forgotten, so that prune had something to do");
    place.is_whole(&reported, &kept);
    // Now nobody else is about.
    place.machine.ok(&["prune", "--grace", "0s"]);
    place.is_whole(&reported, &kept);
}

struct Place {
    machine: Machine,
}

/// What came of the processes of a round.
struct Round {
    backups: Vec<(&'static str, Ran)>,
    others: Vec<(&'static str, Ran)>,
}

impl Place {
    fn source(&self, host: &str) -> PathBuf {
        self.machine.source(host)
    }

    /// Some of a source is new, some goes, some comes back, some is everybody's.
    fn change(&self, host: &str, round: u64) {
        let own = host.len() as u64 * 1_000;
        let write = |name: String, seed: u64| self.machine.write(&format!("{host}/{name}"), noise(seed, 60_000));
        write(format!("new {round}"), own + round);
        write("changing".into(), own + 100 + round);
        write("by turns".into(), own + 200 + round % 2);
        write("of all".into(), round / 2);
        if round >= 2 {
            fs::remove_file(self.source(host).join(format!("new {}", round - 2))).unwrap();
        }
    }

    fn run(&self, host: &str, arguments: &[&str]) -> Ran {
        let mut command = self.machine.with_key(arguments);
        command.env("COPAL_HOST", host).env("HOME", self.machine.path(&format!("home of {host}"))).ran()
    }

    /// Everything at once. The grace period is shorter than a slow backup takes, so that ingest has to refuse what prune
    /// has taken meanwhile.
    fn round(&self) -> Round {
        thread::scope(|scope| {
            let backup = |host: &'static str| (host, self.run(host, &["backup", "--json", &path(&self.source(host))]));
            let backups: Vec<_> = JOBS.iter().map(|&host| scope.spawn(move || backup(host))).collect();
            let acts: [&[&str]; 5] = [
                &["forget", "--json", "--keep-last", "3"],
                &["prune", "--grace", "1s", "--json"],
                &["check", "--read-data"],
                &["check", "--full"],
                &["ingest"],
            ];
            let others: Vec<_> = acts.map(|act| scope.spawn(move || (act[0], self.run("caretaker", act)))).into();
            Round {
                backups: backups.into_iter().map(|thread| thread.join().unwrap()).collect(),
                others: others.into_iter().map(|thread| thread.join().unwrap()).collect(),
            }
        })
    }

    fn is_whole(&self, reported: &BTreeMap<String, (PathBuf, BTreeMap<PathBuf, Image>)>, kept: &BTreeSet<String>) {
        self.machine.run(&["check", "--full"]).ok();
        for id in kept {
            let (source, tree) = &reported[id];
            self.machine.run(&["restore", &format!("{id}:{}", path(source)), "--target", "out"]).ok();
            assert!(image(&self.machine.path("out")) == *tree, "snapshot {id} of {source:?} is another tree");
            fs::remove_dir_all(self.machine.path("out")).unwrap();
        }
    }
}

fn path(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

const ROUNDS: u64 = 6;
