//! JavaScript: the engine's interface for browsers and Node. Converts, calls, converts.
//!
//! Three modules are made of it, each with a memory of its own. `page` is what every browser loads. `sealing` is loaded when a
//! backup begins: it cuts, compresses and seals. `administration` is loaded when an owner decides about the repository: about
//! what is kept, or what needs the passphrase again. What it and `page` need is in `owner`.
#![allow(unsafe_code)] // Reason: what wasm-bindgen generates for an export is unsafe; nothing here is.
#![allow(missing_docs)] // Reason: `*.ts` and `docs/web.md` describe what JavaScript sees.
#![allow(unreachable_pub)] // Reason: wasm-bindgen exports what no Rust reaches.
#![cfg_attr(not(feature = "page"), allow(dead_code))] // Reason: the other modules need a part of `convert` only.

use wasm_bindgen::prelude::wasm_bindgen;

mod convert;

#[cfg(any(feature = "page", feature = "administration"))]
mod owner;

#[cfg(feature = "administration")]
mod inviting;
#[cfg(feature = "administration")]
mod keys;

#[cfg(feature = "page")]
mod backup;
#[cfg(feature = "page")]
mod changes;
#[cfg(feature = "page")]
mod clients;
#[cfg(feature = "page")]
mod columns;
#[cfg(feature = "page")]
mod devices;
#[cfg(feature = "administration")]
mod keeping;
#[cfg(feature = "page")]
mod look;
#[cfg(feature = "page")]
mod marking;
#[cfg(feature = "page")]
mod view;
#[cfg(feature = "sealing")]
mod workers;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.ts");

#[cfg(feature = "page")]
#[wasm_bindgen(typescript_custom_section)]
const PAGE: &str = include_str!("page.ts");

#[cfg(feature = "sealing")]
#[wasm_bindgen(typescript_custom_section)]
const SEALING: &str = include_str!("sealing.ts");

#[cfg(feature = "administration")]
#[wasm_bindgen(typescript_custom_section)]
const ADMINISTRATION: &str = include_str!("administration.ts");

/// The program's name and version, as in snapshots.
#[cfg(feature = "page")]
#[wasm_bindgen]
pub fn version() -> String {
    concat!("copal-wasm ", env!("CARGO_PKG_VERSION")).to_owned()
}

/// The order of two paths in a tree.
#[cfg(feature = "page")]
#[wasm_bindgen(js_name = comparePaths)]
pub fn compare_paths(a: &str, b: &str) -> i32 {
    copal_format::path::TreePath::compare(a.as_bytes(), b.as_bytes()) as i32
}
