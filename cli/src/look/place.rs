//! Place: what `SNAPSHOT:PATH` means in a snapshot.

use copal_engine::path::TreePath;
use copal_engine::tree::Entry;

use super::{is_directory, unreadable};
use crate::args::spec::SpecPath;
use crate::history::Snapshot;
use crate::reader::{PageReader, TreeError};
use crate::report::Failure;
use crate::report::field::{Hex, PathField};

/// A place that exists in a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its path.
    pub path: TreePath,
    /// Its entry; none for a top directory of which nothing is known.
    pub entry: Option<Entry>,
}

impl Place {
    /// Whether something may lie in it.
    pub fn is_directory(&self) -> bool {
        self.entry.as_ref().is_none_or(is_directory)
    }
}

/// Finds the first of the places a path may mean that exists; no path means the top directory.
pub fn locate(pages: &PageReader, snapshot: &Snapshot, path: Option<&SpecPath>) -> Result<Place, Failure> {
    let Some(path) = path else { return Ok(Place { path: TreePath::TOP, entry: None }) };
    let candidates = path.candidates(&snapshot.sources());
    for candidate in &candidates {
        if let Some(place) = place_at(pages, snapshot, candidate).map_err(unreadable)? {
            return Ok(place);
        }
    }
    let (SpecPath::Absolute(wanted) | SpecPath::Relative(wanted)) = path;
    let shown = match path {
        SpecPath::Absolute(_) => PathField::of(wanted).0,
        SpecPath::Relative(_) => wanted.as_bytes().to_vec(),
    };
    Err(Failure::NotInSnapshot { path: shown, snapshot: Hex(snapshot.id).short() })
}

fn place_at(pages: &PageReader, snapshot: &Snapshot, path: &TreePath) -> Result<Option<Place>, TreeError> {
    if path.is_top() {
        return Ok(Some(Place { path: TreePath::TOP, entry: None }));
    }
    let mut entries = pages.entries(snapshot.root);
    entries.seek(path.clone());
    let entry = entries.next()?.filter(|entry| entry.path == *path);
    Ok(entry.map(|entry| Place { path: path.clone(), entry: Some(entry) }))
}
