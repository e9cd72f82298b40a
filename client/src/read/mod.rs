//! Read: reads one entry's content, and the metadata that `statx` does not return.

mod file;
mod holes;
mod owners;
#[cfg(test)]
mod tests;

pub use file::{Ending, OpenError, ReadError, SourceFile, TRIES};
pub use owners::Owners;

pub use crate::system::{Extras, Xattr, holes_of, link_target};
