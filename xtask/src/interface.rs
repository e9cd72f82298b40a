//! Interface: what programs can use of `copal-client`, as the list `client/public-api.txt`. A change to it shows in review.
//!
//! The list is made of what rustdoc tells as JSON, while it makes the documents. Cargo has rustdoc test the documents of a
//! crate with what is built already, where for `cargo doc` it would read all dependencies once more: so this program takes
//! rustdoc's place in such a test, and has it make the documents instead.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::command::{OWN, build_programs, cargo, linting, output, succeed, target, workspace};
use crate::files;
use crate::tally::Tally;

/// Makes the documents of all libraries and of this program; a warning is a failure.
pub(crate) fn document() -> Result<(), String> {
    let _ = std::fs::remove_file(told());
    succeed(cargo(&["doc", "--package", "xtask", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    let mut command = linting(&["test", "--workspace", "--all-features", "--doc", "--no-fail-fast"]);
    succeed(command.env("RUSTDOC", &*OWN).env(AS_RUSTDOC, folder()))
}

/// Compares the list with what the documents tell.
pub(crate) fn check() -> Result<Tally, String> {
    let kept = files::text(&list())?;
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
    build_programs()?;
    document()?;
    files::write(&list(), items()?)
}

/// The folder of documents, if cargo runs this program in place of rustdoc.
pub(crate) fn is_rustdoc() -> Option<OsString> {
    std::env::var_os(AS_RUSTDOC)
}

/// Makes the documents of a crate whose documents cargo wants tested; of one crate it tells what it has as JSON, too.
pub(crate) fn as_rustdoc(folder: &OsStr) -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--test") {
        while let Some(at) = arguments.iter().position(|argument| argument.to_str().is_some_and(is_of_a_test)) {
            let end = at + if arguments[at] == "--test-run-directory" { 2 } else { 1 };
            arguments.drain(at..end.min(arguments.len()));
        }
        arguments.extend(["-Dwarnings", "--out-dir"].map(OsString::from));
        arguments.push(folder.to_owned());
    }
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

fn is_of_a_test(argument: &str) -> bool {
    ["--test", "--doctest-", "--no-run", "--nocapture"].iter().any(|start| argument.starts_with(start))
}

fn items() -> Result<String, String> {
    output(Command::new(target().join("debug").join(LISTER)).arg(told()))
}

fn folder() -> PathBuf {
    target().join("doc")
}

/// Where rustdoc tells of the crate, beside its documents.
fn told() -> PathBuf {
    folder().join("copal_client.json")
}

fn list() -> PathBuf {
    workspace().join("client/public-api.txt")
}

const AS_RUSTDOC: &str = "COPAL_AS_RUSTDOC";
/// The program of `tests` that reads rustdoc's JSON.
const LISTER: &str = "public_api";
