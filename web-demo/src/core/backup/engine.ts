//! Engine: the module for sealing, as `cargo xtask wasm` builds it. It has a memory of its own and knows nothing of the module that
//! every browser loads. `initSync` starts it; before that nothing of it works.

export * from "../../../../wasm/pkg/sealing.js";
