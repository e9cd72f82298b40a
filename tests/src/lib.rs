//! What tests that cross crates share.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "in a kit of tests most names say all")]

pub mod fuzz;
pub mod golden;
pub mod kit;
pub mod restores;
