//! Environment: what tests need of Python's and Node's packages, under the target directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{succeed, target};

/// Makes the environment unless it was made for the same requirements; gives its folder of programs.
pub(crate) fn environment(name: &str, requirements: &Path) -> Result<PathBuf, String> {
    let folder = target().join(name);
    let (programs, made_for) = (folder.join("bin"), folder.join("made-for.txt"));
    let wanted = std::fs::read(requirements).map_err(|error| format!("{}: {error}", requirements.display()))?;
    if std::fs::read(&made_for).is_ok_and(|made| made == wanted) && programs.join("python").exists() {
        return Ok(programs);
    }
    succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut install = Command::new(programs.join("python"));
    succeed(install.args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(requirements))?;
    std::fs::write(&made_for, wanted).map_err(|error| format!("{}: {error}", made_for.display()))?;
    Ok(programs)
}

/// Installs what the lock file of a folder names, beside a copy of the folder's files, unless that was done; gives the copy.
pub(crate) fn modules(name: &str, source: &Path) -> Result<PathBuf, String> {
    let folder = target().join(name);
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let lock = "package-lock.json";
    let is_made = std::fs::read(folder.join(lock)).ok() == std::fs::read(source.join(lock)).ok()
        && folder.join("node_modules/.package-lock.json").exists();
    std::fs::create_dir_all(&folder).map_err(failed)?;
    for entry in std::fs::read_dir(source).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_file() {
            std::fs::copy(entry.path(), folder.join(entry.file_name())).map_err(failed)?;
        }
    }
    if !is_made {
        succeed(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder))?;
    }
    Ok(folder)
}
