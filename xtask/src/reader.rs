//! The reader: a second implementation of the format, in Python, reads the golden repository.

use std::process::Command;

use crate::command::{build_programs, count, target, workspace};
use crate::environment::environment;
use crate::tally::Tally;

/// Runs the reader's test in an environment of its own; its last line is `N passed, M failed`.
pub(crate) fn run() -> Result<Tally, String> {
    let folder = workspace().join("tests/reader");
    let python = environment("reader", &folder.join("requirements.txt"))?.join("python");
    // It restores what the command saves.
    build_programs()?;
    let mut command = Command::new(python);
    command.arg(folder.join("test_golden.py")).current_dir(workspace()).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("CARGO_TARGET_DIR", target());
    count(&mut command)?.not_empty()
}
