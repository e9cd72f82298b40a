//! Carried: the reader for WASI, which every repository carries, and the command with it inside.

use std::path::PathBuf;

use crate::command::{cargo, remapped, succeed, target, workspace};
use crate::environment::environment;
use crate::module::Module;
use crate::{files, tools};

/// Builds the reader, and sees to what tests run it in: wasmtime, as a package for Python.
pub(crate) fn run() -> Result<(), String> {
    build()?;
    environment("wasi", &workspace().join("tests/wasi/requirements.txt")).map(|_| ())
}

/// Builds the reader, the same bytes in every folder; gives its file, where tests and `release` look for it.
pub(crate) fn build() -> Result<PathBuf, String> {
    tools::set_up_reader()?;
    let arguments = ["build", "--package", "copal-reader", "--bin", "copal-reader", "--profile", "reader"];
    succeed(cargo(&arguments).args(["--target", TARGET]).args(remapped(TARGET, &[])?))?;
    let built = target().join(TARGET).join("reader/copal-reader.wasm");
    let bytes = files::read(&built)?;
    let strange = Module::parse(&bytes)?.imports.into_iter().find(|import| !import.starts_with(WASI));
    if let Some(import) = strange {
        return Err(format!("the reader wants {import}, which WASI preview 1 does not have"));
    }
    if bytes.len() > MOST_BYTES {
        return Err(format!("the reader has {} bytes, allowed are {MOST_BYTES}", bytes.len()));
    }
    let file = target().join("reader.wasm");
    files::write(&file, &bytes)?;
    println!("{}: {} bytes", file.display(), bytes.len());
    Ok(file)
}

/// Builds the command with the reader inside, and strips its symbols. Not in the profile: `reader` and `release-wasm` inherit
/// `release`.
pub(crate) fn release() -> Result<(), String> {
    let reader = build()?;
    let mut build = cargo(&["build", "--release", "--package", "copal-cli", "--bin", "copal"]);
    succeed(build.env("COPAL_READER", reader).env("CARGO_PROFILE_RELEASE_STRIP", "symbols"))?;
    println!("{}", target().join("release/copal").display());
    Ok(())
}

const TARGET: &str = "wasm32-wasip1";
/// What the reader may want from its host.
const WASI: &str = "wasi_snapshot_preview1.";
/// What a repository can bear: a few packs' worth of nothing.
const MOST_BYTES: usize = 2_000_000;
