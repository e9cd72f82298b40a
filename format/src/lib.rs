//! Copal's format: every byte that is stored or signed, its words, its keys and its limits.
//!
//! `docs/format.md` is the specification; this crate reads and writes it, and decides nothing about a repository. It
//! has no files, sockets, clock, randomness, threads or async. A module imports only from modules listed above it
//! (`tests/tests/layering.rs` enforces this).
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
pub mod policy;
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
