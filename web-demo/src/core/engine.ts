//! Engine: in WebAssembly, as `cargo xtask wasm` builds it, in two files: `load` takes the first, `loadRest` the other one.

export * from "../../../wasm/pkg/copal.js";
