//! Same engine everywhere: this build makes, of a scripted session, the objects of the golden report; `cargo xtask test`
//! holds wasmtime, Node, Chromium and their own ciphers to it.

#[path = "../examples/session/script.rs"]
mod script;

#[test]
fn this_build_of_the_engine_makes_the_golden_session() {
    assert_eq!(script::report(), include_str!("../../tests/golden/session.txt"), "a stored byte changed");
}
