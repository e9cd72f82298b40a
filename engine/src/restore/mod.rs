//! Restore: in which order blocks are read, so that each is opened once and written to all its targets; and where in a file
//! its bytes lie.

pub mod extents;
pub mod leaves;
pub mod window;
