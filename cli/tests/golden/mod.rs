//! The golden repository, written by an earlier version, is read, checked and written to by this one.

pub(crate) mod comparison;

use std::fs;
use std::path::{Path, PathBuf};

use crate::kit::listing::listing;
use crate::kit::{Machine, Ran, copy};
use comparison::{comparable, is_root, read};
use serde_json::Value;
use tempfile::TempDir;

#[test]
fn every_snapshot_is_restored_as_it_was_with_the_passphrase() {
    let place = Place::new();
    let snapshots = place.json("golden", &["snapshots"]);
    let snapshots = snapshots.as_array().unwrap();
    let newest = snapshots.last().expect("there are some");
    assert_eq!(snapshots.len(), 1 + fs::read_dir(golden("trees")).unwrap().count());
    for snapshot in snapshots {
        let id = snapshot["id"].as_str().unwrap();
        let tree = if snapshot == newest { golden("tree.json") } else { golden("trees").join(format!("{id}.json")) };
        place.restores("golden", id, &tree, snapshot["paths"][0].as_str().unwrap());
    }
}

#[test]
fn the_newest_snapshot_is_restored_with_the_recovery_code_and_with_the_key_file() {
    let place = Place::new();
    for file in ["recovery-code.txt", "key.txt"] {
        let secret = fs::read_to_string(golden(file)).unwrap();
        let snapshots = place.json(secret.trim(), &["snapshots"]);
        let newest = snapshots.as_array().unwrap().last().unwrap()["id"].as_str().unwrap();
        place.restores(secret.trim(), newest, &golden("tree.json"), "/golden");
    }
    assert_ne!(place.run("gold", &["snapshots"]).code, 0);
}

#[test]
fn every_byte_of_it_checks() {
    let place = Place::new();
    for depth in ["--read-data", "--full"] {
        let report = place.json("golden", &["check", depth]);
        assert_eq!(report["ok"], true, "{report}");
    }
}

#[test]
fn it_is_still_written_to() {
    let place = Place::new();
    let source = place.0.path("source");
    place.0.write("small", "small");
    place.0.write("large", vec![7; 300_000]);
    let before = listing(&source, ".");
    let ids: Vec<String> = (0..2)
        .map(|_| {
            let summary = place.json("golden", &["backup", source.to_str().unwrap()]);
            summary["snapshot_id"].as_str().expect("a snapshot is made").to_owned()
        })
        .collect();
    place.json("golden", &["forget", &ids[0]]);
    place.json("golden", &["prune", "--grace", "0s"]);
    let target = place.0.path("restored");
    let inside = format!("{}:{}", ids[1], source.display());
    place.json("golden", &["restore", &inside, "--target", target.to_str().unwrap()]);
    assert_eq!(listing(&target, "."), before);
    assert_eq!(place.json("golden", &["check", "--full"])["ok"], true);
}

/// A machine with a copy of the golden repository.
struct Place(Machine);

impl Place {
    fn new() -> Self {
        let machine = Machine::bare_on_disk();
        copy(&golden("repository"), &machine.path("repository"));
        Self(machine)
    }

    /// Restores a snapshot and compares it with a golden file.
    fn restores(&self, secret: &str, id: &str, tree: &Path, source: &str) {
        let target = TempDir::new_in(self.0.path("")).unwrap();
        // By number: the names may be those of other users here.
        self.json(secret, &["restore", id, "--numeric-owner", "--trust", "--target", target.path().to_str().unwrap()]);
        let expected = read(&fs::read_to_string(tree).unwrap());
        let found = listing(target.path(), source.strip_prefix('/').unwrap());
        // The top directory is the target, not what was backed up.
        let (expected, found) = (comparable(&expected[1..]), comparable(&found[1..]));
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected);
        }
        assert_eq!(found.len(), expected.len());
    }

    /// Runs a command that must succeed.
    fn json(&self, secret: &str, words: &[&str]) -> Value {
        let ran = self.run(secret, words);
        assert!(ran.code == 0 || (ran.code == PARTIAL && !is_root()), "{words:?}: {ran}");
        ran.json()
    }

    fn run(&self, secret: &str, words: &[&str]) -> Ran {
        let words = [words, &["--json"]].concat();
        if !secret.starts_with("copal-key-") {
            return self.0.run_with(secret, &words);
        }
        fs::write(self.0.path("key"), secret).unwrap();
        self.0.run(&words)
    }
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden").join(name)
}

/// How a command ends that could not do all it was asked.
const PARTIAL: i32 = 3;
