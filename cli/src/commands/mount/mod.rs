//! `mount`: shows the snapshots as folders, by FUSE or by WebDAV, until it is told to end.

mod door;
mod page;
mod system;
mod webdav;

use std::collections::HashSet;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use copal_client::browse::{Browser, ContentError, Terms, Trouble};
use copal_client::location::Location;
use copal_client::reader::ReadError;
use copal_format::id::SnapshotId;
use copal_store::StoreError;
use serde::Serialize;

use super::context::Context;
use crate::args::mount::Mount;
use crate::exit::Exit;
use crate::pick::{self, Intent};
use crate::report::field::{self, PathField};
use crate::report::{Answer, Failure, Printer, human};
use crate::system::on_end;
use system::{Audience, Session, is_within, passes_through};

pub(super) fn run(context: &Context<'_>, options: &Mount) -> Result<Exit, Failure> {
    let is_shown = Arc::new(AtomicBool::new(false));
    let ending = ending(is_shown.clone())?;
    let directory = options.directory.as_deref().map(|directory| usable(context, directory)).transpose()?;
    let is_damaged = Arc::new(AtomicBool::new(false));
    let browser = Arc::new(browser(context, options, is_damaged.clone())?);
    // From here on the first signal ends the mount, not the process.
    is_shown.store(true, Ordering::Relaxed);
    match (directory, options.webdav) {
        (Some(directory), _) => show(context, options, browser, &directory, &ending)?,
        (None, address) => door::serve(context, browser, address.unwrap_or(door::ANY_PORT), &ending)?,
    }
    Ok(if is_damaged.load(Ordering::Relaxed) { Exit::Damage } else { Exit::Done })
}

#[derive(Serialize)]
struct MountPlace {
    at: String,
    #[serde(skip)]
    how: &'static str,
    #[serde(skip)]
    end: &'static str,
}

impl Answer for MountPlace {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} {} (Ctrl-C {} ends it)", self.how, human::text(&self.at), self.end)
    }
}

fn browser(context: &Context<'_>, options: &Mount, is_damaged: Arc<AtomicBool>) -> Result<Browser, Failure> {
    let repository = context.open()?;
    let view = context.records(&repository)?;
    let history = context.listing(&repository, &view)?;
    is_damaged.store(!history.problems.is_empty(), Ordering::Relaxed);
    let (here, fits) = (context.here(&repository), pick::fitting(options.narrow.clone()));
    let find = |which| pick::find(&history, which, &options.narrow, &here, Intent::Read).map(|found| found[0].id);
    let only = options.snapshots.iter().map(find).collect::<Result<Vec<SnapshotId>, Failure>>()?;
    let (report, told) = (context.report.clone(), Mutex::new(HashSet::new()));
    let terms = Terms {
        cache_bytes: options.cache_memory.0,
        numeric_owner: options.numeric_owner,
        shows: Box::new(move |snapshot| fits(snapshot) && (only.is_empty() || only.contains(&snapshot.id))),
        is_own: Box::new(move |snapshot| here.has_signed(snapshot)),
        time_name: Box::new(human::time_name),
        tell: Box::new(move |trouble| {
            is_damaged.fetch_or(is_damage(&trouble), Ordering::Relaxed);
            tell(&report, &trouble, &told);
        }),
    };
    Ok(Browser::new(repository, &view, history, terms)?)
}

/// Whether a trouble is damage. An unreachable store, or one short of open files, recovers.
fn is_damage(trouble: &Trouble<'_>) -> bool {
    let failed = match trouble {
        Trouble::Renewal(_) => return false,
        Trouble::Content(_, _, ContentError::Read(ReadError::Store(failed)))
        | Trouble::Entry(_, _, ReadError::Store(failed))
        | Trouble::Entries(_, _, ReadError::Store(failed)) => failed,
        _ => return true,
    };
    !failed.is_transient() && !matches!(failed, StoreError::Gone { .. })
}

/// Reports a trouble, once for each entry or directory.
fn tell(report: &Printer, trouble: &Trouble<'_>, told: &Mutex<HashSet<String>>) {
    let (entry, what) = match trouble {
        Trouble::Content(snapshot, path, error) => {
            (Some(*path), format!("cannot be read in snapshot {}: {error}", snapshot.short()))
        }
        Trouble::Entry(snapshot, path, error) => {
            (Some(*path), format!("cannot be looked up in snapshot {}: {error}", snapshot.short()))
        }
        Trouble::Name(snapshot, path) => {
            (Some(*path), format!("is not shown in snapshot {}: its name is too long", snapshot.short()))
        }
        Trouble::Entries(snapshot, range, error) => {
            (None, format!("{} of snapshot {} cannot be listed: {error}", field::entries(range), snapshot.short()))
        }
        Trouble::Snapshot(object, why) => (None, format!("{object} cannot be listed: {why}")),
        Trouble::Renewal(error) => (None, format!("cannot look for new snapshots: {error}")),
    };
    let entry = entry.map(PathField::of);
    // One line for each file, however many of its parts are damaged.
    let subject = what.split(": ").next().unwrap_or_default();
    let key = entry.as_ref().map_or_else(|| what.clone(), |path| format!("{} {subject}", path.human()));
    let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
    if told.len() < TOLD && told.insert(key) {
        match entry {
            Some(path) => report.trouble(path, &what),
            None => report.warn(&what),
        }
    }
}

/// The absolute path of a directory that can be mounted on.
fn usable(context: &Context<'_>, directory: &Path) -> Result<PathBuf, Failure> {
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::NotConnected => {
            let at = directory.display();
            Failure::Other(format!("a mount on {at} has lost its program: \"umount {at}\" takes it away").into())
        }
        ErrorKind::NotFound => {
            let at = directory.display();
            Failure::Other(format!("{at} does not exist: make the directory first, with \"mkdir {at}\"").into())
        }
        _ => Failure::io("mount on", directory, error),
    };
    let at = directory.canonicalize().map_err(failed)?;
    if !at.metadata().map_err(failed)?.is_dir() {
        return Err(Failure::Usage(format!("{} is not a directory", directory.display())));
    }
    let places = context.places()?;
    let mut needed = vec![("the cache", places.cache().to_owned()), ("this machine's keys", places.state().to_owned())];
    if let Location::Directory(repository) = context.location()? {
        needed.push(("the repository", repository));
    }
    // Otherwise a read of the mount would wait for another read of the mount.
    for (what, path) in needed {
        let (shown, on) = (path.display(), at.display());
        if passes_through(&path, &at) || is_within(&path, &at) {
            return Err(Failure::Usage(format!("{what} ({shown}) lies below {on}, and a mount there would hide it")));
        }
        if is_within(&at, &path) {
            let why = format!("{on} lies in {what} ({shown}), and a mount there would hide some of it");
            return Err(Failure::Usage(why));
        }
    }
    system::check()?;
    Ok(at)
}

/// Mounts the tree and waits for the end.
fn show(
    context: &Context<'_>,
    options: &Mount,
    browser: Arc<Browser>,
    directory: &Path,
    ending: &Receiver<()>,
) -> Result<(), Failure> {
    let audience = match (options.allow_other, options.no_default_permissions) {
        (false, _) => Audience::Owner,
        (true, false) => Audience::Permitted,
        (true, true) => Audience::All,
    };
    // Commas would begin other mount options.
    let source = context.location()?.to_string().replace(',', "_");
    let session = Session::begin(browser, directory, source, audience)
        .map_err(|error| Failure::io("mount on", directory, error))?;
    context.report.answer(&MountPlace {
        at: directory.display().to_string(),
        how: "mounted on",
        end: "or \"umount\"",
    })?;
    while !session.is_finished() {
        match ending.recv_timeout(Duration::from_millis(100)) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let end = std::thread::spawn(move || session.end());
    let started = Instant::now();
    while !end.is_finished() && started.elapsed() < UNMOUNTS_WITHIN {
        std::thread::sleep(Duration::from_millis(10));
    }
    let is_over = end.is_finished() && end.join().is_ok_and(|ended| ended.is_ok());
    if !is_over {
        context
            .report
            .note(&format!("{} is in use: it is detached, and vanishes for those who use it", directory.display()));
        system::detach(directory);
    }
    Ok(())
}

/// Gets a message at the first signal to end. A second one ends the process, as does any before the mount is shown.
fn ending(is_shown: Arc<AtomicBool>) -> Result<Receiver<()>, Failure> {
    let (sender, receiver) = channel();
    let mut has_come = false;
    let watched = on_end(None, true, move || {
        if has_come || !is_shown.load(Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted.code().into());
        }
        has_come = true;
        let _ = sender.send(());
    });
    watched.map_err(|error| Failure::io("watch", "signals", error))?;
    Ok(receiver)
}

/// How long an unmount may take before the mount is detached.
const UNMOUNTS_WITHIN: Duration = Duration::from_secs(2);
const TOLD: usize = 10_000;

#[cfg(test)]
mod tests {
    use copal_format::id::{ChunkId, SnapshotId};
    use copal_format::path::TreePath;
    use copal_store::Op;

    use super::*;

    #[test]
    fn a_store_that_is_away_is_no_damage() {
        let is_damage_of = |error: ReadError| {
            let error = ContentError::Read(error);
            is_damage(&Trouble::Content(SnapshotId([1; 16]), &TreePath::TOP, &error))
        };
        let source = || "too many open files".into();
        assert!(!is_damage_of(StoreError::Transient { op: Op::List, key: String::new(), source: source() }.into()));
        assert!(!is_damage_of(StoreError::Gone { root: "/mnt/disk".into() }.into()));
        assert!(is_damage_of(StoreError::Io { op: Op::Read, key: String::new(), source: source() }.into()));
        assert!(is_damage_of(ReadError::Absent { id: ChunkId([1; 24]) }));
    }
}
