//! Errors of OpenDAL, without secrets from addresses and headers.

use opendal::{Error, ErrorKind};

use crate::error::{Causes, printable};
use crate::{Op, StoreError};

/// The cause inside a [`StoreError`] of a cloud's store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    /// The server, or the way to it, refuses or fails.
    #[error("{0}")]
    Refused(String),
    /// The answer is not what the protocol says.
    #[error("the server's answer cannot be used: {0}")]
    Answer(&'static str),
}

/// Why a server takes nothing: OpenDAL has no kind of error for these.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(super) enum Barrier {
    #[error("no space is left")]
    Full,
    #[error("nothing may be written")]
    ReadOnly,
}

/// The store error. Keeps the message alone: the rest may have an address with a signature.
pub(super) fn explain(op: Op, key: &str, error: &Error) -> StoreError {
    let trouble = Trouble::Refused(printable(error.message()));
    let barrier = std::error::Error::source(error).and_then(|source| source.downcast_ref());
    if let Some(barrier) = barrier {
        let (key, source) = (key.to_owned(), trouble.into());
        return match barrier {
            Barrier::Full => StoreError::Full { op, key, source },
            Barrier::ReadOnly => StoreError::ReadOnly { op, key, source },
        };
    }
    match error.kind() {
        // OpenDAL calls a WebDAV 403 temporary. A denied request is not tried again here.
        ErrorKind::PermissionDenied => StoreError::Denied { op, key: key.to_owned(), source: trouble.into() },
        kind if kind == ErrorKind::RateLimited || error.is_temporary() => trouble.passing(op, key),
        _ => trouble.lasting(op, key),
    }
}
