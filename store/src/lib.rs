//! Storage for Copal's objects: the [`Store`] trait; stores in a directory, in an S3 bucket (feature `s3`), at an
//! address with a scheme ([`site`]) and in memory; and wrappers that retry, limit concurrency and rate, cache, record, refuse writes, or inject faults.
//!
//! Objects are create-only: a name is created once, durably, and never replaced. Every guarantee of a backup rests on
//! that, so every store passes the suite in [`conformance`] (feature `conformance`).
//!
//! ```
//! use copal_store::memory::MemoryStore;
//! use copal_store::{Created, Key, Store};
//!
//! futures::executor::block_on(async {
//!     let (store, key) = (MemoryStore::new(), Key::new("packs/one")?);
//!     assert_eq!(store.create(&key, "its bytes".into()).await?, Created::New);
//!     assert_eq!(store.create(&key, "others".into()).await?, Created::Exists);
//!     assert_eq!(store.read(&key).await?, "its bytes");
//!     Ok::<(), Box<dyn std::error::Error>>(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "remote")]
pub mod adapt;
pub mod cache;
#[cfg(any(feature = "s3", feature = "opendal"))]
mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod copies;
mod error;
pub mod fault;
#[cfg(feature = "faults")]
pub mod faults;
pub mod frozen;
pub mod fs;
mod key;
pub mod limit;
pub mod memory;
mod op;
mod pass_on;
mod presigned;
pub mod record;
pub mod reserve;
pub mod retry;
mod run_directory;
#[cfg(feature = "remote")]
mod probe;
#[cfg(feature = "s3")]
pub mod s3;
#[cfg(feature = "remote")]
pub mod site;
pub mod ssh;
mod store;
mod system;
mod time;
#[cfg(any(feature = "s3", feature = "opendal"))]
mod under_way;
#[cfg(any(feature = "sftp", feature = "opendal"))]
mod walk;
#[cfg(feature = "remote")]
mod worker;

pub use error::{Cause, StoreError};
pub use key::{BadKey, Key};
pub use op::Op;
pub use presigned::Presigned;
pub use store::{Created, ListPage, Listed, Stat, Store, list_after, list_all};
/// Durability of single files, for programs that keep some beside a store.
pub use system::{sync, sync_directory};
pub use time::StoreTime;
