//! Python: the package for Python. It is built as the suite builds everything, so that only its own code is compiled, and
//! tested by pytest against the command.

use std::path::PathBuf;
use std::process::Command;

use crate::command::{build_programs, count, succeed, target, workspace};
use crate::environment::environment;
use crate::files::{copy, copy_files, fresh};
use crate::tally::Tally;

/// Builds the extension and the command, and runs the package's tests.
pub(crate) fn run() -> Result<Tally, String> {
    build_programs()?;
    let room = package()?;
    let python = environment("python", &folder().join("requirements.txt"))?.join("python");
    let mut tests = Command::new(python);
    tests.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]).arg(folder().join("tests"));
    tests.env("PYTHONPATH", &room).env("PYTHONDONTWRITEBYTECODE", "1").env("COPAL", target().join("debug/copal"));
    count(&mut tests)
}

/// Builds the package as it is released: one wheel for all versions of Python, in `target/wheels`.
pub(crate) fn wheel() -> Result<(), String> {
    let maturin = environment("python", &folder().join("requirements.txt"))?.join("maturin");
    let mut build = Command::new(maturin);
    succeed(build.args(["build", "--release", "--locked"]).current_dir(folder()).env("CARGO_TARGET_DIR", target()))
}

/// Lays the package out as it is installed; gives the directory that holds it.
fn package() -> Result<PathBuf, String> {
    let room = target().join("python-package");
    let (from, to) = (folder().join("copal"), room.join("copal"));
    fresh(&room)?;
    copy_files(&from, &to)?;
    copy(&target().join("debug/lib_copal.so"), &to.join("_copal.abi3.so"))?;
    Ok(room)
}

fn folder() -> PathBuf {
    workspace().join("python")
}
