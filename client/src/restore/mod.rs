//! Restore: writes entries of a snapshot into a directory.
//!
//! One thread walks the tree, makes directories and links, and locates content. Others read blocks, check every chunk
//! against its id and write it. A file gets its time last, so that an unfinished file never looks complete.

mod fetch;
mod file;
mod gather;
mod handle;
mod links;
pub(crate) mod owners;
mod scope;
mod surplus;
mod verify;
mod walk;
mod work;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread;

use copal_format::client::Role;
use copal_format::id::ChunkId;
use copal_format::path::TreePath;
use copal_format::snapshot::MetadataSeen;
use copal_format::tree::LostRange;
use copal_store::StoreError;
use crossbeam_channel::bounded;

use crate::filter::Selection;
use crate::history::Snapshot;
use crate::materialize::{DirectoriesLater, Example, Lack, Powers, Shortfalls, Target, TargetOptions, WriteError};
use crate::progress::Progress;
use crate::reader::{PageReader, TreeError};
use crate::system;

pub use links::Identities;
pub use scope::{Scope, ScopeError, SpecPath};
pub use surplus::Deletion;
pub use work::Tally;

use links::Links;
use walk::Walk;
use work::Work;

/// What to restore, and how.
pub struct Request<'a> {
    /// Reads the snapshot's domain.
    pub pages: &'a PageReader,
    /// The snapshot's root page.
    pub root: ChunkId,
    /// Which part of the snapshot, and where it goes in the target.
    pub scope: Scope,
    /// The paths that were backed up. Nothing outside them is deleted.
    pub sources: Vec<TreePath>,
    /// Which entries, by their paths in the snapshot.
    pub selection: Selection,
    /// The directory to restore into.
    pub target: PathBuf,
    /// How to write.
    pub options: TargetOptions,
    /// Permissions that entries do not get, because the snapshot does not have those of its source.
    pub cut_mode: u16,
    /// Use the numbers of owners even if their names are known here.
    pub numeric_owner: bool,
    /// How to delete what the snapshot does not have; `None` deletes nothing.
    pub deletion: Option<Deletion<'a>>,
    /// Whether to read everything again and compare it.
    pub verifies: bool,
    /// Whether to write nothing.
    pub is_dry_run: bool,
    /// Threads that read and write.
    pub threads: usize,
}

impl<'a> Request<'a> {
    /// Restores a whole snapshot into a directory, and deletes nothing there. Leaves out what a restore must not take
    /// from this snapshot: metadata that its source did not see, and rights that a write-only client claims, whose
    /// machine may have been taken over.
    pub fn whole(pages: &'a PageReader, snapshot: &Snapshot, target: PathBuf, threads: usize) -> Self {
        Self {
            pages,
            root: snapshot.root,
            scope: Scope::whole(),
            sources: snapshot.sources(),
            selection: Selection::default(),
            target,
            options: options_for(snapshot),
            cut_mode: cut_mode_for(snapshot),
            numeric_owner: false,
            deletion: None,
            verifies: false,
            is_dry_run: false,
            threads,
        }
    }
}

/// Leaves out metadata that the snapshot's source did not see, and rights that a write-only client claims.
pub(crate) fn options_for(snapshot: &Snapshot) -> TargetOptions {
    let seen = snapshot.info.metadata;
    TargetOptions {
        no_owner: !seen.contains(MetadataSeen::OWNERS),
        no_xattrs: !seen.contains(MetadataSeen::XATTRS),
        powers: if snapshot.signer.role == Role::WriteOnly { Powers::LeftOut } else { Powers::WithOwners },
        ..TargetOptions::default()
    }
}

/// The permissions that entries of the snapshot do not get.
pub(crate) fn cut_mode_for(snapshot: &Snapshot) -> u16 {
    if snapshot.info.metadata.contains(MetadataSeen::MODES) { 0 } else { umask() }
}

/// The permissions that new files do not get. Where Linux does not report the umask, the process has none for a moment.
fn umask() -> u16 {
    system::umask_told().unwrap_or_else(system::umask_asked) as u16 & 0o777
}

/// The result of a restore.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The counters.
    pub tally: Tally,
    /// Whether something in the repository is damaged.
    pub is_damaged: bool,
    /// Whether an entry that was read again differs from the snapshot.
    pub differs: bool,
    /// Metadata that could not be set.
    pub shortfalls: Shortfalls,
}

/// An event for an entry, with its path in the snapshot unless said otherwise.
#[derive(Debug)]
pub enum Event<'e> {
    /// It was restored, or would be in a dry run.
    Restored(&'e TreePath),
    /// It was deleted, or would be; with its path in the target.
    Deleted(&'e TreePath),
    /// Entries of the target that stay as they are, although they are or contain surplus.
    Spared(&'e [TreePath]),
    /// It was not restored, or not completely.
    Trouble {
        /// The entry.
        path: &'e TreePath,
        /// Why.
        why: String,
    },
    /// Entries whose names are lost.
    Lost {
        /// The paths between which they are.
        range: &'e LostRange,
        /// Why.
        why: String,
    },
    /// A remark about the whole restore.
    Note(Note),
}

/// Something that a restore leaves out or leaves alone, for the caller to tell the user.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Nothing is deleted: the snapshot does not tell everything that its backup left out.
    ExclusionsUnknown,
    /// Nothing is deleted: not all entries of the snapshot can be read.
    EntriesLost,
    /// The target directory keeps its owner, mode and times: it was not empty.
    TargetKept,
}

/// Why a restore ended early. What it has written stays, and the next restore goes on from there.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum RestoreError {
    /// Nothing more can be written to the target.
    #[error(transparent)]
    Target(#[from] WriteError),
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The user does not want these entries deleted. Nothing was written.
    #[error("not confirmed")]
    Declined,
    #[error("interrupted")]
    Interrupted,
}

/// Runs a restore. Calls `tell` with events, from any thread.
pub fn restore(
    request: &Request<'_>,
    progress: &Progress,
    tell: &(dyn Fn(Event<'_>) + Sync),
    interrupted: &AtomicBool,
) -> Result<Outcome, RestoreError> {
    let target = open_target(request)?;
    let work = Work::new(request, target.as_ref().map(|(target, _)| target), progress, tell, interrupted);
    let takes_root = target.as_ref().is_none_or(|(_, is_new)| *is_new);
    let written = write(&work, takes_root);
    if let Some(target) = work.target {
        // Also after an error: the next run would keep the mode that it finds.
        target.close_kept();
    }
    written?;
    let (mut tally, is_damaged, differs) = work.finish();
    let shortfalls = target.map(|(target, _)| target.finish()).unwrap_or_default();
    let (failures, failed) = shortfalls.failures();
    tally.errors += failed;
    for (lack, Example { path, error }) in failures {
        let why = format!("cannot restore {lack}: {error}");
        tell(Event::Trouble { path: &request.scope.outside(path), why });
    }
    Ok(Outcome { tally, is_damaged, differs, shortfalls })
}

/// Restores entries, deletes surplus, sets the metadata of directories, and verifies what is there.
fn write(work: &Work<'_>, takes_root: bool) -> Result<(), RestoreError> {
    let request = work.request;
    let surplus = request.deletion.as_ref().map(|deletion| surplus::plan(request, deletion, work)).transpose()?;
    let later = restore_entries(work, takes_root)?;
    match surplus {
        Some(Some(surplus)) if !work.has_lost() => surplus::delete(work, &surplus)?,
        Some(_) => work.tell(Event::Note(Note::EntriesLost)),
        None => {}
    }
    if let (Some(target), false) = (work.target, request.is_dry_run) {
        later.apply(target, request.threads, |error| work.write_failed(&error));
        if request.verifies {
            verify::verify(work, target)?;
        }
    }
    Ok(())
}

/// How many walks look for files whose first name could not be made, and try another name as the first. After that
/// every name gets a file of its own, because each walk goes through the whole snapshot.
const LINKED_ROUNDS: usize = 3;

/// The target, and whether it was empty. `None` in a dry run if it does not exist.
fn open_target(request: &Request<'_>) -> Result<Option<(Target, bool)>, RestoreError> {
    let path = &request.target;
    let is_new = std::fs::read_dir(path).map_or(true, |mut entries| entries.next().is_none());
    let spared = request.deletion.as_ref().map(|deletion| deletion.spared.clone()).unwrap_or_default();
    let spare = |target: Target| target.sparing(spared);
    if !request.is_dry_run {
        return Ok(Some((spare(Target::open(path, request.options)?), is_new)));
    }
    if !path.exists() {
        return Ok(None);
    }
    Ok(Some((spare(Target::open_existing(path, request.options)?), is_new)))
}

/// Restores everything except the metadata of directories, which the caller sets at the end.
fn restore_entries(work: &Work<'_>, takes_root: bool) -> Result<DirectoriesLater, RestoreError> {
    let walk = |links, orphans| {
        thread::scope(|scope| {
            let (tasks, to_do) = bounded(2 * work.request.threads);
            for _ in 0..work.request.threads {
                let to_do = to_do.clone();
                scope.spawn(move || fetch::work(&to_do, work));
            }
            Walk::new(work, tasks, takes_root, links, orphans).run()
        })
    };
    let (later, mut links) = walk(Links::default(), None)?;
    work.check()?;
    let Some(target) = work.target.filter(|_| !work.request.is_dry_run) else { return Ok(later) };
    for round in 1.. {
        let (orphans, mut next) = links.make(work, target);
        work.check()?;
        if orphans.is_empty() {
            break;
        }
        if round == LINKED_ROUNDS {
            let why = "too many other names of it could not be made";
            for place in &orphans {
                if next.separate(place) {
                    target.lacks(Lack::Names, place, io::Error::other(why));
                }
            }
        }
        (_, links) = walk(next, Some(orphans))?;
        work.check()?;
    }
    Ok(later)
}
