//! WebAssembly: the module that browsers load, made, and run in Node against the golden repository and the command.

use std::path::PathBuf;
use std::process::Command;

use crate::command::{cargo, succeed, target, workspace};
use crate::tally::Tally;

/// Where the module, its JavaScript and its types are: what `web-demo` imports.
pub(crate) fn package() -> PathBuf {
    workspace().join("wasm/pkg")
}

/// Makes the package.
pub(crate) fn build() -> Result<(), String> {
    let mut build = cargo(&["build", "--package", "copal-wasm", "--lib", "--release", "--target", TARGET]);
    // The flags for WebAssembly are in cargo's configuration, which these variables would override.
    build.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    succeed(&mut build)?;
    let module = target().join(TARGET).join("release/copal_wasm.wasm");
    let mut bindgen = cargo(&["run", "--quiet", "--package", "copal-wasm-bindgen", "--"]);
    succeed(bindgen.arg(module).arg(package()))
}

/// Makes the package, and has Node restore with it what the command has saved, and save what the command restores.
pub(crate) fn run() -> Result<Tally, String> {
    build()?;
    let mut tally = Tally::default();
    let mut check = |what: &str, holds: bool| {
        println!("{} {what}", if holds { "ok    " } else { "FAILED" });
        tally += Tally::of(holds);
    };

    let read = succeed(node("golden.mjs").arg(package()).arg(workspace().join("tests/golden")));
    check("Node restores the golden repository", read.is_ok());
    let saved = round_trip();
    check("the command restores what Node has saved", saved.is_ok());
    [read, saved].into_iter().filter_map(Result::err).for_each(|reason| println!("{reason}"));
    Ok(tally)
}

/// A folder saved by Node, twice; then the command takes it in, checks it, and restores it.
fn round_trip() -> Result<(), String> {
    let place = target().join("tmp/round-trip");
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(place.join("home")).map_err(|error| format!("{}: {error}", place.display()))?;
    std::fs::write(place.join("password"), "secret words").map_err(|error| error.to_string())?;
    let folder = workspace().join("engine/src");
    let copal = |arguments: &[&str]| {
        let mut command = Command::new(target().join("debug/copal"));
        command.env("HOME", place.join("home")).env("XDG_STATE_HOME", place.join("state"));
        command.env("XDG_CACHE_HOME", place.join("cache")).env("COPAL_PASSWORD_FILE", place.join("password"));
        succeed(command.args(["--quiet", "--repository"]).arg(place.join("repository")).args(arguments))
    };
    succeed(&mut cargo(&["build", "--quiet", "--package", "copal-cli", "--bin", "copal"]))?;
    copal(&["init"])?;
    for _ in 0..2 {
        let mut save = node("roundtrip.mjs");
        save.arg(package()).arg(place.join("repository")).arg("secret words").arg(&folder).arg(place.join("kept"));
        succeed(&mut save)?;
        copal(&["ingest"])?;
    }
    copal(&["check", "--read-data"])?;
    let out = place.join("out");
    copal(&["restore", "latest", "--host", "browser", "--target", &out.to_string_lossy()])?;
    succeed(Command::new("diff").arg("--recursive").arg(&folder).arg(out.join("src")))?;
    std::fs::remove_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))
}

fn node(script: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(workspace().join("tests/wasm").join(script));
    command
}

const TARGET: &str = "wasm32-unknown-unknown";
