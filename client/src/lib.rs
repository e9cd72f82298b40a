//! The client of a Copal repository: finds it, opens it, saves trees into it, lists, restores and verifies what it holds.
//! The `copal` command is one host of it. The engine decides, this crate performs; it asks nothing, prints nothing, and
//! knows no command line.
#![forbid(unsafe_code)]

// the machine
pub mod clock;
pub mod entropy;
pub mod wait;
pub mod location;
pub mod places;
pub mod credentials;
pub mod progress;

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
pub mod remote;
pub mod backend;
pub mod repository;
pub mod reader;
mod chain;
pub mod history;

// the acts
pub mod backup;
pub mod restore;
pub mod dump;
pub mod met;
pub mod changes;
pub mod verify;
