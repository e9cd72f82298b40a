//! JavaScript: the engine's interface for browsers and Node. Converts, calls, converts.
#![allow(unsafe_code)] // Reason: what wasm-bindgen generates for an export is unsafe; nothing here is.
#![allow(missing_docs)] // Reason: `types.ts` and `docs/web.md` describe what JavaScript sees.
#![allow(unreachable_pub)] // Reason: wasm-bindgen exports what no Rust reaches.

mod backup;
mod changes;
mod clients;
mod columns;
mod convert;
mod devices;
mod look;
mod marking;
mod view;
mod workers;

use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.ts");

/// The program's name and version, as in snapshots.
#[wasm_bindgen]
pub fn version() -> String {
    concat!("copal-wasm ", env!("CARGO_PKG_VERSION")).to_owned()
}

/// The order of two paths in a tree.
#[wasm_bindgen(js_name = comparePaths)]
pub fn compare_paths(a: &str, b: &str) -> i32 {
    copal_format::path::TreePath::compare(a.as_bytes(), b.as_bytes()) as i32
}
