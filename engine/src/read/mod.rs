//! Read: what every reader checks before it believes bytes of a repository. Hosts fetch the bytes, keep what they opened,
//! and choose which copy to try next.

mod allowance;
mod copy;
mod session;
mod snapshot;
#[cfg(test)]
mod tests;

pub use allowance::{Allowance, TooLong};
pub use copy::{CopyFault, chunk, page, page_row, sealed_by};
pub use session::{Session, SessionFault};
pub use snapshot::{InfoFault, SignedSnapshot, SnapshotFault, open_info};
