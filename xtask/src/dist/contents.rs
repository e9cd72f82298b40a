//! Contents: what comes with every program: manual, completions, examples, units, documents and licences.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::python;
use crate::command::{cargo, output, succeed, target, workspace};
use crate::files::{below, copy, fresh, text, write};

/// Files that are the same for every target.
pub(super) struct Contents {
    folder: PathBuf,
}

impl Contents {
    /// The files of one kind, and their names.
    pub(super) fn of(&self, kind: &str) -> Result<Vec<(PathBuf, String)>, String> {
        let folder = self.folder.join(kind);
        let named = |path: PathBuf| (folder.join(&path), path.display().to_string());
        Ok(below(&folder)?.into_iter().map(named).collect())
    }

    pub(super) fn file(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }
}

/// Lays them in a new folder; the program writes those that are about itself.
pub(super) fn lay(folder: &Path, program: &Path) -> Result<Contents, String> {
    fresh(folder)?;
    let own = |arguments: &[&str]| {
        let mut command = Command::new(program);
        // What this user has configured has no place in a release.
        command.args(arguments).env_clear().env("HOME", "/nonexistent").current_dir(folder);
        command
    };
    succeed(&mut own(&["man", "man"]))?;
    for (shell, name) in SHELLS {
        write(&folder.join("completions").join(name), output(&mut own(&["completions", shell]))?)?;
    }
    write(&folder.join("examples/copal.toml"), output(&mut own(&["config", "example"]))?)?;
    for unit in ["copal@.service", "copal@.timer"] {
        copy(&workspace().join("packaging/systemd").join(unit), &folder.join("systemd").join(unit))?;
    }
    for document in DOCUMENTS {
        let name = document.rsplit('/').next().unwrap_or(document);
        copy(&workspace().join(document), &folder.join("doc").join(name))?;
    }
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&workspace().join(licence), &folder.join("licences").join(licence))?;
    }
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(workspace()))?;
    let library = Path::new(sysroot.trim()).join("share/doc/rust/COPYRIGHT-library.html");
    copy(&library, &folder.join("licences/RUST-LIBRARY.html"))?;
    // The crates of all systems: builds need only those of one.
    succeed(&mut cargo(&["fetch", "--locked", "--quiet"]))?;
    let mut collect = Command::new(python()?);
    collect.arg(workspace().join("packaging/third_party.py")).arg(target().join("zig")).current_dir(workspace());
    write(&folder.join("licences/THIRD-PARTY.txt"), output(&mut collect)?)?;
    let contents = Contents { folder: folder.to_owned() };
    check(&contents)?;
    Ok(contents)
}

/// Refuses contents that a program could not write.
fn check(contents: &Contents) -> Result<(), String> {
    let pages = contents.of("man")?.len();
    let example = text(&contents.file("examples/copal.toml"))?;
    if pages < 50 || !example.contains("[profiles.machine]") {
        return Err(format!("the program wrote {pages} pages of manual, and {} bytes of example", example.len()));
    }
    Ok(())
}

/// The shells with completions, and the name that each looks for.
const SHELLS: [(&str, &str); 3] = [("bash", "copal.bash"), ("zsh", "_copal"), ("fish", "copal.fish")];

const DOCUMENTS: [&str; 9] = [
    "README.md",
    "CHANGELOG.md",
    "docs/cli.md",
    "docs/configuration.md",
    "docs/operations.md",
    "docs/format.md",
    "docs/reader.md",
    "docs/threats.md",
    "docs/glossary.md",
];
