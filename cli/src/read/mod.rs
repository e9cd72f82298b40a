//! Read: one entry's content and what `statx` does not tell, as a backup needs them.

mod extras;
mod file;
mod holes;
mod owners;
#[cfg(test)]
mod tests;

pub use extras::{Extras, Xattr, link_target};
pub use file::{Ending, OpenError, ReadError, SourceFile, TRIES};
pub use holes::{Hole, holes_of};
pub use owners::Owners;
