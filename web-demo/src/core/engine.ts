//! Engine: in WebAssembly, as `cargo xtask wasm` builds it. `initSync` starts it; before that nothing of it works.

export * from "../../../wasm/pkg/copal.js";
