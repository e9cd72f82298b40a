//! The engine for hosts of WebAssembly: a browser's workers, Node, wasmtime.
//!
//! What a host has to read it is told, what it read it hands over; nothing here does I/O, knows the time or has
//! randomness. `js` converts, calls, converts; everything below it is plain Rust, which the tests run natively.
// What wasm-bindgen generates for an export is unsafe; without it nothing is.
#![cfg_attr(not(feature = "js"), forbid(unsafe_code))]

pub mod backup;
pub mod chunker;
pub mod client;
pub mod enrollment;
pub mod fault;
mod kept;
pub mod look;
pub mod owner;
mod sealed;
pub mod sealer;
pub mod view;

#[cfg(feature = "js")]
mod js;
