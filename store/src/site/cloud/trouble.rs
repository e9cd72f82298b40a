//! Errors of OpenDAL, without secrets from addresses and headers.

use opendal::{Error, ErrorKind};

use crate::error::Causes;
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

/// The store error. Keeps the message alone: the rest may have an address with a signature.
pub(super) fn explain(op: Op, key: &str, error: &Error) -> StoreError {
    let trouble = Trouble::Refused(printable(error.message()));
    match error.kind() {
        // OpenDAL takes a WebDAV server's refusal for one that passes.
        ErrorKind::PermissionDenied => StoreError::Denied { op, key: key.to_owned(), source: trouble.into() },
        kind if kind == ErrorKind::RateLimited || error.is_temporary() => trouble.passing(op, key),
        _ => trouble.lasting(op, key),
    }
}

/// Text from a server, as one short line.
fn printable(text: &str) -> String {
    let short = text.chars().take(300);
    short.map(|character| if character.is_control() { ' ' } else { character }).collect()
}
