//! Environment: a Python environment under the target directory with what a requirements file names.

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
