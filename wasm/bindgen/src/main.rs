//! Makes what browsers load of a module, two files, and the JavaScript and the types beside them:
//! `copal-wasm-bindgen MODULE FOLDER`.
#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

mod split;
mod loader;

/// Classes and functions that neither unlocking, enrolling nor a worker uses: they go to the second file.
const REST: [&str; 7] = ["backup", "comparison", "library", "receipt", "restore", "tree", "view"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, folder] = arguments.as_slice() else {
        eprintln!("usage: copal-wasm-bindgen MODULE FOLDER");
        return ExitCode::FAILURE;
    };
    match make(Path::new(module), Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{module}: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn make(module: &Path, folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut bindgen = Bindgen::new();
    // Of the targets only this one lets its host instantiate.
    let generated = bindgen.bundler(true).and_then(|bindgen| {
        bindgen
            .input_path(module)
            .out_name("copal")
            .typescript(true)
            .remove_producers_section(true)
            .remove_name_section(true)
            .generate(folder)
    });
    generated.map_err(|error| format!("{error:#}"))?;

    let whole = folder.join("copal_bg.wasm");
    let files = split::split(&fs::read(&whole).map_err(failed)?, &REST).map_err(|error| chain(&error))?;
    let loader = loader::loader(&files).map_err(|error| chain(&error))?;
    let types = fs::read_to_string(folder.join("copal.d.ts")).map_err(failed)? + loader::TYPES;
    let made: [(&str, &[u8]); 4] = [
        ("copal_first.wasm", &files.first),
        ("copal_rest.wasm", &files.rest),
        ("copal.js", loader.as_bytes()),
        ("copal.d.ts", types.as_bytes()),
    ];
    for (name, bytes) in made {
        fs::write(folder.join(name), bytes).map_err(failed)?;
    }
    fs::remove_file(whole).and_then(|()| fs::remove_file(folder.join("copal_bg.wasm.d.ts"))).map_err(failed)
}

/// An error and its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
