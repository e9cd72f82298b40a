//! A machine whose repository is at an address, and what every such repository must stand.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use bytes::Bytes;
use copal_store::retry::{Backoff, Retry, ThreadPause};
use copal_store::{Store, list_all};
use copal_tests::kit::Random;
use copal_tests::kit::machine::{self, contents, succeeded};
use futures::executor::block_on;
use serde_json::Value;

pub(crate) struct Machine(machine::Machine);

impl Machine {
    pub(crate) fn new(url: &str, environment: impl IntoIterator<Item = (&'static str, String)>) -> Machine {
        let variables: Vec<_> = environment.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Machine(machine::Machine::new("tester", url, &variables))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.place(name)
    }

    pub(crate) fn write(&self, name: &str, length: usize, seed: u64) {
        let path = self.0.files().join(name);
        fs::create_dir_all(path.parent().expect("it lies in the source")).expect("a directory");
        let mut bytes = vec![0; length];
        Random::new(seed).fill(&mut bytes);
        fs::write(path, bytes).expect("a file");
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.0.copal(arguments);
        command.env("COPAL_KEY_FILE", self.path("key"));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the command runs")
    }

    pub(crate) fn copal(&self, arguments: &[&str]) -> String {
        done(self.run(arguments), arguments)
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let told = self.copal(&[arguments, &["--json"]].concat());
        serde_json::from_str(told.lines().last().unwrap_or_default()).expect("JSON")
    }

    /// Makes the repository and a key file; gives what is told.
    pub(crate) fn init(&self, options: &[&str]) -> String {
        done(self.try_to_init(options), &["init"])
    }

    pub(crate) fn try_to_init(&self, options: &[&str]) -> Output {
        let mut init = self.command(&[&["init", "--key-file", "key"], options].concat());
        init.env_remove("COPAL_KEY_FILE").env("COPAL_PASSWORD", "a passphrase");
        init.output().expect("the command runs")
    }

    pub(crate) fn backup(&self) -> Value {
        self.json(&["backup", "files"])
    }

    /// The newest snapshot comes back as the source is now.
    pub(crate) fn restores(&self) {
        let (files, target) = (self.0.files(), self.path("out"));
        self.copal(&["restore", &format!("latest:{}", files.display()), "--target", "out"]);
        assert!(contents(&target) == contents(&files), "the newest snapshot is another tree");
        fs::remove_dir_all(target).expect("it is ours");
    }

    /// Everything that a repository in a directory does.
    pub(crate) fn goes_round(&self) {
        self.init(&[]);
        self.write("a/small", 5, 1);
        self.write("a/large", 9 << 20, 2);
        self.backup();
        self.restores();
        self.write("a/large", 1 << 20, 3);
        self.write("b/new", 100, 4);
        self.backup();
        let snapshots = self.json(&["snapshots"]);
        assert_eq!(snapshots.as_array().map(Vec::len), Some(2), "{snapshots}");
        let older = format!("{}:{}/a/large", snapshots[0]["id"].as_str().expect("a text"), self.0.files().display());
        self.copal(&["restore", &older, "--target", "older"]);
        assert_eq!(fs::metadata(self.path("older/large")).expect("it is restored").len(), 9 << 20);
        self.copal(&["check", "--full"]);
        self.copal(&["forget", "--keep-last", "1"]);
        let stored = || self.json(&["stats"])["stored_bytes"].as_u64().expect("a number");
        let before = stored();
        let pruned = self.json(&["prune", "--grace", "0s"]);
        assert!(pruned["bytes_freed"].as_u64() > Some(8 << 20), "{pruned}");
        assert!(stored() + (8 << 20) < before, "it is gone from the store");
        self.copal(&["check", "--full"]);
        self.forgets_all_but_its_key();
        self.restores();
    }

    pub(crate) fn forgets_all_but_its_key(&self) {
        for folder in ["cache", "state"] {
            fs::remove_dir_all(self.path(folder)).expect("it is ours");
        }
    }

    /// Backups and prunes die at some of their points; the next run goes on, and nothing is lost.
    pub(crate) fn survives_kills(&self) {
        let (backup, prune) = (["backup", "files"], ["prune", "--grace", "0s"]);
        for act in [&backup[..], &prune[..]] {
            let (mut at, mut seed) = (1, 100);
            loop {
                seed += 1;
                self.write("changing", 300_000, seed);
                if act == prune {
                    self.backup();
                    self.copal(&["forget", "--keep-last", "1"]);
                }
                let died = self.command(act).env("COPAL_DIE_AT", at.to_string()).output().expect("the command runs");
                self.copal(&["check", "--full"]);
                self.backup();
                self.restores();
                if died.status.code().is_some() {
                    done(died, act);
                    break;
                }
                // Ever farther apart, so that no run needs many.
                at = 2 * at + 4;
            }
            assert!(at > 5, "it had no points to die at");
        }
        self.copal(&prune);
        self.copal(&["check", "--full"]);
    }

    /// The largest pack is gone, then another has other bytes: check says so, and the next backup heals it.
    pub(crate) fn heals(&self, store: impl Store) {
        // A server may close a connection that is about to be used again.
        let store = Retry::new(store, Backoff::default(), ThreadPause);
        for harm in ["delete", "alter"] {
            self.write("precious", 2 << 20, harm.len() as u64);
            self.backup();
            let packs = block_on(list_all(&store, "packs/")).expect("list");
            let largest = packs.into_iter().max_by_key(|pack| pack.stat.length).expect("there are packs").key;
            let mut bytes = block_on(store.read(&largest)).expect("read").to_vec();
            block_on(store.delete(&largest)).expect("delete");
            if harm == "alter" {
                bytes[1_000] ^= 1;
                block_on(store.create(&largest, Bytes::from(bytes))).expect("create");
            }
            let told = self.run(&["check", "--full"]);
            assert!(!told.status.success(), "{harm}: {told:?}");
            self.backup();
            self.restores();
        }
    }
}

fn done(output: Output, arguments: &[&str]) -> String {
    succeeded(arguments, output).unwrap_or_else(|told| panic!("{told}"))
}
