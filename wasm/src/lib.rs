//! The engine for WebAssembly hosts: a browser's workers, Node, wasmtime.
//!
//! The engine says what to read, and the host supplies the bytes; nothing here does I/O, knows the time or has
//! randomness. `js` converts, calls, converts; everything else is plain Rust, which tests run natively.
// What wasm-bindgen generates for an export is unsafe; without it nothing is.
#![cfg_attr(not(feature = "js"), forbid(unsafe_code))]

pub mod backup;
pub mod changes;
pub mod chunker;
pub mod client;
pub mod devices;
pub mod enrollment;
pub mod fault;
pub mod invitation;
pub mod keeping;
pub mod look;
mod newest;
pub mod owner;
mod sealed;
pub mod sealer;
pub mod slots;
pub mod view;

#[cfg(feature = "js")]
mod js;
