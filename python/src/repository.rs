//! Repositories: open, create, verify; snapshots and backups.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use copal_client::backup::{Outcome, SkipKind, TroubleKind};
use copal_client::jobs::budget::Budget;
use copal_client::jobs::check::Depth;
use copal_client::{Copal, Saving, Settings, SlotInput};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::raised;
use crate::snapshot::Snapshot;
use crate::stream::Given;
use crate::watch::{left_at_signal, watched};

/// An open repository. Threads may share it.
#[pyclass(frozen, module = "copal")]
pub(crate) struct Repository(Arc<Copal>);

/// What a backup has done.
#[pyclass(frozen, get_all, module = "copal")]
pub(crate) struct Saved {
    /// The new snapshot's id; none if it was skipped because nothing had changed.
    snapshot: Option<String>,
    files: u64,
    bytes: u64,
    /// Bytes that the repository did not have, as stored.
    bytes_stored: u64,
    /// Entries that were not saved, or not completely, and why.
    troubles: Vec<(PathBuf, String)>,
}

/// One thing that is wrong with a repository.
#[pyclass(frozen, get_all, module = "copal")]
pub(crate) struct Finding {
    kind: &'static str,
    object: String,
    why: String,
    /// The snapshots that it harms.
    snapshots: Vec<String>,
}

#[pymethods]
impl Finding {
    fn __repr__(&self) -> String {
        format!("Finding({} {}: {})", self.object, self.kind, self.why)
    }
}

/// Opens a repository with one of its secrets.
#[pyfunction]
#[pyo3(signature = (location, *, password = None, recovery_code = None, key_file = None, state_dir = None, cache_dir = None, ca_file = None, host = None))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn open(
    py: Python<'_>,
    location: PathBuf,
    password: Option<&str>,
    recovery_code: Option<&str>,
    key_file: Option<&str>,
    state_dir: Option<PathBuf>,
    cache_dir: Option<PathBuf>,
    ca_file: Option<PathBuf>,
    host: Option<String>,
) -> PyResult<Repository> {
    let bad = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
    let secret = match (password, recovery_code, key_file) {
        (Some(text), None, None) => SlotInput::passphrase(text).map_err(|error| bad(&error))?,
        (None, Some(text), None) => SlotInput::recovery_code(text).map_err(|error| bad(&error))?,
        (None, None, Some(text)) => SlotInput::key_file(text).map_err(|error| bad(&error))?,
        _ => return Err(bad(&"give one of password, recovery_code and key_file")),
    };
    let settings = settings(location, state_dir, cache_dir, ca_file, host);
    left_at_signal(py, move || settings.open(&secret)).map(|copal| Repository(Arc::new(copal)))
}

/// Makes a repository in an empty place; gives it, and the recovery code, which is told only once. If it cannot be opened
/// then, None stands in its place.
#[pyfunction]
#[pyo3(signature = (location, *, password, state_dir = None, cache_dir = None, ca_file = None, host = None))]
pub(crate) fn create(
    py: Python<'_>,
    location: PathBuf,
    password: &str,
    state_dir: Option<PathBuf>,
    cache_dir: Option<PathBuf>,
    ca_file: Option<PathBuf>,
    host: Option<String>,
) -> PyResult<(Option<Repository>, String)> {
    let secret = SlotInput::passphrase(password).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let settings = settings(location, state_dir, cache_dir, ca_file, host);
    // Nothing ends it early, so that the code is told in any case: a signal is raised after it.
    let created = py.detach(|| settings.create(&secret)).map_err(raised)?;
    let repository = created.copal.ok().map(|copal| Repository(Arc::new(copal)));
    Ok((repository, created.recovery_code.to_string()))
}

/// Verifies a repository without its key; gives what is wrong. With `read_data`, every pack is read.
#[pyfunction]
#[pyo3(signature = (location, *, read_data = true, state_dir = None, cache_dir = None, ca_file = None))]
pub(crate) fn verify(
    py: Python<'_>,
    location: PathBuf,
    read_data: bool,
    state_dir: Option<PathBuf>,
    cache_dir: Option<PathBuf>,
    ca_file: Option<PathBuf>,
) -> PyResult<Vec<Finding>> {
    let depth = if read_data { Depth::Data { part: 1, parts: 1 } } else { Depth::Structure };
    let settings = settings(location, state_dir, cache_dir, ca_file, None);
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = interrupted.clone();
    let budget = Budget::until(move || flag.load(Ordering::Relaxed));
    let report = left_at_signal(py, move || settings.verify_until(depth, &budget));
    // After a signal, it ends at its next step instead of reading everything for nobody.
    let report = report.inspect_err(|_| interrupted.store(true, Ordering::Relaxed))?;
    let wrong = report.findings.into_iter().filter(|finding| finding.is_wrong());
    let findings = wrong.map(|finding| Finding {
        kind: finding.kind.name(),
        object: finding.object,
        why: finding.why,
        snapshots: finding.snapshots.iter().map(ToString::to_string).collect(),
    });
    Ok(findings.collect())
}

fn settings(
    location: PathBuf,
    state_dir: Option<PathBuf>,
    cache_dir: Option<PathBuf>,
    ca_file: Option<PathBuf>,
    host: Option<String>,
) -> Settings {
    let settings = state_dir.into_iter().fold(Settings::at(location), Settings::state_dir);
    let settings = cache_dir.into_iter().fold(settings, Settings::cache_dir);
    let settings = ca_file.into_iter().fold(settings, Settings::ca_file);
    host.into_iter().fold(settings, Settings::host)
}

#[pymethods]
impl Repository {
    /// Its id, in hexadecimal digits.
    #[getter]
    fn id(&self) -> String {
        self.0.repository().id().to_string()
    }

    /// The kept snapshots, the oldest first.
    fn snapshots(&self, py: Python<'_>) -> PyResult<Vec<Snapshot>> {
        let found = py.detach(|| self.0.snapshots()).map_err(raised)?;
        Ok(found.into_iter().map(|snapshot| Snapshot::new(self.0.clone(), snapshot)).collect())
    }

    /// The newest snapshot of this machine, else of any (`latest`), or the one whose id begins with `name`.
    #[pyo3(signature = (name = "latest"))]
    fn snapshot(&self, py: Python<'_>, name: &str) -> PyResult<Snapshot> {
        let found = py.detach(|| self.0.snapshot(name)).map_err(raised)?;
        Ok(Snapshot::new(self.0.clone(), found))
    }

    /// Backs up files and directories as one snapshot.
    #[pyo3(signature = (paths, *, label = String::new(), tags = Vec::new(), excludes = Vec::new(), one_file_system = false, skip_if_unchanged = false, may_be_empty = false))]
    #[expect(clippy::too_many_arguments, reason = "they have names in Python")]
    fn backup(
        &self,
        py: Python<'_>,
        paths: Vec<PathBuf>,
        label: String,
        tags: Vec<String>,
        excludes: Vec<String>,
        one_file_system: bool,
        skip_if_unchanged: bool,
        may_be_empty: bool,
    ) -> PyResult<Saved> {
        let given = Saving { label, tags, excludes, one_file_system, skip_if_unchanged, ..Saving::default() };
        let saving = Saving { may_be_empty, ..given };
        watched(py, &saving.interrupted, || self.0.backup(&paths, &saving)).map(Saved::from)
    }

    /// Backs up what an object's `read(size)` gives, as a snapshot of one file.
    #[pyo3(signature = (name, stream, *, label = String::new(), tags = Vec::new()))]
    fn backup_stream(
        &self,
        py: Python<'_>,
        name: &str,
        stream: Py<PyAny>,
        label: String,
        tags: Vec<String>,
    ) -> PyResult<Saved> {
        let saving = Saving { label, tags, ..Saving::default() };
        watched(py, &saving.interrupted, || self.0.backup_stream(name, Given(stream), &saving)).map(Saved::from)
    }
}

impl From<Outcome> for Saved {
    fn from(outcome: Outcome) -> Self {
        // What was left out as asked is no trouble.
        let is_told = |kind: &TroubleKind| *kind != TroubleKind::Skipped(SkipKind::Quiet);
        let troubles = outcome.troubles.into_iter().filter(|trouble| is_told(&trouble.kind));
        Self {
            snapshot: outcome.snapshot.map(|id| id.to_string()),
            files: outcome.counts.files,
            bytes: outcome.counts.bytes,
            bytes_stored: outcome.tally.bytes_stored,
            troubles: troubles.map(|trouble| (trouble.path, trouble.why)).collect(),
        }
    }
}
