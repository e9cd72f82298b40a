//! Check: the suite's stage. It packs the command that the tests have built, twice, compares, and has the packages installed and removed.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::targets::{TARGETS, Target};
use super::{Release, key_of, packaging, python};
use crate::command::{build_programs, cargo, count, output, succeed, target as build_folder, workspace};
use crate::files::{fresh, text, write};
use crate::tally::Tally;
use crate::tools;

/// Packs a release with the command as the tests have it, and tests that. A script stands for the programs of other machines;
/// with the script alone a release is packed twice and compared.
pub(crate) fn run() -> Result<Tally, String> {
    tools::set_up_packages()?;
    build_programs()?;
    let work = build_folder().join("packages");
    fresh(&work)?;
    let stripped = work.join("copal");
    succeed(Command::new("strip").arg("-o").arg(&stripped).arg(build_folder().join("debug/copal")))?;
    let script = work.join("script");
    write(&script, "#!/bin/sh\n")?;
    let (key, public) = (work.join("key"), work.join("key.pub"));
    output(Command::new("minisign").args(["-GW", "-s"]).arg(&key).arg("-p").arg(&public))?;
    let key = key_of(&text(&public)?);

    let real =
        |target: &Target| if target.runs_here() && target.linux.is_some() { stripped.clone() } else { script.clone() };
    let tested: Vec<(&Target, PathBuf)> = TARGETS.iter().map(|target| (target, real(target))).collect();
    let small: Vec<(&Target, PathBuf)> = TARGETS.iter().map(|target| (target, script.clone())).collect();
    for (folder, programs) in [("release", &tested), ("one", &small), ("another", &small)] {
        let mut release = Release::of_checkout(Some(FROM), work.join(folder))?;
        release.key = key.clone();
        release.make(programs, &stripped)?;
        release.sum()?;
    }
    let mut tally = Tally::default();
    tally.check("a release is the same bytes when it is packed again", same(&work));
    let mut test = Command::new(python()?);
    test.arg(workspace().join("tests/packages/test_packages.py")).arg(&work).env("PYTHONDONTWRITEBYTECODE", "1");
    tally += count(test.current_dir(workspace()))?.not_empty()?;
    tally += sources()?;
    Ok(tally)
}

/// Whether both releases have the same bytes.
fn same(work: &Path) -> Result<(), String> {
    succeed(Command::new("diff").args(["--recursive", "--brief", "one", "another"]).current_dir(work))
}

/// Checks what the programs are made from: licences and sources of all crates, and that the crates of the command can be packed
/// for the registry.
fn sources() -> Result<Tally, String> {
    let mut deny = Command::new(packaging()?.join("cargo-deny"));
    deny.args(["--offline", "--locked", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"]);
    let deny = succeed(deny.current_dir(workspace()));
    let mut package =
        cargo(&["package", "--workspace", "--no-verify", "--allow-dirty", "--locked", "--offline", "--quiet"]);
    let package = succeed(package.args(UNPUBLISHED.iter().flat_map(|name| ["--exclude", name])));
    let mut tally = Tally::default();
    tally.check("licences and sources of all crates", deny);
    tally.check("crates for the registry", package);
    Ok(tally)
}

/// Nobody serves here: the tests name another address.
const FROM: &str = "https://copal.invalid/0.1.0";

/// Crates that nobody needs for the command.
const UNPUBLISHED: [&str; 8] = [
    "copal-lambda",
    "copal-wasm",
    "copal-wasm-bindgen",
    "copal-tests",
    "copal-simulation",
    "copal-bench",
    "xtask",
    "copal-python",
];
