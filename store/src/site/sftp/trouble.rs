//! What goes wrong between this machine and an SFTP server.

use std::time::Duration;

use crate::{Op, StoreError};

/// The cause inside a [`StoreError`] of an SFTP store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum Trouble {
    /// The server refuses, or fails.
    #[error("the server says: {message} (SFTP status {code})")]
    Status { code: u32, message: String },
    /// ssh could not be started.
    #[error("cannot run {program}: {reason}")]
    Start { program: String, reason: String },
    /// The connection is gone, or never came about; ssh has printed why.
    #[error("the connection through ssh has ended")]
    Ended {
        /// Whether this server has ever answered: else a retry does not help.
        may_pass: bool,
    },
    /// The connection is open, but no answer comes.
    #[error("the server has not answered for {} s", SILENCE.as_secs())]
    Silent,
    /// The answer is not what the protocol says.
    #[error("the server's answer cannot be used: {0}")]
    Answer(&'static str),
    /// A listing has no end.
    #[error("{0}")]
    Endless(String),
    /// The server lacks something without which objects are not safe.
    #[error("{0}")]
    Lacks(&'static str),
    /// Something other than a file has the object's name.
    #[error("something other than an object has its name")]
    Obstructed,
}

impl Trouble {
    /// Whether the server says that there is no such file.
    pub(super) fn is_absence(&self) -> bool {
        matches!(self, Trouble::Status { code: NO_SUCH_FILE, .. })
    }

    /// Whether the server only says that it failed: the name exists, the disk is full, or anything else.
    pub(super) fn is_failure(&self) -> bool {
        matches!(self, Trouble::Status { code: FAILURE | FILE_ALREADY_EXISTS, .. })
    }

    /// Whether the server cannot do what it was asked for, with this file or at all.
    pub(super) fn is_unsupported(&self) -> bool {
        matches!(self, Trouble::Status { code: BAD_MESSAGE | UNSUPPORTED, .. })
    }

    pub(super) fn explain(self, op: Op, key: &str) -> StoreError {
        let key = key.to_owned();
        match self {
            Trouble::Status { code: PERMISSION_DENIED, .. } => StoreError::Denied { op, key, source: self.into() },
            Trouble::Ended { may_pass: true } | Trouble::Silent => {
                StoreError::Transient { op, key, source: self.into() }
            }
            Trouble::Lacks(lack) => StoreError::Unfit { lack },
            Trouble::Obstructed => StoreError::Obstructed { key },
            _ => StoreError::Io { op, key, source: self.into() },
        }
    }
}

/// How long a server may keep silent while somebody waits: a slow disk's fsync is shorter.
pub(super) const SILENCE: Duration = Duration::from_secs(120);

pub(super) const OK: u32 = 0;
pub(super) const END: u32 = 1;
const NO_SUCH_FILE: u32 = 2;
const PERMISSION_DENIED: u32 = 3;
const FAILURE: u32 = 4;
const BAD_MESSAGE: u32 = 5;
const UNSUPPORTED: u32 = 8;
/// Of later versions; some servers say it in version 3 too.
const FILE_ALREADY_EXISTS: u32 = 11;
