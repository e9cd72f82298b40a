//! Same engine everywhere: this build computes what the golden report says; `cargo xtask test` compares WebAssembly with it.

#[path = "../../engine/examples/probe/exercise.rs"]
mod exercise;

#[test]
fn this_build_of_the_engine_computes_the_golden_report() {
    copal_tests::golden::check("probe.txt", exercise::report().as_bytes());
}
