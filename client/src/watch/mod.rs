//! Watch: notes what changes in directories, so that a backup looks only at that.
//!
//! A [`Watcher`] runs as long as the machine does. A backup [asks](ask) it before it looks at anything, and
//! [confirms](Asked::confirm) once it has made a snapshot: what has changed since that backup asked is the next list. The
//! question is a file in a directory that is watched too. So it comes in order: whatever happened before the backup asked
//! is in the answer.

mod changes;
mod directories;
mod handover;
mod watcher;

pub use handover::{Asked, Unwatched, ask, handover_of};
pub use watcher::{WatchError, Watcher};
