//! Place: resolves the path of `SNAPSHOT:PATH`.

use copal_client::history::Snapshot;
use copal_client::reader::PageReader;
use copal_client::restore::{Scope, ScopeError, SpecPath};

use crate::report::Failure;

/// The part of a snapshot that a path names; the whole without a path.
pub(super) fn place(pages: &PageReader, snapshot: &Snapshot, path: Option<&SpecPath>) -> Result<Scope, Failure> {
    let Some(path) = path else { return Ok(Scope::whole()) };
    Scope::find(pages, snapshot.root, path, &snapshot.sources()).map_err(|error| match error {
        ScopeError::Absent => {
            let path = match path {
                SpecPath::Absolute(wanted) => [b"/", wanted.as_bytes()].concat(),
                SpecPath::Relative(wanted) => wanted.as_bytes().to_vec(),
            };
            Failure::NotInSnapshot { path, snapshot: snapshot.id }
        }
        ScopeError::Lost(error) => error.into(),
        ScopeError::Tree(error) => error.into(),
    })
}
