//! The `copal` command: a host that parses, drives the engine and the service, and reports. The engine decides, this crate
//! performs.
#![forbid(unsafe_code)]

// words
pub mod agree;
pub mod args;
pub mod clock;
pub mod credentials;
pub mod entropy;
pub mod exit;
pub mod location;
pub mod places;
pub mod remote;
pub mod report;
pub mod secrets;
pub mod site;
pub mod wait;

// the file system
mod classes;
pub mod filter;
pub mod materialize;
mod names;
pub mod open;
#[cfg(test)]
mod privileges;
pub mod read;
pub mod scan;
pub mod stat;

// the repository
pub mod repository;
pub mod reader;
pub mod history;
pub mod pick;

// the acts
pub mod backup;
pub mod restore;
pub mod dump;
pub mod met;
pub mod look;
pub mod changes;
pub mod policy;
pub mod retain;
pub mod verify;
pub mod serve;
pub mod commands;
