//! A machine with a repository, in a temporary directory, used through the command as a person uses it.

pub(crate) mod listing;
mod ran;
mod running;
mod small;
mod terminal;
mod tree;
mod volume;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

pub(crate) use ran::{Ran, Run, run_by};
pub(crate) use running::{Running, signal, until, wait};
pub(crate) use small::tiny_packs;
pub(crate) use tree::{Image, assert_same, files, image, name, set_xattr};
pub(crate) use volume::{Volume, needs_root};

pub(crate) const PASSPHRASE: &str = "correct horse";
/// The program.
pub(crate) const COPAL: &str = env!("CARGO_BIN_EXE_copal");

/// A machine with a repository. Commands open it with a key file, which takes no time; unless told otherwise.
pub(crate) struct Machine {
    directory: TempDir,
}

/// What may happen to an object.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Harm {
    Delete,
    Truncate,
    Flip,
}

impl Machine {
    /// A machine whose repository was just created. It is a copy: stretching a passphrase is slow, as it must be.
    pub(crate) fn new() -> Self {
        static FIRST: OnceLock<TempDir> = OnceLock::new();
        let first = FIRST.get_or_init(|| {
            let machine = Self::bare();
            machine.init(&[]).ok();
            machine.directory
        });
        let machine = Self::bare();
        copy(first.path(), machine.directory.path());
        machine
    }

    /// A machine with a repository, and with these files in its source.
    pub(crate) fn with<'a>(files: impl IntoIterator<Item = (&'a str, impl AsRef<[u8]>)>) -> Self {
        let machine = Self::new();
        files.into_iter().for_each(|(name, content)| machine.write(name, content));
        machine
    }

    /// The same, which has saved them.
    pub(crate) fn saved<'a>(files: impl IntoIterator<Item = (&'a str, impl AsRef<[u8]>)>) -> Self {
        let machine = Self::with(files);
        machine.backup(&[]);
        machine
    }

    /// A machine without a repository, and with nothing in its source.
    pub(crate) fn bare() -> Self {
        Self::within(tempfile::tempdir().unwrap())
    }

    /// The same below the target directory: what is there for temporary files may lack extended attributes.
    pub(crate) fn bare_on_disk() -> Self {
        Self::within(TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    fn within(directory: TempDir) -> Self {
        let machine = Self { directory };
        fs::create_dir_all(machine.path("source")).unwrap();
        machine
    }

    /// Makes the repository, and the key file that opens it.
    pub(crate) fn init(&self, options: &[&str]) -> Ran {
        let init = [&["--key-file", "key", "init"], options].concat();
        self.command(&init).env("COPAL_PASSWORD", PASSPHRASE).ran()
    }

    /// Puts a policy in force.
    pub(crate) fn set_policy(&self, text: &str) {
        fs::write(self.path("policy.toml"), text).unwrap();
        self.ok(&["policy", "set", "policy.toml"]);
    }

    /// The directory that everything of it lies in.
    pub(crate) fn into_directory(self) -> TempDir {
        self.directory
    }

    /// The same machine once more, with all that is there.
    pub(crate) fn copy(&self) -> Self {
        let machine = Self::bare();
        copy(self.directory.path(), machine.directory.path());
        machine
    }

    /// A path on this machine, without links.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    /// A path in the source.
    pub(crate) fn source(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path("source").join(name)
    }

    /// Puts a pipe with a name into the source.
    pub(crate) fn fifo(&self) {
        rustix::fs::mknodat(rustix::fs::CWD, self.source("fifo"), rustix::fs::FileType::Fifo, 0o640.into(), 0).unwrap();
    }

    /// The source, as a place in the latest snapshot.
    pub(crate) fn whole(&self) -> String {
        format!("latest:{}", self.path("source").display())
    }

    /// Writes a file of the source, and the directories above it.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.source(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Removes a file of the source.
    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.source(name)).unwrap();
    }

    /// A command that opens the repository with the key file.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.with_key(arguments).ran()
    }

    /// The same, which must succeed; gives what it wrote.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        self.run(arguments).ok().text()
    }

    /// The same, with `--json`; gives the first value that it wrote.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        first_json(&self.ok(&[arguments, &["--json"]].concat()))
    }

    /// A command that opens the repository with this passphrase or recovery code.
    pub(crate) fn run_with(&self, secret: &str, arguments: &[&str]) -> Ran {
        self.command(arguments).env("COPAL_PASSWORD", secret).ran()
    }

    /// A command with the key file, not yet run.
    pub(crate) fn with_key(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        command.env("COPAL_KEY_FILE", self.path("key"));
        command
    }

    /// A command without any secret.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(COPAL);
        command.args(arguments).current_dir(self.directory.path()).env_clear();
        command.env("HOME", self.path("home")).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("COPAL_REPOSITORY", "repository").env("COPAL_HOST", "laptop").env("TZ", "UTC");
        command
    }

    /// Saves `source` as a snapshot; gives its id.
    pub(crate) fn backup(&self, options: &[&str]) -> String {
        text(&self.json(&[&["backup", "source"], options].concat())["snapshot_id"])
    }

    /// `restore` of the source into `out`, with more options.
    pub(crate) fn restore(&self, options: &[&str]) -> Ran {
        self.run(&[&["restore", "--json", &self.whole(), "-t", "out"], options].concat())
    }

    /// A run of check, whatever it finds.
    pub(crate) fn check(&self, options: &[&str]) -> (i32, Value) {
        let ran = self.run(&[&["check", "--json"], options].concat());
        let last = ran.err.lines().last().unwrap_or_default();
        let out = ran.text();
        (ran.code, first_json(if out.is_empty() { last } else { &out }))
    }

    /// The ids of the snapshots that are kept, the oldest first.
    pub(crate) fn snapshots(&self) -> Vec<String> {
        self.snapshots_that(&[])
    }

    /// The ids of the snapshots that `snapshots` lists with these options.
    pub(crate) fn snapshots_that(&self, options: &[&str]) -> Vec<String> {
        texts(&self.json(&[&["snapshots"], options].concat()), "id")
    }

    /// Objects of the repository: name and content.
    pub(crate) fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        self.objects_of("repository")
    }

    /// Objects of a repository in this directory: name and content.
    pub(crate) fn objects_of(&self, directory: &str) -> BTreeMap<String, Vec<u8>> {
        let mut objects = BTreeMap::new();
        gather(&self.path(directory), "", &mut objects);
        objects
    }

    /// Names of the repository's objects that begin so.
    pub(crate) fn names(&self, prefix: &str) -> Vec<String> {
        self.objects().into_keys().filter(|name| name.starts_with(prefix)).collect()
    }

    /// How many client records there are, second copies not counted.
    pub(crate) fn records(&self) -> usize {
        self.names("clients/").iter().filter(|name| !name.ends_with(".b")).count()
    }

    /// Where an object lies.
    pub(crate) fn object(&self, name: &str) -> PathBuf {
        self.path("repository").join(name)
    }

    /// The packs of clients that hold data (0) or pages (1), the largest first.
    pub(crate) fn packs(&self, kind: u8) -> Vec<String> {
        let is_one = |(name, bytes): &(String, Vec<u8>)| name.starts_with("packs/") && bytes[9] == kind;
        let mut packs: Vec<_> = self.objects().into_iter().filter(is_one).collect();
        packs.sort_by_key(|(_, bytes)| std::cmp::Reverse(bytes.len()));
        packs.into_iter().map(|(name, _)| name).collect()
    }

    /// Harms an object behind everyone's back.
    pub(crate) fn damage(&self, object: &str, harm: Harm) {
        let mut bytes = fs::read(self.object(object)).unwrap();
        match harm {
            Harm::Delete => return fs::remove_file(self.object(object)).unwrap(),
            Harm::Truncate => bytes.truncate(bytes.len() / 2),
            Harm::Flip => {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 0x10;
            }
        }
        self.replace(object, &bytes);
    }

    /// Loses all that `rebuild-index` makes again.
    pub(crate) fn lose_index(&self) {
        for folder in ["roots", "state", "index"] {
            fs::remove_dir_all(self.object(folder)).unwrap();
        }
    }

    /// Changes one byte of an object behind everyone's back.
    pub(crate) fn flip(&self, object: &str, at: usize) {
        let mut bytes = fs::read(self.object(object)).unwrap();
        bytes[at] ^= 1;
        self.replace(object, &bytes);
    }

    /// A file that the machine keeps of the repository.
    pub(crate) fn kept(&self, name: &str) -> PathBuf {
        let kept = files(&self.path("home/.local/state/copal"));
        kept.into_iter().find(|file| file.ends_with(name)).unwrap_or_else(|| panic!("no {name} is kept"))
    }

    /// Puts other bytes in an object's place.
    pub(crate) fn replace(&self, object: &str, bytes: &[u8]) {
        let _ = fs::remove_file(self.object(object));
        fs::create_dir_all(self.object(object).parent().unwrap()).unwrap();
        fs::write(self.object(object), bytes).unwrap();
    }
}

/// A JSON value that must be text.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned()
}

/// One field of every element of an array.
pub(crate) fn texts(array: &Value, field: &str) -> Vec<String> {
    array.as_array().unwrap().iter().map(|value| text(&value[field])).collect()
}

/// A number of a command's JSON result.
#[track_caller]
pub(crate) fn number(ran: &Ran, field: &str) -> u64 {
    ran.json()[field].as_u64().unwrap_or_else(|| panic!("{field} in {ran}"))
}

/// Bytes that do not repeat and do not compress, always the same for a seed.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| next()).collect()
}

pub(crate) fn first_json(text: &str) -> Value {
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    values.next().expect("a JSON value").unwrap_or_else(|error| panic!("{error} in {text}"))
}

fn gather(directory: &Path, prefix: &str, into: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if name == "tmp" {
            // What is not finished comes and goes.
        } else if entry.file_type().unwrap().is_dir() {
            gather(&entry.path(), &format!("{name}/"), into);
        } else {
            into.insert(name, fs::read(entry.path()).unwrap());
        }
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
