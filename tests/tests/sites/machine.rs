//! A machine whose repository is at an address, and what every such repository must stand.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use bytes::Bytes;
use copal_store::{Store, list_all};
use copal_tests::kit::Random;
use copal_tests::kit::folder::files;
use copal_tests::kit::s3::command;
use futures::executor::block_on;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Machine {
    place: TempDir,
    url: String,
    environment: Vec<(&'static str, String)>,
}

impl Machine {
    pub(crate) fn new(url: String, environment: Vec<(&'static str, String)>) -> Machine {
        Machine { place: tempfile::tempdir().expect("a temporary directory"), url, environment }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, length: usize, seed: u64) {
        let path = self.path("source").join(name);
        fs::create_dir_all(path.parent().expect("it lies in the source")).expect("a directory");
        let mut bytes = vec![0; length];
        Random::new(seed).fill(&mut bytes);
        fs::write(path, bytes).expect("a file");
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut run = Command::new(command());
        run.args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(self.environment.iter().map(|(name, value)| (*name, value.as_str())))
            .env("HOME", self.place.path())
            .env("COPAL_REPOSITORY", &self.url)
            .env("COPAL_KEY_FILE", self.path("key"))
            .env("COPAL_HOST", "tester")
            .env("COPAL_CACHE_DIR", self.path("cache"))
            .env("COPAL_STATE_DIR", self.path("state"))
            .stdin(Stdio::null());
        run
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the command runs")
    }

    pub(crate) fn copal(&self, arguments: &[&str]) -> String {
        done(&self.run(arguments), arguments)
    }

    pub(crate) fn init(&self) {
        done(&self.try_to_init(), &["init"]);
    }

    pub(crate) fn try_to_init(&self) -> Output {
        let key = self.path("key");
        let mut init = self.command(&["init", "--key-file", key.to_str().expect("UTF-8")]);
        init.env_remove("COPAL_KEY_FILE").env("COPAL_PASSWORD", "a passphrase");
        init.output().expect("the command runs")
    }

    pub(crate) fn backup(&self) -> Value {
        let source = self.path("source");
        let told = self.copal(&["--json", "backup", source.to_str().expect("UTF-8")]);
        serde_json::from_str(told.lines().last().unwrap_or_default()).expect("JSON")
    }

    /// The newest snapshot comes back as the source is now.
    pub(crate) fn restores(&self) {
        let (source, target) = (self.path("source"), self.path("out"));
        let whole = format!("latest:{}", source.display());
        self.copal(&["restore", &whole, "--target", target.to_str().expect("UTF-8")]);
        assert!(files(&target) == files(&source), "the newest snapshot is another tree");
        fs::remove_dir_all(target).expect("it is ours");
    }

    /// Everything that a repository in a directory does.
    pub(crate) fn goes_round(&self) {
        self.init();
        self.write("a/small", 5, 1);
        self.write("a/large", 9 << 20, 2);
        self.backup();
        self.restores();
        self.write("a/large", 1 << 20, 3);
        self.write("b/new", 100, 4);
        self.backup();
        let snapshots: Value = serde_json::from_str(&self.copal(&["--json", "snapshots"])).expect("JSON");
        assert_eq!(snapshots.as_array().map(Vec::len), Some(2), "{snapshots}");
        self.copal(&["check", "--full"]);
        self.copal(&["forget", "--keep-last", "1"]);
        self.copal(&["prune", "--grace", "0s"]);
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
        let source = self.path("source").display().to_string();
        let (backup, prune) = (["backup", source.as_str()], ["prune", "--grace", "0s"]);
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
                    done(&died, act);
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
    pub(crate) fn heals(&self, store: &impl Store) {
        for harm in ["delete", "alter"] {
            self.write("precious", 2 << 20, harm.len() as u64);
            self.backup();
            let packs = block_on(list_all(store, "packs/")).expect("list");
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

fn done(output: &Output, arguments: &[&str]) -> String {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "copal {arguments:?}: {}\n{told}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}
