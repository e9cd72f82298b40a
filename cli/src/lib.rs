//! The `copal` command: parses, asks, runs the client and the jobs, serves, and reports. What it does to a repository is in
//! `copal-client`.
#![forbid(unsafe_code)]

// words
pub mod agree;
pub mod args;
pub mod exit;
#[expect(missing_docs, reason = "docs/cli.md explains every field; most names need no more")]
pub mod report;
pub mod keychain;
pub mod secrets;
pub mod guarded;

// the acts
pub mod pick;
pub mod look;
pub mod policy;
pub mod retain;
pub mod config;
pub mod schedule;
pub mod commands;
