//! Inventory: which crates each program is made of, as CycloneDX, held against what the program itself records.

use std::path::PathBuf;
use std::process::Command;

use super::{Release, Target, copy};
use crate::command::{cargo, succeed, target as build_folder, workspace};
use crate::environment::environment;

/// Writes the inventory of each program, and checks it.
pub(super) fn write(release: &Release, programs: &[(&Target, PathBuf)]) -> Result<(), String> {
    let python = environment("packaging", &workspace().join("packaging/requirements.txt"))?.join("python");
    for (target, program) in programs {
        let mut list =
            cargo(&["cyclonedx", "--format", "json", "--manifest-path", "cli/Cargo.toml", "--target", target.triple]);
        list.args(["--no-build-deps", "--override-filename", NAME]).env("SOURCE_DATE_EPOCH", &release.time);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path =
            std::env::join_paths(std::iter::once(build_folder().join("tools/bin")).chain(std::env::split_paths(&path)));
        succeed(list.env("PATH", path.map_err(|error| error.to_string())?))?;
        let written = workspace().join("cli").join(format!("{NAME}.json"));
        let file = release.file(&format!("{}.cdx.json", target.triple));
        copy(&written, &file)?;
        std::fs::remove_file(&written).map_err(|error| format!("{}: {error}", written.display()))?;
        let mut compare = Command::new(&python);
        succeed(compare.arg(workspace().join("packaging/recorded.py")).arg(program).arg(&file))?;
    }
    Ok(())
}

/// What the inventory is called where cargo-cyclonedx writes it: beside the manifest.
const NAME: &str = "inventory";
