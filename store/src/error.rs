//! Errors of a store.

use std::error::Error;
use std::ops::Range;
use std::path::PathBuf;

use crate::{Key, Op};

/// The underlying error, of the system or of a client library.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Why a store operation failed.
///
/// A field `key` that is text holds the object's key, the prefix of a listing, or nothing for the clock. After an error
/// of `create` or `delete` (except [`Obstructed`](StoreError::Obstructed)) it is unknown whether it took effect: call
/// again.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "op, key, lack and source mean the same everywhere, as told above")]
pub enum StoreError {
    /// The object to be read does not exist.
    #[error("no object {key}")]
    NotFound { key: Key },

    /// The range ends after the object's end.
    #[error("bytes {}..{} asked of object {key}, which has {length}", range.start, range.end)]
    OutOfRange { key: Key, range: Range<u64>, length: u64 },

    /// No space is left, or the quota is used up.
    #[error("no space left to {}", deed(*op, key))]
    Full { op: Op, key: String, source: Cause },

    /// The store knows the caller and refuses.
    #[error("not permitted to {}", deed(*op, key))]
    Denied { op: Op, key: String, source: Cause },

    /// The store accepts no writes at all.
    #[error("store is read-only, cannot {}", deed(*op, key))]
    ReadOnly { op: Op, key: String, source: Cause },

    /// The root directory or bucket is missing: unplugged, unmounted, moved or deleted. Never mistaken for an empty
    /// store.
    #[error("store {} is not there", root.display())]
    Gone { root: PathBuf },

    /// Something that is not an object is at the key, or on the way to it.
    #[error("something other than an object stands in the way of {key}")]
    Obstructed { key: String },

    /// The store cannot create a name without the risk of replacing one, so it cannot be used.
    #[error("store cannot create {key} without the risk of replacing it")]
    NotCreateOnly { key: String },

    /// The store does not give a guarantee that repositories need.
    #[error("the store cannot hold a repository: {lack}")]
    Unfit { lack: &'static str },

    /// A retry may succeed later.
    #[error("cannot {} for now", deed(*op, key))]
    Transient { op: Op, key: String, source: Cause },

    /// The simulated process has crashed (see [`fault`](crate::fault)): all calls fail.
    #[error("crashed, as the fault script says")]
    Crashed,

    /// Any other error of the store.
    #[error("cannot {}", deed(*op, key))]
    Io { op: Op, key: String, source: Cause },
}

impl StoreError {
    /// Whether a retry may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, StoreError::Transient { .. })
    }

    /// Whether the store takes no writes, or not from these credentials, while it may still be read.
    pub fn refuses_writes(&self) -> bool {
        matches!(self, StoreError::Denied { .. } | StoreError::ReadOnly { .. } | StoreError::Full { .. })
    }
}

/// A cause that becomes a store error.
#[cfg(feature = "remote")]
pub(crate) trait Causes: Into<Cause> {
    /// The failure of a call that may succeed later.
    fn passing(self, op: Op, key: &str) -> StoreError {
        StoreError::Transient { op, key: key.to_owned(), source: self.into() }
    }

    /// The failure of a call that will not succeed later.
    fn lasting(self, op: Op, key: &str) -> StoreError {
        StoreError::Io { op, key: key.to_owned(), source: self.into() }
    }
}

#[cfg(feature = "remote")]
impl<T: Into<Cause>> Causes for T {}

/// Text from a server, as one short line.
#[cfg(feature = "remote")]
pub(crate) fn printable(text: &str) -> String {
    text.chars().take(300).map(|character| if character.is_control() { ' ' } else { character }).collect()
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
