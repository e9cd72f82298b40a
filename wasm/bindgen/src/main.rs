//! Makes what browsers load: the module `NAME_bg.wasm`, and `NAME.js` and its types beside it:
//! `copal-wasm-bindgen MODULE FOLDER NAME`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use walrus::{Module, ModuleConfig};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, folder, name] = arguments.as_slice() else {
        eprintln!("usage: copal-wasm-bindgen MODULE FOLDER NAME");
        return ExitCode::FAILURE;
    };
    let mut bindgen = Bindgen::new();
    let made = without_shims(module).and_then(|input| {
        let bindgen = bindgen.web(true)?;
        bindgen.input_module(name, input).out_name(name).typescript(true).generate(folder)
    });
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{module}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Reads a module and ends the export of what Zstandard calls within it: an exported function stays, with all that it
/// calls, even if nothing calls it.
fn without_shims(module: &str) -> walrus::Result<Module> {
    let mut config = ModuleConfig::new();
    config.strict_validate(false).generate_name_section(false).generate_producers_section(false);
    let mut module = config.parse_file(module)?;
    let shims = module.exports.iter().filter(|export| export.name.starts_with("rust_zstd_wasm_shim_"));
    for shim in shims.map(|export| export.id()).collect::<Vec<_>>() {
        module.exports.delete(shim);
    }
    Ok(module)
}
