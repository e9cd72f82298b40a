//! The `copal` command: a thin host that parses, drives the engine and reports.

pub mod args;
pub mod exit;
pub mod places;
pub mod report;
pub mod secrets;
