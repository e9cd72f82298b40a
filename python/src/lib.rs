//! Copal for Python, as the module `copal._copal`. The package `copal` around it adds what Python's own classes give:
//! files with a buffer. Everything that may take time runs without the interpreter's lock.

mod entry;
mod error;
mod repository;
mod snapshot;
mod stream;
mod watch;

use pyo3::prelude::*;

#[pymodule]
mod _copal {
    #[pymodule_export]
    use super::entry::{Entries, Entry};
    #[pymodule_export]
    use super::error::{CopalError, Damaged, Interrupted, NotFound, Refused, StoreFailed, WrongSecret};
    #[pymodule_export]
    use super::repository::{Finding, Repository, Saved, create, open, verify};
    #[pymodule_export]
    use super::snapshot::{Restored, Snapshot};
    #[pymodule_export]
    use super::stream::Reader;
}
