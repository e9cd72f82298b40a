//! Backup: decides what a run reads, which chunks are new, and in which order blocks, packs and pages are made.

pub mod change;
pub mod claim;
pub mod content;
pub mod cut;
mod given;
pub mod kept;
pub mod reuse;
mod seen;
mod stream;
mod terms;
pub mod session;
