//! Copal's portable core: the format and every decision about it.
//!
//! The engine has no files, sockets, clock, randomness, threads or async. Hosts push bytes, times and random numbers in
//! and take values out. A module imports only from modules listed above it (`tests/tests/layering.rs` enforces this).
//! `docs/format.md` defines every byte.
#![forbid(unsafe_code)]

// words
pub mod id;
pub mod limits;
pub mod number;
pub mod path;
pub mod room;
pub mod shown;
pub mod time;
pub mod wire;

// bytes
pub mod compress;
pub mod keys;
pub mod chunk;
pub mod seal;

// records
pub mod layout;
pub mod block;
pub mod extent;
pub mod pack;
pub mod receipt;
pub mod state;
pub mod index;
pub(crate) mod guard;
pub mod root;
pub mod tree;
pub mod exclusions;
pub mod snapshot;
pub mod repository;
pub mod client;
pub mod enrollment;
pub mod proof;
pub mod manifest;
pub mod change;
pub mod expiry;
pub mod request;

// operations
pub mod backup;
pub mod restore;
pub mod ingest;
pub mod retention;
pub mod mark;
pub mod plan;
