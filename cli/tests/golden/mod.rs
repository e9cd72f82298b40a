//! The golden repository, written by an earlier version, is read, checked and written to by this one.

pub(crate) mod comparison;
pub(crate) mod listing;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::kit::copy;
use comparison::{comparable, is_root, read};
use listing::listing;
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
    assert_ne!(place.run("gold", &["snapshots"]).0, 0);
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
    let source = place.path("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("small"), "small").unwrap();
    fs::write(source.join("large"), vec![7; 300_000]).unwrap();
    let before = listing(&source, ".");
    let ids: Vec<String> = (0..2)
        .map(|_| {
            let summary = place.json("golden", &["backup", source.to_str().unwrap()]);
            summary["snapshot_id"].as_str().expect("a snapshot is made").to_owned()
        })
        .collect();
    place.json("golden", &["forget", &ids[0]]);
    place.json("golden", &["prune", "--grace", "0s"]);
    let target = place.path("restored");
    let inside = format!("{}:{}", ids[1], source.display());
    place.json("golden", &["restore", &inside, "--target", target.to_str().unwrap()]);
    assert_eq!(listing(&target, "."), before);
    assert_eq!(place.json("golden", &["check", "--full"])["ok"], true);
}

/// A copy of the golden repository, and what a machine keeps beside it.
struct Place {
    directory: TempDir,
}

impl Place {
    /// Below the target directory: what is there for temporary files may lack extended attributes.
    fn new() -> Self {
        let place = Self { directory: TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap() };
        copy(&golden("repository"), &place.path("repository"));
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Restores a snapshot and compares it with a golden file.
    fn restores(&self, secret: &str, id: &str, tree: &Path, source: &str) {
        let target = TempDir::new_in(self.directory.path()).unwrap();
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
        let (code, out, err) = self.run(secret, words);
        assert!(code == 0 || (code == PARTIAL && !is_root()), "{words:?}: {code}: {out}{err}");
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }

    fn run(&self, secret: &str, words: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_copal"));
        command.current_dir(self.directory.path()).env_clear().env("TZ", "UTC").env("COPAL_HOST", "tester");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.directory.path());
        if secret.starts_with("copal-key-") {
            fs::write(self.path("key"), secret).unwrap();
            command.env("COPAL_KEY_FILE", self.path("key"));
        } else {
            command.env("COPAL_PASSWORD", secret);
        }
        let output = command.arg("-r").arg(self.path("repository")).arg("--json").args(words).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().expect("no signal"), text(output.stdout), text(output.stderr))
    }
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden").join(name)
}

/// How a command ends that could not do all it was asked.
const PARTIAL: i32 = 3;
