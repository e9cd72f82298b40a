//! Copal's format: every byte that is stored or signed, its words, its keys and its limits.
//!
//! `docs/format.md` is the specification; this crate reads and writes it, and decides nothing about a repository. It
//! has no files, sockets, clock, randomness, threads or async. A module imports only from modules listed above it
//! (`tests/tests/layering.rs` enforces this).
//!
//! ```
//! use copal_format::id::{ChunkId, DomainId};
//! use copal_format::pack::{self, PackKind, PackWriter};
//!
//! let domain = DomainId([1; 16]);
//! let mut writer = PackWriter::new(PackKind::Data, domain, [2; 16], vec![b"a session's record".to_vec()])?;
//! writer.add_block(b"a sealed block", 0, 7, [ChunkId([3; 24])], [])?;
//! let pack = writer.finish();
//!
//! let table = pack::parse(&pack.bytes)?;
//! assert_eq!((table.domain, table.blocks[0].counter), (domain, 7));
//! assert_eq!(table.ids, [ChunkId([3; 24])]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

// words
pub mod id;
pub mod limits;
pub mod order;
pub mod number;
pub mod path;
pub mod room;
pub mod shown;
pub mod time;
pub mod wire;

// bytes
pub mod noise;
pub mod compress;
pub mod keys;
pub mod chunk;
pub mod seal;

// records
pub mod layout;
pub mod keyring;
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
pub mod troubles;
pub mod snapshot;
pub mod repository;
pub mod client;
pub mod enrollment;
pub mod invitation;
pub mod proof;
pub mod manifest;
pub mod change;
pub mod expiry;
pub mod request;

/// The records of the golden vectors, for the unit tests, too.
#[cfg(test)]
#[allow(dead_code, reason = "the unit tests need some of them, the golden vectors all")]
#[path = "../tests/samples/mod.rs"]
mod samples;
#[cfg(test)]
extern crate self as copal_format;
