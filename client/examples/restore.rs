//! Restores the newest snapshot of a repository: `COPAL_PASSWORD=… restore REPOSITORY TARGET`.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use copal_client::backend::{Backend, BackendOptions};
use copal_client::history::{History, pages};
use copal_client::location::Location;
use copal_client::progress::Progress;
use copal_client::repository::Repository;
use copal_client::restore::{Event, Outcome, Request, restore};
use copal_client::wait::wait;
use copal_format::keys::slot::SlotInput;
use copal_jobs::view;

type Error = Box<dyn std::error::Error>;

/// Restores the newest snapshot into `target`. `tell` hears of every entry, from any thread.
pub(crate) fn restore_newest(
    repository: &Path,
    passphrase: &str,
    state: &Path,
    target: &Path,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Outcome, Error> {
    let backend = Backend::open(&Location::Directory(repository.to_owned()), &BackendOptions::default())?;
    let repository = Repository::open(&backend, &SlotInput::passphrase(passphrase)?, |id| state.join(id.to_string()))?;
    let view = wait(view::read(repository.store().as_ref()))?;
    let history = History::read(&repository, &view)?;
    let newest = history.kept().last().ok_or("there is no snapshot")?;
    let pages = pages(&repository, &view, newest.domain);
    let request = Request::whole(&pages, newest, target.to_owned(), 2);
    Ok(restore(&request, &Progress::default(), tell, &AtomicBool::new(false))?)
}

fn main() -> Result<(), Error> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [repository, target] = arguments.as_slice() else { return Err("usage: restore REPOSITORY TARGET".into()) };
    let state = std::env::temp_dir().join("copal-example");
    let tell = |event: Event<'_>| match event {
        Event::Trouble { path, why } => eprintln!("{path}: {why}"),
        Event::Lost { why, .. } => eprintln!("entries are lost: {why}"),
        _ => {}
    };
    let done = restore_newest(repository.as_ref(), &std::env::var("COPAL_PASSWORD")?, &state, target.as_ref(), &tell)?;
    if done.is_damaged { Err("not everything could be restored".into()) } else { Ok(()) }
}
