//! What tests that cross crates share.
#![forbid(unsafe_code)]

pub mod fuzz;
pub mod golden;
pub mod kit;
pub mod restores;
pub mod sim;
