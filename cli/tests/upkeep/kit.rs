//! A repository in a temporary directory, and the command run on it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

/// A directory with a source, a repository of it, and this machine's keys.
pub(crate) struct Place {
    directory: TempDir,
}

/// How a run of the command ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    /// An empty repository. Making one takes long, so it is made once and copied.
    pub(crate) fn new() -> Self {
        static EMPTY: OnceLock<Place> = OnceLock::new();
        EMPTY.get_or_init(Self::init).copy()
    }

    fn init() -> Self {
        let place = Self { directory: TempDir::new().unwrap() };
        let key = place.key();
        place.command(&["init", "--key-file", key.to_str().unwrap()]).env("COPAL_PASSWORD", "secret").success();
        place
    }

    /// The same in another directory.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self { directory: TempDir::new().unwrap() };
        for folder in ["repository", "state"] {
            copy_all(&self.path(folder), &copy.path(folder));
        }
        fs::copy(self.key(), copy.key()).unwrap();
        if self.path("source").is_dir() {
            copy_all(&self.path("source"), &copy.path("source"));
        }
        copy
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn key(&self) -> PathBuf {
        self.path("key")
    }

    /// Writes a file of the source.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path("source").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.path("source").join(name)).unwrap();
    }

    /// The command, with a key file: a passphrase would take long.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_copal"));
        command.current_dir(self.directory.path()).env_clear().env("TZ", "UTC").env("COPAL_HOST", "tester");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.directory.path());
        for (name, folder) in [("XDG_CACHE_HOME", "cache"), ("XDG_STATE_HOME", "state")] {
            command.env(name, self.path(folder));
        }
        command.arg("-r").arg(self.path("repository")).args(words);
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Run {
        let run = self.command(words).env("COPAL_KEY_FILE", self.key()).finish();
        assert!(!run.err.contains("panicked"), "{words:?}: {run:?}");
        run
    }

    /// Runs a command that must succeed; gives what it wrote.
    pub(crate) fn ok(&self, words: &[&str]) -> String {
        let run = self.run(words);
        assert_eq!(run.code, 0, "{words:?}: {run:?}");
        run.out
    }

    /// The same, with the first JSON value that it wrote.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        first_json(&self.ok(&[words, &["--json"]].concat()))
    }

    /// A run of check, whatever it finds.
    pub(crate) fn check(&self, words: &[&str]) -> (i32, Value) {
        let run = self.run(&[&["check", "--json"], words].concat());
        (run.code, if run.out.is_empty() { first_json(&run.err) } else { first_json(&run.out) })
    }

    /// Saves the source; gives the snapshot's id.
    pub(crate) fn backup(&self, words: &[&str]) -> String {
        let summary = self.json(&[&["backup", "source"], words].concat());
        summary["snapshot_id"].as_str().expect("a snapshot is made").to_owned()
    }

    /// The ids of the snapshots that are kept, the oldest first.
    pub(crate) fn snapshots(&self) -> Vec<String> {
        texts(&self.json(&["snapshots"]), "id")
    }

    /// Objects of the repository: name and content.
    pub(crate) fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        let mut objects = BTreeMap::new();
        gather(&self.path("repository"), "", &mut objects);
        objects.retain(|name, _| !name.starts_with("tmp/"));
        objects
    }

    /// Names of objects that begin so.
    pub(crate) fn names(&self, prefix: &str) -> Vec<String> {
        self.objects().into_keys().filter(|name| name.starts_with(prefix)).collect()
    }

    pub(crate) fn object(&self, name: &str) -> PathBuf {
        self.path("repository").join(name)
    }

    pub(crate) fn damage(&self, name: &str, harm: Harm) {
        let path = self.object(name);
        let mut bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        match harm {
            Harm::Delete => return,
            Harm::Truncate => bytes.truncate(bytes.len() / 2),
            Harm::Flip => {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 0x10;
            }
        }
        fs::write(path, bytes).unwrap();
    }
}

/// What may happen to an object.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Harm {
    Delete,
    Truncate,
    Flip,
}

trait Finish {
    fn finish(&mut self) -> Run;

    fn success(&mut self) {
        let run = self.finish();
        assert_eq!(run.code, 0, "{run:?}");
    }
}

impl Finish for Command {
    fn finish(&mut self) -> Run {
        let output = self.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code().expect("no signal"), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// One field of every element of an array.
pub(crate) fn texts(array: &Value, field: &str) -> Vec<String> {
    array.as_array().unwrap().iter().map(|value| value[field].as_str().unwrap().to_owned()).collect()
}

/// Bytes that do not compress, always the same for a seed.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| step()).collect()
}

fn first_json(text: &str) -> Value {
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    values.next().expect("a JSON value").unwrap_or_else(|error| panic!("{error} in {text}"))
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_all(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn gather(directory: &Path, prefix: &str, into: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            gather(&entry.path(), &format!("{name}/"), into);
        } else {
            into.insert(name, fs::read(entry.path()).unwrap());
        }
    }
}
