//! What can go wrong with a store.

use std::error::Error;
use std::ops::Range;
use std::path::PathBuf;

use crate::{Key, Op};

/// What lies beneath an error: the system's, or a client library's.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Why a store did not do what was asked.
///
/// Where a field `key` is text, it is the object's key, the prefix of a listing, or empty for the clock.
/// After any error of `create` or `delete` but [`Obstructed`](StoreError::Obstructed) the effect may or may
/// not have happened: ask again.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "op, key, lack and source mean the same everywhere, as told above")]
pub enum StoreError {
    /// The object to be read does not exist.
    #[error("no object {key}")]
    NotFound { key: Key },

    /// The object does not have all the bytes asked for.
    #[error("bytes {}..{} asked of object {key}, which has {length}", range.start, range.end)]
    OutOfRange { key: Key, range: Range<u64>, length: u64 },

    /// No room is left, or none within the quota.
    #[error("no space left to {}", deed(*op, key))]
    Full { op: Op, key: String, source: Cause },

    /// The store knows us and says no.
    #[error("not permitted to {}", deed(*op, key))]
    Denied { op: Op, key: String, source: Cause },

    /// The store takes no writes at all.
    #[error("store is read-only, cannot {}", deed(*op, key))]
    ReadOnly { op: Op, key: String, source: Cause },

    /// The directory or bucket that holds everything is not there: unplugged, unmounted, moved or removed. Never
    /// mistaken for an empty store.
    #[error("store {} is not there", root.display())]
    Gone { root: PathBuf },

    /// Something that is no object stands at the key or on the way to it.
    #[error("something other than an object stands in the way of {key}")]
    Obstructed { key: String },

    /// The store cannot make a name without the risk of replacing one, and so cannot be used.
    #[error("store cannot create {key} without the risk of replacing it")]
    NotCreateOnly { key: String },

    /// The store does not keep what a repository in it rests on.
    #[error("the store cannot hold a repository: {lack}")]
    Unfit { lack: &'static str },

    /// May pass: the same call can succeed when made again later.
    #[error("for now cannot {}", deed(*op, key))]
    Transient { op: Op, key: String, source: Cause },

    /// The process is taken to have died (see [`fault`](crate::fault)): nothing works any more.
    #[error("crashed, as the fault script says")]
    Crashed,

    /// Anything else the store reports.
    #[error("cannot {}", deed(*op, key))]
    Io { op: Op, key: String, source: Cause },
}

impl StoreError {
    /// Whether the same call may succeed when made again after a while.
    pub fn is_transient(&self) -> bool {
        matches!(self, StoreError::Transient { .. })
    }
}

fn deed(op: Op, key: &str) -> String {
    match (op, key) {
        (Op::List, "") => "list all objects".to_owned(),
        (_, "") => op.to_string(),
        (_, key) => format!("{op} {key}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_says_what_was_tried_on_which_object_and_leaves_the_cause_to_source() {
        let error = StoreError::Full { op: Op::Create, key: "packs/ab".into(), source: "quota".into() };
        assert_eq!(error.to_string(), "no space left to create packs/ab");
        assert_eq!(error.source().map(ToString::to_string), Some("quota".to_owned()));
    }

    #[test]
    fn clock_and_whole_store_are_named_without_a_key() {
        let failed = |op| StoreError::Io { op, key: String::new(), source: "x".into() }.to_string();
        assert_eq!(failed(Op::Now), "cannot read the clock");
        assert_eq!(failed(Op::List), "cannot list all objects");
    }
}
