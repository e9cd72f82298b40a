//! Backup: decides what a run reads, which chunks are new, and in which order blocks, packs and pages are made.

pub mod change;
pub mod content;
pub mod cut;
mod given;
mod seen;
mod stream;
mod terms;
pub mod session;
