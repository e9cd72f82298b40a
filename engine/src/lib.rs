//! Copal's engine: every decision about a repository, on the bytes that `copal-format` defines.
//!
//! The engine has no files, sockets, clock, randomness, threads or async. Hosts push bytes, times and random numbers in
//! and take values out. A module imports only from modules listed above it (`tests/tests/layering.rs` enforces this).
//!
//! ```
//! use copal_engine::retention::{Candidate, decide};
//! use copal_format::id::SnapshotId;
//! use copal_format::policy::{Count, Period, Policy};
//! use copal_format::time::Time;
//!
//! const DAY: i64 = 86_400_000_000_000;
//! let made = |id: u8, day: i64| {
//!     let (time, id) = (Time(day * DAY), SnapshotId([id; 16]));
//!     Candidate { id, series: "laptop", time, claimed: time, accepted: time, tags: vec![], pinned: false }
//! };
//! let policy = Policy::default().keeping(Period::Daily, Count::N(2));
//! let verdicts = decide(&policy, &[made(1, 0), made(2, 1), made(3, 2)], Time(3 * DAY));
//! assert_eq!(verdicts.iter().map(|verdict| verdict.keep).collect::<Vec<_>>(), [false, true, true]);
//! ```
#![forbid(unsafe_code)]

pub mod backup;
pub mod difference;
pub mod read;
pub mod restore;
pub mod ingest;
pub mod retention;
pub mod changing;
pub mod mark;
pub mod plan;
