//! The parts of the `copal` command: what it reads from the file system and how it writes back. The engine decides, this
//! crate performs.
//!
//! [`scan`] walks the sources in tree order, [`read`] reads one of their files.

pub mod duration;
pub mod filter;
mod names;
pub mod open;
pub mod read;
pub mod scan;
pub mod size;
pub mod stat;
