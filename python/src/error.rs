//! Errors as exceptions: one class for each thing that a program may do.

use std::error::Error as _;

use copal_client::browse::BrowseError;
use copal_client::{Error, ErrorKind};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(copal, CopalError, PyException, "Why Copal did not do what was asked.");
create_exception!(copal, NotFound, CopalError, "The repository, snapshot or entry is not there.");
create_exception!(copal, WrongSecret, CopalError, "The secret does not open the repository.");
create_exception!(copal, Damaged, CopalError, "Something in the repository is lost, damaged, or older than known.");
create_exception!(copal, StoreFailed, CopalError, "The store cannot be reached, is full, or refuses.");
create_exception!(copal, Refused, CopalError, "What was asked for cannot be done.");
create_exception!(copal, Interrupted, CopalError, "The caller ended it.");

/// The exception for an error, with the messages of all its causes.
pub(crate) fn raised(error: impl Into<Error>) -> PyErr {
    let error = error.into();
    let mut text = error.to_string();
    for cause in std::iter::successors(error.source(), |cause| (*cause).source()) {
        // A transparent error repeats the text of its cause.
        let why = cause.to_string();
        if !text.ends_with(&why) {
            text = format!("{text}: {why}");
        }
    }
    match error.kind() {
        ErrorKind::Absent => NotFound::new_err(text),
        ErrorKind::Secret => WrongSecret::new_err(text),
        ErrorKind::Damaged => Damaged::new_err(text),
        ErrorKind::Store => StoreFailed::new_err(text),
        ErrorKind::Interrupted => Interrupted::new_err(text),
        _ => Refused::new_err(text),
    }
}

/// The same for an entry, which is named.
pub(crate) fn raised_at(path: &str, error: BrowseError) -> PyErr {
    let text = format!("{path}: {error}");
    match Error::from(error).kind() {
        ErrorKind::Absent => NotFound::new_err(text),
        ErrorKind::Damaged => Damaged::new_err(text),
        ErrorKind::Store => StoreFailed::new_err(text),
        _ => Refused::new_err(text),
    }
}
