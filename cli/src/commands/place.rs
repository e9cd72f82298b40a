//! Place: resolves the path of `SNAPSHOT:PATH`.

use super::failure::of_scope;
use crate::args::spec::SpecPath;
use crate::history::Snapshot;
use crate::reader::PageReader;
use crate::report::Failure;
use crate::restore::Scope;

/// The part of a snapshot that a path names; the whole without a path.
pub(super) fn place(pages: &PageReader, snapshot: &Snapshot, path: Option<&SpecPath>) -> Result<Scope, Failure> {
    let Some(path) = path else { return Ok(Scope::whole()) };
    Scope::find(pages, snapshot.root, path, &snapshot.sources()).map_err(|error| of_scope(error, path, snapshot))
}
