//! Copal's engine: every decision about a repository, on the bytes that `copal-format` defines.
//!
//! The engine has no files, sockets, clock, randomness, threads or async. Hosts push bytes, times and random numbers in
//! and take values out. A module imports only from modules listed above it (`tests/tests/layering.rs` enforces this).
#![forbid(unsafe_code)]

pub mod backup;
pub mod read;
pub mod restore;
pub mod ingest;
pub mod retention;
pub mod mark;
pub mod plan;
