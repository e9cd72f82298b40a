//! Runtime: programs for WASI, run in wasmtime with nothing but the directories they are given.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::kit::{Ran, Run};

/// A directory that a program may use, under a name of its own.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Given<'a> {
    /// Where it is.
    pub(crate) path: &'a Path,
    /// What the program calls it.
    pub(crate) name: &'a str,
    /// Whether it may be changed.
    pub(crate) is_writable: bool,
}

/// Runs a program to its end. One that traps has panicked.
pub(crate) fn run(program: &Path, arguments: &[&str], directories: &[Given<'_>], input: &[u8]) -> Ran {
    let [runtime, script] = words();
    let mut command = Command::new(runtime);
    command.arg(script);
    for given in directories {
        let option = if given.is_writable { "--dir" } else { "--read" };
        command.arg(option).arg(format!("{}::{}", given.path.display(), given.name));
    }
    command.arg(program).args(arguments);
    let ran = command.fed(input);
    assert!(ran.code != TRAP, "{arguments:?}: {ran}");
    ran
}

/// What runs programs as the command `wasmtime run` does.
pub(crate) fn words() -> [String; 2] {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/wasi/run.py");
    [built("wasi/bin/python").display().to_string(), script.to_owned()]
}

/// The reader, as `cargo xtask reader` has built it.
pub(crate) fn reader_file() -> PathBuf {
    built("reader.wasm")
}

fn built(name: &str) -> PathBuf {
    let program = std::env::current_exe().expect("this program has a name");
    let target = program.ancestors().nth(3).expect("tests lie in PROFILE/deps/ below the target directory");
    let file = target.join(name);
    assert!(file.exists(), "{} is missing: \"cargo xtask reader\" makes it", file.display());
    file
}

/// How `run.py` ends if the program does not end by itself.
const TRAP: i32 = 134;
