//! The reader: a second implementation of the format, in Python, reads the golden repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{count, succeed, target, workspace};
use crate::tally::Tally;

/// Runs the reader's test in an environment of its own; its last line is `N passed, M failed`.
pub(crate) fn run() -> Result<Tally, String> {
    let folder = workspace().join("tests/reader");
    if !folder.is_dir() {
        println!("there is no reader");
        return Ok(Tally::default());
    }
    let python = environment(&folder.join("requirements.txt"))?;
    let mut command = Command::new(python);
    command.arg(folder.join("test_golden.py")).current_dir(workspace()).env("PYTHONDONTWRITEBYTECODE", "1");
    let tally = count(&mut command)?;
    if tally == Tally::default() { Err("the reader's test reported no count".to_owned()) } else { Ok(tally) }
}

/// Makes the environment unless it was made for the same requirements; gives its interpreter.
fn environment(requirements: &Path) -> Result<PathBuf, String> {
    let folder = target().join("reader");
    let (python, made_for) = (folder.join("bin/python"), folder.join("made-for.txt"));
    let wanted = std::fs::read(requirements).map_err(|error| format!("{}: {error}", requirements.display()))?;
    if std::fs::read(&made_for).is_ok_and(|made| made == wanted) && python.exists() {
        return Ok(python);
    }
    succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    succeed(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(requirements))?;
    std::fs::write(&made_for, wanted).map_err(|error| format!("{}: {error}", made_for.display()))?;
    Ok(python)
}
