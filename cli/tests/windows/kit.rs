//! Both commands on one machine and one repository. Wine shows the file system of this machine as drive Z.

use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::shared::{Machine, PASSPHRASE, Ran, Run};

pub(crate) trait Wine {
    /// Runs `copal.exe`, with a directory of keys of its own.
    fn windows(&self, words: &[&str]) -> Ran;

    /// Runs the command of this machine.
    fn linux(&self, words: &[&str]) -> Ran;

    /// The source as a place in the latest snapshot, whichever command made it.
    fn latest(&self) -> String;

    /// Gives each entry of the source a time that Windows can keep.
    fn touch_all(&self);
}

impl Wine for Machine {
    fn windows(&self, words: &[&str]) -> Ran {
        let program = std::env::var("COPAL_EXE").expect("cargo xtask windows names it");
        let mut command = Command::new("wine");
        command.arg(program).env("COPAL_PASSWORD", PASSPHRASE).env("COPAL_HOST", "laptop");
        for (option, name) in [("--repository", "repository"), ("--cache-dir", "cache"), ("--state-dir", "state")] {
            command.args([option, &windows_path(&self.path(name))]);
        }
        without_returns(command.args(words))
    }

    fn linux(&self, words: &[&str]) -> Ran {
        self.run_with(PASSPHRASE, words)
    }

    fn latest(&self) -> String {
        let listed = self.linux(&["snapshots", "--json"]).ok().json();
        let last = listed.as_array().and_then(|all| all.last()).unwrap();
        format!("latest:{}", last["paths"][0].as_str().unwrap())
    }

    fn touch_all(&self) {
        let time = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_700);
        let mut paths: Vec<PathBuf> = files(&self.source("")).into_keys().map(|path| self.source(path)).collect();
        paths.push(self.source(""));
        for path in paths {
            File::open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
        }
    }
}

/// Runs a program of Windows.
pub(crate) fn wine(words: &[&str]) -> Ran {
    without_returns(Command::new("wine").args(words))
}

fn without_returns(command: &mut Command) -> Ran {
    let mut ran = command.ran();
    ran.out.retain(|&byte| byte != b'\r');
    ran.err.retain(|character| character != '\r');
    ran
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
