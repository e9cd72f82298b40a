//! The `copal` command: parses, asks, runs the client and the jobs, serves, and reports. What it does to a repository is in
//! `copal-client`.
#![forbid(unsafe_code)]
#![expect(
    unreachable_pub,
    reason = "`pub` says what other modules use; the crate itself offers only what stands here as `pub`"
)]

// words
mod args;
mod exit;
// docs/cli.md explains every JSON field; a comment in `report` adds only what that lacks.
mod report;
mod keychain;
mod secrets;

// the machine
mod system;

// the acts
mod pick;
mod look;
mod policy;
mod retain;
mod config;
mod schedule;
pub mod commands;
#[cfg(test)]
mod reference;
