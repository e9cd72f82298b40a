//! Puts the reader into the command, if `COPAL_READER` names the file of one (`docs/reader.md`); else nothing.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-env-changed=COPAL_READER");
    println!("cargo:rerun-if-changed=build.rs");
    let place = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where")).join("reader.wasm");
    let reader = env::var_os("COPAL_READER").filter(|file| !file.is_empty()).map(PathBuf::from);
    let bytes = reader.map_or_else(Vec::new, |file| {
        println!("cargo:rerun-if-changed={}", file.display());
        let bytes = fs::read(&file).unwrap_or_else(|error| panic!("COPAL_READER: {}: {error}", file.display()));
        assert!(bytes.starts_with(b"\0asm\x01\0\0\0"), "COPAL_READER: {} is no WebAssembly module", file.display());
        bytes
    });
    fs::write(place, bytes).expect("cargo's own directory can be written");
}
