//! Engine: the module in WebAssembly that `cargo xtask wasm` builds.

export * from "../../../wasm/pkg/copal.js";
export { default as load } from "../../../wasm/pkg/copal.js";
