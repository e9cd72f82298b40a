//! Inventory: which crates each program is made of, as CycloneDX, held against what the program itself records.

use std::path::PathBuf;
use std::process::Command;

use super::{Release, Target, python};
use crate::command::{before_path, cargo, succeed, target as build_folder, workspace};
use crate::files;

/// Writes the inventory of each program, and checks it.
pub(super) fn write(release: &Release, programs: &[(&Target, PathBuf)]) -> Result<(), String> {
    let python = python()?;
    // In a clone, because cargo-cyclonedx writes a file beside every manifest.
    let clone = release.folder.with_extension("inventory");
    files::fresh(&clone)?;
    succeed(Command::new("git").args(["clone", "--quiet"]).arg(workspace()).arg(&clone))?;
    for (target, program) in programs {
        let mut list = cargo(&["cyclonedx", "--format", "json", "--manifest-path", "cli/Cargo.toml"]);
        list.args(["--target", target.triple, "--no-build-deps", "--override-filename", NAME]);
        list.env("PATH", before_path([build_folder().join("tools/bin")])?).env("SOURCE_DATE_EPOCH", &release.time);
        succeed(list.current_dir(&clone))?;
        let text = files::text(&clone.join("cli").join(format!("{NAME}.json")))?;
        let file = release.file(&format!("{}.cdx.json", target.triple));
        files::write(&file, text.replace(&clone.display().to_string(), "/copal"))?;
        let mut compare = Command::new(&python);
        succeed(compare.arg(workspace().join("packaging/recorded.py")).arg(program).arg(&file))?;
    }
    files::remove(&clone)
}

/// What an inventory is called where it is written.
const NAME: &str = "inventory";
