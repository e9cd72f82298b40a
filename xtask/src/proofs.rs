//! Proofs: properties of the engine's arithmetic, executed symbolically with angr, so for all numbers.

use std::process::Command;

use crate::command::{cargo, count, succeed, target, workspace};
use crate::environment::environment;
use crate::tally::Tally;

/// Builds the properties, and proves each, or those named; the last line is `N passed, M failed`.
pub(crate) fn run(names: &[&str]) -> Result<Tally, String> {
    let folder = workspace().join("tests/proofs");
    let python = environment("angr", &folder.join("requirements.txt"))?.join("python");
    succeed(&mut cargo(&["build", "--package", "copal-engine", "--example", "proofs", "--profile", "proofs"]))?;
    let mut command = Command::new(python);
    command.arg(folder.join("prove.py")).arg(target().join("proofs/examples/proofs")).args(names);
    count(command.env("PYTHONDONTWRITEBYTECODE", "1"))?.not_empty()
}
