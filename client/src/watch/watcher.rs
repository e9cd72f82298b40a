//! Watcher: follows what changes, and answers backups.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::changes::Changes;
use super::directories::{Directories, Told};
use super::handover::{
    ASK, Answer, DONE, Done, LIST, LOCK, asker, handover_of, is_follower, nonce, put, sweep, taken, text,
};
use crate::places::{PlaceError, Places, create_private_dir};
use crate::system::event::Event;
use crate::system::{Watches, bytes_of, private_file};

/// Why nothing is watched.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum WatchError {
    #[error("another \"copal watch\" of the same paths runs already")]
    Watched,
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("cannot watch")]
    Failed(#[from] io::Error),
}

/// Notes what changes at and below some paths, for backups that [ask](super::ask).
pub struct Watcher {
    handover: PathBuf,
    /// Locked as long as this lives.
    _lock: File,
    watches: Watches,
    /// The number by which events name the handover.
    door: Option<i32>,
    directories: Directories,
    changes: Changes,
    run: String,
}

impl Watcher {
    /// Watches these absolute paths; a missing one is watched once it exists.
    pub fn begin(places: &Places, paths: &[PathBuf]) -> Result<Self, WatchError> {
        let handover = handover_of(places, paths);
        create_private_dir(&handover)?;
        let lock = private_file().create(true).open(handover.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(WatchError::Watched),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        // A question may have come since the lock.
        let is_left = |name: &OsString| *name != LOCK && !name.to_string_lossy().starts_with(ASK);
        for entry in fs::read_dir(&handover)?.flatten().filter(|entry| is_left(&entry.file_name())) {
            let _ = fs::remove_file(entry.path());
        }
        let watches = Watches::new()?;
        let door = watches.add(&handover)?;
        let roots: BTreeSet<PathBuf> = paths.iter().cloned().collect();
        let mut directories = Directories::new(roots);
        directories.start(&watches)?;
        let changes = Changes::default();
        Ok(Self { handover, _lock: lock, watches, door, directories, changes, run: nonce() })
    }

    /// Number of directories that are watched.
    pub fn directories(&self) -> usize {
        self.directories.len()
    }

    /// Follows and answers. Ends with an error only.
    pub fn run(self) -> Result<(), WatchError> {
        let Self { handover, _lock, watches, door, mut directories, mut changes, run } = self;
        let answer = |name: &Path, directories: &mut Directories, changes: &mut Changes| {
            let mut answering = Answering { handover: &handover, run: &run, changes };
            answering.file(name, |changes| directories.look(&watches, &mut |told| changes.note(told)))
        };
        // Questions from before the handover was watched.
        for name in names_in(&handover) {
            answer(&name, &mut directories, &mut changes)?;
        }
        watches.follow(|event| {
            let names = match &event {
                Event::Changed { directory, name: Some(name), is_new: true, .. } if Some(*directory) == door => {
                    vec![name.clone()]
                }
                // A question may be among what was lost.
                Event::Lost => names_in(&handover),
                _ => Vec::new(),
            };
            directories.take(&watches, event, &mut |told| changes.note(told))?;
            Ok(names.iter().try_for_each(|name| answer(name, &mut directories, &mut changes))?)
        })
    }
}

fn names_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| PathBuf::from(entry.file_name())).collect()
}

impl Changes {
    fn note(&mut self, told: Told) {
        match told {
            Told::At(path) => self.add(path),
            Told::Anything => self.forget(),
        }
    }
}

/// Reads and answers what backups write.
struct Answering<'a> {
    handover: &'a Path,
    run: &'a str,
    changes: &'a mut Changes,
}

impl Answering<'_> {
    /// Takes a file of the handover. An unreadable one gets no answer: its backup then looks at everything.
    fn file(&mut self, name: &Path, look: impl FnOnce(&mut Changes) -> io::Result<()>) -> io::Result<()> {
        let Some(name) = name.to_str() else { return Ok(()) };
        let read = || taken(&self.handover.join(name));
        if let Some((who, nonce)) = name.strip_prefix(ASK).and_then(asker) {
            // If the file is gone, the backup has given up, or this watcher answered it when events were lost.
            if read().is_some() {
                look(self.changes)?;
                self.answer(who, nonce);
            }
        } else if let Some(who) = name.strip_prefix(DONE).filter(|who| is_follower(who))
            && let Ok(Done { run, upto, snapshot }) = serde_json::from_slice(&read().unwrap_or_default())
            && run == self.run
        {
            self.changes.confirm(who, upto, snapshot);
        }
        Ok(())
    }

    fn answer(&mut self, who: &str, nonce: &str) {
        sweep(self.handover);
        let upto = self.changes.asked(who);
        let (since, paths) = self.changes.since(who).map(|(since, paths)| (since.to_owned(), paths)).unzip();
        let mut bytes = text(&Answer { run: self.run.to_owned(), upto, since });
        bytes.push(b'\n');
        for path in paths.into_iter().flatten() {
            bytes.extend_from_slice(&bytes_of(path.as_os_str()));
            bytes.push(0);
        }
        let _ = put(self.handover, &format!("{LIST}{who}-{nonce}"), &bytes);
    }
}
