//! The command `copal`.
#![forbid(unsafe_code)]

fn main() {}
