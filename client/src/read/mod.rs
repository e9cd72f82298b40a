//! Read: reads one entry's content, and the metadata that `statx` does not return.

mod extras;
mod file;
mod holes;
mod owners;
#[cfg(test)]
mod tests;

pub use extras::{Extras, Xattr, link_target};
pub use file::{Ending, OpenError, ReadError, SourceFile, TRIES};
pub use holes::holes_of;
pub use owners::Owners;
