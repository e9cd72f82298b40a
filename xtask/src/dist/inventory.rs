//! Inventory: which crates each program is made of, as CycloneDX, held against what the program itself records.

use std::path::PathBuf;
use std::process::Command;

use super::{Release, Target, fresh, read, write as write_file};
use crate::command::{cargo, succeed, target as build_folder, workspace};
use crate::environment::environment;

/// Writes the inventory of each program, and checks it.
pub(super) fn write(release: &Release, programs: &[(&Target, PathBuf)]) -> Result<(), String> {
    let python = environment("packaging", &workspace().join("packaging/requirements.txt"))?.join("python");
    // In a clone, because cargo-cyclonedx writes a file beside every manifest.
    let clone = release.folder.with_extension("inventory");
    fresh(&clone)?;
    succeed(Command::new("git").args(["clone", "--quiet"]).arg(workspace()).arg(&clone))?;
    for (target, program) in programs {
        let mut list = cargo(&["cyclonedx", "--format", "json", "--manifest-path", "cli/Cargo.toml"]);
        list.args(["--target", target.triple, "--no-build-deps", "--override-filename", NAME]);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = build_folder().join("tools/bin");
        let path = std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&path)));
        list.env("PATH", path.map_err(|error| error.to_string())?).env("SOURCE_DATE_EPOCH", &release.time);
        succeed(list.current_dir(&clone))?;
        let text = read(&clone.join("cli").join(format!("{NAME}.json")))?;
        let file = release.file(&format!("{}.cdx.json", target.triple));
        write_file(&file, text.replace(&clone.display().to_string(), "/copal").as_bytes())?;
        let mut compare = Command::new(&python);
        succeed(compare.arg(workspace().join("packaging/recorded.py")).arg(program).arg(&file))?;
    }
    std::fs::remove_dir_all(&clone).map_err(|error| format!("{}: {error}", clone.display()))
}

/// What an inventory is called where it is written.
const NAME: &str = "inventory";
