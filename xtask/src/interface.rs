//! Interface: what programs can use of `copal-client`, as the list `client/public-api.txt`. A change to it shows in review.
//!
//! The list is made of what rustdoc tells as JSON, while it makes the documents: nothing is compiled for it.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::command::{cargo, output, program, succeed, target, workspace};
use crate::tally::Tally;

/// Makes the documents of all crates; a warning is a failure.
pub(crate) fn document() -> Result<(), String> {
    // Cargo documents nothing again that has not changed.
    if !told().is_file() {
        let _ = fs::remove_dir_all(target().join("doc/copal_client"));
    }
    let own = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut command = cargo(&["doc", "--workspace", "--all-features", "--no-deps"]);
    succeed(command.env("RUSTDOCFLAGS", "-D warnings").env("RUSTDOC", own).env(AS_RUSTDOC, "1"))
}

/// Compares the list with what the documents tell.
pub(crate) fn check() -> Result<Tally, String> {
    let kept = fs::read_to_string(list()).map_err(|error| format!("{}: {error}", list().display()))?;
    let now = items()?;
    let differs = |a: &str, b: &str, sign| {
        let is_new = |line: &&str| !b.lines().any(|other| other == *line);
        a.lines().filter(is_new).map(|line| format!("{sign} {line}")).collect::<Vec<_>>()
    };
    let differing = [differs(&kept, &now, '-'), differs(&now, &kept, '+')].concat();
    if !differing.is_empty() {
        println!("{}\n\"cargo xtask interface\" writes the list anew", differing.join("\n"));
    }
    Ok(Tally::of(kept == now))
}

/// Writes the list anew.
pub(crate) fn write() -> Result<(), String> {
    program(LISTER)?;
    document()?;
    fs::write(list(), items()?).map_err(|error| format!("{}: {error}", list().display()))
}

/// Whether cargo runs this program in place of rustdoc.
pub(crate) fn is_rustdoc() -> bool {
    std::env::var_os(AS_RUSTDOC).is_some()
}

/// Is rustdoc, and of one crate tells what it has as JSON, too.
pub(crate) fn as_rustdoc() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let run = |more: &[OsString], is_unstable: bool| {
        let mut rustdoc = Command::new("rustdoc");
        rustdoc.args(&arguments).args(more).env_remove(AS_RUSTDOC);
        if is_unstable {
            rustdoc.env("RUSTC_BOOTSTRAP", "1");
        }
        rustdoc.status().is_ok_and(|status| status.success())
    };
    let is_client = arguments.windows(2).any(|pair| pair[0] == "--crate-name" && pair[1] == "copal_client");
    let json = ["-Zunstable-options", "--output-format=json"].map(OsString::from);
    if run(&[], false) && (!is_client || run(&json, true)) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn items() -> Result<String, String> {
    output(Command::new(target().join("debug").join(LISTER)).arg(told()))
}

/// Where rustdoc tells of the crate, beside its documents.
fn told() -> PathBuf {
    target().join("doc/copal_client.json")
}

fn list() -> PathBuf {
    workspace().join("client/public-api.txt")
}

const AS_RUSTDOC: &str = "COPAL_AS_RUSTDOC";
/// The program of `tests` that reads rustdoc's JSON.
const LISTER: &str = "public_api";
