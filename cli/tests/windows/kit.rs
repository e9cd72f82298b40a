//! A machine with a repository that both commands use. Wine shows the file system of this machine as drive Z.

use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Machine {
    directory: TempDir,
}

/// What came of a program.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let machine = Self { directory: TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap() };
        fs::create_dir(machine.path("source")).unwrap();
        machine
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn source(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path("source").join(name)
    }

    /// The source as a place in the latest snapshot, whichever command made it.
    pub(crate) fn whole(&self) -> String {
        let listed = self.linux(&["snapshots", "--json"]).json();
        let last = listed.as_array().and_then(|all| all.last()).unwrap();
        format!("latest:{}", last["paths"][0].as_str().unwrap())
    }

    pub(crate) fn write(&self, name: &str, content: &[u8]) {
        let path = self.source(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// A file that is a hole and a few bytes.
    pub(crate) fn sparse(&self, name: &str, hole: u64, end: &[u8]) {
        File::create(self.source(name)).unwrap().write_all_at(end, hole).unwrap();
    }

    /// Gives each entry of the source a time that Windows can keep.
    pub(crate) fn touch_all(&self) {
        let time = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_700);
        let mut paths: Vec<PathBuf> = files(&self.source("")).into_keys().map(|path| self.source(path)).collect();
        paths.push(self.source(""));
        for path in paths {
            File::open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
        }
    }

    /// Runs `copal.exe`.
    pub(crate) fn windows(&self, words: &[&str]) -> Ran {
        let program = std::env::var("COPAL_EXE").expect("cargo xtask windows names it");
        let mut command = Command::new("wine");
        command.arg(program);
        self.ran(command, words, &windows_path(&self.path("repository")), "windows", |path| windows_path(&path))
    }

    /// Runs another program of Windows.
    pub(crate) fn wine(&self, words: &[&str]) -> Ran {
        done(Command::new("wine").args(words))
    }

    /// Runs the command of this machine.
    pub(crate) fn linux(&self, words: &[&str]) -> Ran {
        let command = Command::new(env!("CARGO_BIN_EXE_copal"));
        let repository = self.path("repository").display().to_string();
        self.ran(command, words, &repository, "linux", |path| path.display().to_string())
    }

    fn ran(
        &self,
        mut command: Command,
        words: &[&str],
        repository: &str,
        system: &str,
        spelled: impl Fn(PathBuf) -> String,
    ) -> Ran {
        // One machine, with a directory of keys for each command.
        command.env("COPAL_PASSWORD", "correct horse").env("COPAL_HOST", "machine");
        command.args(["--repository", repository]);
        command.args(["--cache-dir", &spelled(self.path(&format!("{system}-cache")))]);
        command.args(["--state-dir", &spelled(self.path(&format!("{system}-state")))]);
        done(command.args(words))
    }

    pub(crate) fn bytes_of_repository(&self) -> u64 {
        files(&self.path("repository"))
            .values()
            .filter_map(|(content, _)| content.as_ref())
            .map(|bytes| bytes.len() as u64)
            .sum()
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub(crate) fn json(self) -> Value {
        let ran = self.ok();
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.out))
    }
}

fn done(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).replace('\r', "");
    Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// The path as wine spells it.
pub(crate) fn windows_path(path: &Path) -> String {
    format!("Z:{}", path.to_str().unwrap().trim_end_matches('/').replace('/', "\\"))
}

/// All entries below a directory: the content of files, and when they last changed.
pub(crate) fn files(top: &Path) -> BTreeMap<PathBuf, (Option<Vec<u8>>, SystemTime)> {
    let mut found = BTreeMap::new();
    let mut left = vec![PathBuf::new()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(top.join(&directory)).unwrap() {
            let entry = entry.unwrap();
            let (path, metadata) = (directory.join(entry.file_name()), entry.metadata().unwrap());
            let content = metadata.is_file().then(|| fs::read(entry.path()).unwrap());
            if metadata.is_dir() {
                left.push(path.clone());
            }
            found.insert(path, (content, metadata.modified().unwrap()));
        }
    }
    found
}

/// Bytes that do not compress.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}
