//! A machine with a repository, in a temporary directory, used through the command as a person uses it.
#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const PASSPHRASE: &str = "correct horse";

/// A machine with a repository. Commands open it with a key file, which takes no time; unless told otherwise.
pub(crate) struct Machine {
    directory: TempDir,
}

/// What came of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Machine {
    /// A machine whose repository was just created. It is a copy: stretching a passphrase is slow, as it must be.
    pub(crate) fn new() -> Self {
        static FIRST: OnceLock<TempDir> = OnceLock::new();
        let first = FIRST.get_or_init(|| {
            let machine = Self::bare();
            machine.command(&["--key-file", "key", "init"]).env("COPAL_PASSWORD", PASSPHRASE).ran().ok();
            machine.directory
        });
        let machine = Self::bare();
        copy(first.path(), machine.directory.path());
        machine
    }

    /// A machine without a repository.
    pub(crate) fn bare() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    /// A path on this machine, without links.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    /// Writes a file, and the directories above it.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// A command that opens the repository with the key file.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).env("COPAL_KEY_FILE", self.path("key")).ran()
    }

    /// A command that opens the repository with this passphrase or recovery code.
    pub(crate) fn run_with(&self, secret: &str, arguments: &[&str]) -> Ran {
        self.command(arguments).env("COPAL_PASSWORD", secret).ran()
    }

    /// A command without any secret.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_copal"));
        command.args(arguments).current_dir(self.directory.path()).env_clear();
        command.env("HOME", self.path("home")).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("COPAL_REPOSITORY", "repository").env("COPAL_HOST", "laptop").env("TZ", "UTC");
        command
    }

    /// Saves `source` as a snapshot; gives its id.
    pub(crate) fn backup(&self, options: &[&str]) -> String {
        let ran = self.run(&[&["backup", "--json", "source"], options].concat());
        text(&ran.ok().json()["snapshot_id"])
    }

    /// The names of the repository's objects that begin so.
    pub(crate) fn objects(&self, prefix: &str) -> Vec<String> {
        let mut names = Vec::new();
        files_below(&self.path("repository"), &mut names);
        let root = self.path("repository");
        let name = |path: &PathBuf| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        let mut names: Vec<String> = names.iter().map(name).filter(|name| name.starts_with(prefix)).collect();
        names.sort();
        names
    }

    /// Changes a byte of an object behind everyone's back.
    pub(crate) fn damage(&self, object: &str, at: usize) {
        let path = self.path("repository").join(object);
        let mut bytes = fs::read(&path).unwrap();
        bytes[at] ^= 1;
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
        fs::set_permissions(&path, permissions).unwrap();
        fs::write(&path, bytes).unwrap();
    }

    /// Removes an object behind everyone's back.
    pub(crate) fn lose(&self, object: &str) {
        fs::remove_file(self.path("repository").join(object)).unwrap();
    }
}

/// Runs a command to its end.
pub(crate) trait Run {
    fn ran(&mut self) -> Ran;
}

impl Run for Command {
    fn ran(&mut self) -> Ran {
        let output = self.output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        Ran { code: output.status.code().unwrap_or(-1), out: output.stdout, err }
    }
}

impl Ran {
    /// Succeeded, and had nothing to say against it.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self}");
        self
    }

    /// Ended with this exit code.
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self}");
        self
    }

    /// The output as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.out.clone()).unwrap()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.text().lines().map(str::to_owned).collect()
    }

    /// The output as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.out).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// The output as one JSON object a line.
    pub(crate) fn rows(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The failure that a command told in JSON: its kind.
    pub(crate) fn kind(&self) -> String {
        let last = self.err.lines().last().unwrap_or_default();
        let failure: Value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {self}"));
        assert_eq!(failure["exit_code"], self.code, "{self}");
        text(&failure["kind"])
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit code {}\n{}\n{}", self.code, String::from_utf8_lossy(&self.out), self.err)
    }
}

/// A JSON value that must be text.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned()
}

/// A name that is no UTF-8.
pub(crate) fn odd_name() -> std::ffi::OsString {
    std::ffi::OsString::from_vec(b"odd\xff".to_vec())
}

fn files_below(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files_below(&path, files) } else { files.push(path) }
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
