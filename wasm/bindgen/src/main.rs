//! Makes what browsers load: the module `copal_bg.wasm`, and `copal.js` and its types beside it:
//! `copal-wasm-bindgen MODULE FOLDER`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, folder] = arguments.as_slice() else {
        eprintln!("usage: copal-wasm-bindgen MODULE FOLDER");
        return ExitCode::FAILURE;
    };
    let mut bindgen = Bindgen::new();
    let made = bindgen.web(true).and_then(|bindgen| {
        bindgen
            .input_path(module)
            .out_name("copal")
            .typescript(true)
            .remove_producers_section(true)
            .remove_name_section(true)
            .generate(folder)
    });
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{module}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
