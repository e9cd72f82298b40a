//! Writes one file of the newest snapshot to the standard output: `COPAL_PASSWORD=… read REPOSITORY PATH`.

use std::io::Write;
use std::path::Path;

use copal_client::backend::{Backend, BackendOptions};
use copal_client::dump::dump_file;
use copal_client::history::{History, pages};
use copal_client::location::Location;
use copal_client::repository::Repository;
use copal_client::wait::wait;
use copal_format::keys::slot::SlotInput;
use copal_format::path::TreePath;
use copal_jobs::view;

type Error = Box<dyn std::error::Error>;

/// Writes the file at `path`, without a leading slash, to `out`. Every chunk is checked before it is written.
pub(crate) fn read(
    repository: &Path,
    passphrase: &str,
    state: &Path,
    path: &str,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let backend = Backend::open(&Location::Directory(repository.to_owned()), &BackendOptions::default())?;
    let repository = Repository::open(&backend, &SlotInput::passphrase(passphrase)?, |id| state.join(id.to_string()))?;
    let view = wait(view::read(repository.store().as_ref()))?;
    let history = History::read(&repository, &view)?;
    let newest = history.kept().last().ok_or("there is no snapshot")?;
    let pages = pages(&repository, &view, newest.domain);

    let path = TreePath::new(path)?;
    let mut entries = pages.entries(newest.root);
    entries.seek(path.clone());
    let entry = entries.next_readable()?.filter(|entry| entry.path == path);
    Ok(dump_file(&pages, &entry.ok_or("the snapshot has no such file")?, out)?)
}

fn main() -> Result<(), Error> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [repository, path] = arguments.as_slice() else { return Err("usage: read REPOSITORY PATH".into()) };
    let state = std::env::temp_dir().join("copal-example");
    read(repository.as_ref(), &std::env::var("COPAL_PASSWORD")?, &state, path, &mut std::io::stdout().lock())
}
