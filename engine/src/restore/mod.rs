//! Restore: orders the reads of blocks, so that each is opened once, and maps content to offsets in files.

pub mod leaves;
pub mod window;
