//! Snapshots: what is in them, and restores.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use copal_client::browse::{BrowseError, SnapshotTree};
use copal_client::format::path::TreePath;
use copal_client::history;
use copal_client::materialize::Overwrite;
use copal_client::restore::Event;
use copal_client::{Copal, Restoring};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::entry::{Entries, Entry};
use crate::error::{raised, raised_at};
use crate::stream::Reader;
use crate::watch::watched;

/// One complete backup.
#[pyclass(frozen, module = "copal")]
pub(crate) struct Snapshot {
    copal: Arc<Copal>,
    snapshot: history::Snapshot,
}

/// What a restore has done.
#[pyclass(frozen, get_all, module = "copal")]
pub(crate) struct Restored {
    /// Files that were written.
    files: u64,
    /// Files that were there already, as they should be.
    files_unchanged: u64,
    /// Entries that were not restored, or not completely, and why.
    troubles: Vec<(OsString, String)>,
    /// Whether something in the repository is damaged.
    is_damaged: bool,
}

impl Snapshot {
    pub(crate) fn new(copal: Arc<Copal>, snapshot: history::Snapshot) -> Self {
        Self { copal, snapshot }
    }

    fn tree(&self, py: Python<'_>) -> PyResult<SnapshotTree> {
        py.detach(|| self.copal.tree(&self.snapshot)).map_err(raised)
    }
}

#[pymethods]
impl Snapshot {
    /// Its id, in hexadecimal digits.
    #[getter]
    fn id(&self) -> String {
        self.snapshot.id.to_string()
    }

    /// When it was made, in nanoseconds of the Unix clock.
    #[getter]
    fn time_ns(&self) -> i64 {
        self.snapshot.time.0
    }

    /// The machine that it counts for.
    #[getter]
    fn host(&self) -> &str {
        self.snapshot.machine()
    }

    #[getter]
    fn label(&self) -> &str {
        &self.snapshot.info.label
    }

    #[getter]
    fn tags(&self) -> Vec<String> {
        self.snapshot.tags.clone()
    }

    /// The paths that were backed up, without a leading slash.
    #[getter]
    fn paths(&self) -> Vec<OsString> {
        self.snapshot.info.paths.iter().cloned().map(OsString::from_vec).collect()
    }

    /// The number of files and their bytes.
    #[getter]
    fn counts(&self) -> (u64, u64) {
        (self.snapshot.info.counts.files, self.snapshot.info.counts.bytes)
    }

    fn __repr__(&self) -> String {
        format!("Snapshot({}, {:?})", self.snapshot.id.short(), self.snapshot.machine())
    }

    /// The entry at a path and all below it, in tree order.
    #[pyo3(signature = (path = PathBuf::new()))]
    fn walk(&self, py: Python<'_>, path: PathBuf) -> PyResult<Entries> {
        Ok(Entries(Mutex::new(self.tree(py)?.walk(tree_path(&path)?))))
    }

    /// The entries directly in a directory.
    #[pyo3(signature = (path = PathBuf::new()))]
    fn list(&self, py: Python<'_>, path: PathBuf) -> PyResult<Entries> {
        Ok(Entries(Mutex::new(self.tree(py)?.list(tree_path(&path)?))))
    }

    /// The entry at a path.
    fn entry(&self, py: Python<'_>, path: PathBuf) -> PyResult<Entry> {
        let (tree, place) = (self.tree(py)?, tree_path(&path)?);
        let found = py.detach(|| tree.entry(&place)).map_err(BrowseError::from);
        let found = found.and_then(|found| found.ok_or(BrowseError::Absent));
        found.map(Entry::from).map_err(|error| raised_at(&path.to_string_lossy(), error))
    }

    /// Opens a file for reading and seeking, as `open(path, "rb")` does.
    fn open<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        let (tree, place) = (self.tree(py)?, tree_path(&path)?);
        let path = path.to_string_lossy().into_owned();
        let file = py.detach(|| tree.open(&place)).map_err(|error| raised_at(&path, error))?;
        py.import("copal._file")?.call_method1("buffered", (Reader::new(path, file),))
    }

    /// Restores everything, or the part at `path`, into a directory.
    #[pyo3(signature = (target, *, path = PathBuf::new(), overwrite = "if-changed", verify = false))]
    fn restore(
        &self,
        py: Python<'_>,
        target: PathBuf,
        path: PathBuf,
        overwrite: &str,
        verify: bool,
    ) -> PyResult<Restored> {
        let troubles = Mutex::new(Vec::new());
        let note = |path: OsString, why: String| {
            troubles.lock().unwrap_or_else(PoisonError::into_inner).push((path, why));
        };
        let tell = |event: Event<'_>| match event {
            Event::Trouble { path, why } => note(OsString::from_vec(path.as_bytes().to_vec()), why),
            Event::Lost { why, .. } => note(OsString::new(), why),
            _ => {}
        };
        let overwrite = overwrite_of(overwrite)?;
        let restoring =
            Restoring { path: tree_path(&path)?, overwrite, verifies: verify, tell: &tell, ..Restoring::default() };
        let done = watched(py, &restoring.interrupted, || self.copal.restore(&self.snapshot, &target, &restoring))?;
        Ok(Restored {
            files: done.tally.files_restored,
            files_unchanged: done.tally.files_unchanged,
            is_damaged: done.is_damaged || done.differs,
            troubles: troubles.into_inner().unwrap_or_else(PoisonError::into_inner),
        })
    }
}

fn overwrite_of(word: &str) -> PyResult<Overwrite> {
    match word {
        "never" => Ok(Overwrite::Never),
        "if-changed" => Ok(Overwrite::Changed),
        "if-newer" => Ok(Overwrite::Newer),
        "always" => Ok(Overwrite::Always),
        _ => Err(PyValueError::new_err("overwrite is never, if-changed, if-newer or always")),
    }
}

/// A path in a snapshot; slashes at its start and end do not matter.
fn tree_path(path: &Path) -> PyResult<TreePath> {
    let bytes = path.as_os_str().as_bytes();
    let bytes = bytes.strip_prefix(b"/").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"/").unwrap_or(bytes);
    TreePath::new(bytes).map_err(|error| PyValueError::new_err(format!("{}: {error}", path.to_string_lossy())))
}
