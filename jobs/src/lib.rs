//! What runs beside the store without keys: ingest, expire, compact, prune, check, rebuild. Async functions over a
//! [`Store`], called by the `copal` command on one machine and by Lambda functions in the cloud. They perform effects;
//! the engine decides.
//!
//! ```
//! use copal_jobs::view;
//! use copal_store::memory::MemoryStore;
//!
//! // What the newest root names; in an empty store there is none.
//! let view = futures::executor::block_on(view::read(&MemoryStore::new()))?;
//! assert!(view.root.is_none() && view.state.snapshots.is_empty());
//! # Ok::<(), copal_jobs::error::JobError>(())
//! ```
//!
//! [`Store`]: copal_store::Store
#![forbid(unsafe_code)]

mod baseline;
pub mod budget;
pub mod changes;
pub mod check;
pub mod clients;
pub mod commit;
pub mod compact;
pub mod error;
pub mod expire;
pub mod faults;
pub mod context;
pub mod ingest;
mod lookup;
pub mod metrics;
pub mod objects;
pub mod policy;
mod progress;
pub mod prune;
pub mod rebuild;
pub mod replica;
mod replica_mark;
mod report;
pub mod scratch;
mod share_id;
pub mod shares;
mod stored;
mod trust;
pub mod upkeep;
pub mod view;
pub mod witness;
