//! Page: the web app: built, tested in Node and in a real browser, and shown to whoever asks.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::command::{build_programs, cargo, count, succeed, target, workspace};
use crate::files::fresh;
use crate::tally::Tally;
use crate::{tools, wasm};

/// Builds the page around the engine's module; gives the directory that `copal serve --web` takes.
pub(crate) fn build() -> Result<PathBuf, String> {
    if let Some(module) = wasm::missing() {
        return Err(format!("{} is missing: \"cargo xtask wasm\" builds it", module.display()));
    }
    install()?;
    succeed(&mut npm(&["run", "build"]))?;
    Ok(folder().join("dist"))
}

/// Tests what has logic in Node, and the whole with the built command in Chromium.
pub(crate) fn test() -> Result<Tally, String> {
    // First, while cargo is free: soon it compiles the tests for minutes.
    build_programs()?;
    build()?;
    let mut tally = vitest(&[])?;
    tally += vitest(&["--config", "vitest.e2e.config.ts"])?;
    Ok(tally)
}

/// Builds everything, and becomes a server of a new repository, which ends with Ctrl-C. The repository is there until the
/// next demo.
pub(crate) fn demo() -> Result<(), String> {
    tools::set_up()?;
    wasm::build()?;
    let page = build()?;
    succeed(&mut cargo(&["build", "--release", "--package", "copal-cli", "--bin", "copal"]))?;
    let room = target().join("demo");
    fresh(&room)?;
    let program = target().join("release/copal");
    let copal = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).env("HOME", &room).env("COPAL_REPOSITORY", room.join("repository"));
        command
    };
    let mut init = copal(&["init", "--ingest", "service", "--quiet"]);
    succeed(init.env("COPAL_PASSWORD", PASSPHRASE).stdout(Stdio::null()))?;
    println!("\nThe page is at http://{ADDRESS} and the passphrase is: {PASSPHRASE}");
    println!(
        "From another terminal: COPAL_PASSWORD='{PASSPHRASE}' {} -r http://{ADDRESS} snapshots",
        program.display()
    );
    println!("Ctrl-C ends it.\n");
    let mut server = copal(&["serve", "--listen", ADDRESS, "--open-slots", "--web"]);
    Err(format!("cannot run the server: {}", server.arg(page).exec()))
}

/// What the lock file names, if it is not there yet.
pub(crate) fn install() -> Result<(), String> {
    let (lock, installed) = (folder().join("package-lock.json"), folder().join("node_modules/.package-lock.json"));
    let time = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
    match (time(&lock), time(&installed)) {
        (Some(lock), Some(installed)) if installed >= lock => Ok(()),
        _ => succeed(&mut npm(&["ci", "--no-audit", "--no-fund"])),
    }
}

fn vitest(arguments: &[&str]) -> Result<Tally, String> {
    let all =
        [&["exec", "--", "vitest", "run", "--reporter=default", "--reporter=./test/count.ts"], arguments].concat();
    let tally = count(npm(&all).env("CARGO_TARGET_DIR", target()))?;
    if tally == Tally::default() { Err("vitest reported no count".to_owned()) } else { Ok(tally) }
}

fn npm(arguments: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.args(arguments).current_dir(folder());
    command
}

fn folder() -> PathBuf {
    workspace().join("web-demo")
}

const ADDRESS: &str = "127.0.0.1:8321";
const PASSPHRASE: &str = "a harbour in winter";
