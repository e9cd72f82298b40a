//! Environment: what tests need of Python's and Node's packages, under the target directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{succeed, target};
use crate::files::{copy_files, read, write};

/// Makes the environment unless it was made for the same requirements; gives its folder of programs.
pub(crate) fn environment(name: &str, requirements: &Path) -> Result<PathBuf, String> {
    let folder = target().join(name);
    let (programs, made_for) = (folder.join("bin"), folder.join("made-for.txt"));
    let wanted = read(requirements)?;
    if read(&made_for).is_ok_and(|made| made == wanted) && programs.join("python").exists() {
        return Ok(programs);
    }
    succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut install = Command::new(programs.join("python"));
    succeed(install.args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(requirements))?;
    write(&made_for, wanted)?;
    Ok(programs)
}

/// Installs what the lock file of a folder names, beside a copy of the folder's files, unless that was done; gives the copy.
pub(crate) fn modules(name: &str, source: &Path) -> Result<PathBuf, String> {
    let folder = target().join(name);
    let lock = "package-lock.json";
    let is_made = read(&folder.join(lock)).ok() == read(&source.join(lock)).ok()
        && folder.join("node_modules/.package-lock.json").exists();
    copy_files(source, &folder)?;
    if !is_made {
        succeed(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder))?;
    }
    Ok(folder)
}
