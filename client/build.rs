//! Puts the reader into the command (`docs/reader.md`): the file that `COPAL_READER` names; without that variable, the file
//! `reader.wasm` that this crate has in the registry, or what a build of profile `release` makes first. Other builds have none:
//! they are for tests, and each would take a minute longer.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-env-changed=COPAL_READER");
    println!("cargo:rerun-if-changed=build.rs");
    let place = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where"));
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("reader.wasm");
    let reader = match env::var_os("COPAL_READER").map(PathBuf::from) {
        Some(file) if file.as_os_str().is_empty() => None,
        Some(file) => Some(file),
        None if packed.exists() => Some(packed),
        None if is_release => built(&place),
        None => None,
    };
    let bytes = reader.map_or_else(Vec::new, |file| {
        println!("cargo:rerun-if-changed={}", file.display());
        let bytes = fs::read(&file).unwrap_or_else(|error| panic!("COPAL_READER: {}: {error}", file.display()));
        assert!(bytes.starts_with(b"\0asm\x01\0\0\0"), "COPAL_READER: {} is no WebAssembly module", file.display());
        bytes
    });
    fs::write(place.join("reader.wasm"), bytes).expect("cargo's own directory can be written");
}

/// Builds the reader, as `cargo xtask reader` does, in a directory of its own. Without Rust's target for it, or without clang, the
/// command is built all the same, and carries none.
fn built(place: &Path) -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace lies above");
    for source in ["reader", "engine/src", "format/src", "docs/format.md", "Cargo.lock", "Cargo.toml"] {
        println!("cargo:rerun-if-changed={}", workspace.join(source).display());
    }
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo says which"));
    cargo.args(["build", "--package", "copal-reader", "--bin", "copal-reader", "--profile", "reader", "--locked"]);
    cargo.args(["--target", TARGET, "--target-dir"]).arg(place.join("reader")).current_dir(workspace);
    // These are of the build for this machine.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"].contains(&&*text) || text.starts_with("CARGO_PROFILE_") {
            cargo.env_remove(&name);
        }
    }
    let file = place.join("reader").join(TARGET).join("reader/copal-reader.wasm");
    match cargo.output() {
        Ok(output) if output.status.success() && file.exists() => return Some(file),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            said.lines().filter(|line| line.starts_with("error")).for_each(|line| println!("cargo:warning={line}"));
        }
        Err(error) => println!("cargo:warning={error}"),
    }
    println!("cargo:warning=the command is built without the reader: \"cargo xtask reader\" says what is missing");
    None
}

const TARGET: &str = "wasm32-wasip1";
