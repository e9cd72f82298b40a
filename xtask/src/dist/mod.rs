//! Dist: everything that a release holds, made in `target/dist`: programs, archives, packages, the image, manifests, checksums.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{output, succeed, target, workspace};
use crate::environment::environment;
use crate::files::{below, failed, fresh, remove, text, write};
use crate::{carried, tools};

mod archive;
mod check;
mod contents;
mod image;
mod inventory;
mod manifests;
mod packages;
mod program;
mod targets;

pub(crate) use check::run as check;
pub(crate) use program::zig;
use targets::{TARGETS, Target};

/// Builds and packs everything. `from` is the address that the release's files will have: without it there is neither an installer nor a manifest.
pub(crate) fn run(from: Option<&str>) -> Result<(), String> {
    tools::set_up_dist()?;
    let release = Release::of_checkout(from, target().join("dist"))?;
    let reader = carried::build()?;
    let mut programs = Vec::new();
    for target in &TARGETS {
        programs.push((target, program::build(target, &reader, &release.time)?));
    }
    let runnable = programs.iter().find(|(target, _)| target.runs_here()).map(|(_, program)| program.clone());
    let runnable = runnable.ok_or("no target of the release runs on this machine, so nothing can write the manual")?;
    release.make(&programs, &runnable)?;
    inventory::write(&release, &programs)?;
    release.sum()?;
    println!("{}", release.folder.display());
    Ok(())
}

/// Makes the release twice, in fresh clones of the last commit in two folders, and compares every byte.
pub(crate) fn twice(from: Option<&str>) -> Result<(), String> {
    tools::set_up_dist()?;
    let top = target().join("twice");
    fresh(&top)?;
    let folders = [top.join("one/copal"), top.join("another-and-longer-name/source-of-copal")];
    for folder in &folders {
        succeed(Command::new("git").args(["clone", "--quiet"]).arg(workspace()).arg(folder))?;
        // What builds and packs is no part of what is compared: it is compiled once.
        let own = folder.join("target");
        let linked = fs::create_dir(&own).and_then(|()| symlink(target().join("tools"), own.join("tools")));
        linked.map_err(failed(&own))?;
        let mut again = Command::new("cargo");
        again.args(["xtask", "dist"]).args(from.iter().flat_map(|from| ["--from", from])).current_dir(folder);
        succeed(again.env_remove("CARGO_TARGET_DIR").env_remove("CARGO_MANIFEST_DIR"))?;
    }
    let [one, another] = folders.map(|folder| folder.join("target/dist"));
    succeed(Command::new("diff").args(["--recursive", "--brief"]).args([&one, &another]))?;
    println!("the same bytes in both: {}", one.display());
    Ok(())
}

/// A release, and the folder that it is made in.
struct Release {
    version: String,
    /// The time of the last commit, in seconds since 1970: every time stamp in the release.
    time: String,
    /// The address that its files will have.
    from: Option<String>,
    /// The public half of the key that signs its checksums, as minisign writes it.
    key: Option<String>,
    folder: PathBuf,
}

impl Release {
    fn of_checkout(from: Option<&str>, folder: PathBuf) -> Result<Self, String> {
        let time = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(time) => time,
            Err(_) => output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(workspace()))?,
        };
        let key = workspace().join(KEY);
        let key = key.exists().then(|| text(&key)).transpose()?.and_then(|text| key_of(&text));
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            time: time.trim().to_owned(),
            from: from.map(str::to_owned),
            key,
            folder,
        })
    }

    /// Makes all but the inventory and the checksums. `runnable` is a program for this machine, which writes its own manual.
    fn make(&self, programs: &[(&Target, PathBuf)], runnable: &Path) -> Result<(), String> {
        fresh(&self.folder)?;
        let work = self.folder.with_extension("work");
        fresh(&work)?;
        let common = contents::lay(&work.join("common"), runnable)?;
        for (target, program) in programs {
            archive::pack(self, target, program, &common, &work)?;
            packages::pack(self, target, program, &common, &work)?;
        }
        image::pack(self, programs, &common, &work)?;
        manifests::write(self)?;
        remove(&work)
    }

    /// Writes the checksums of all that is in the folder.
    fn sum(&self) -> Result<(), String> {
        let names: Vec<String> = below(&self.folder)?.iter().map(|path| path.display().to_string()).collect();
        let sums = output(Command::new("sha256sum").args(&names).current_dir(&self.folder))?;
        write(&self.folder.join(SUMS), sums)
    }

    /// A file of the release, by what its name ends with.
    fn file(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("copal-{}-{ending}", self.version))
    }

    /// GNU tar, so that the same files give the same bytes.
    fn tar(&self) -> Command {
        let mut tar = Command::new("tar");
        tar.args(["--sort=name", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner"]);
        tar.arg(format!("--mtime=@{}", self.time));
        tar
    }
}

/// The key's own line in what minisign writes.
fn key_of(text: &str) -> Option<String> {
    text.lines().find(|line| line.starts_with("RW")).map(str::to_owned)
}

/// The folder of programs that pack a release.
fn packaging() -> Result<PathBuf, String> {
    environment("packaging", &workspace().join("packaging/requirements.txt"))
}

fn python() -> Result<PathBuf, String> {
    Ok(packaging()?.join("python"))
}

/// The public key of releases; it is there once the key ceremony was held (docs/releases.md).
const KEY: &str = "packaging/minisign.pub";
const SUMS: &str = "SHA256SUMS";
