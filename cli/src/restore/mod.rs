//! Restore: entries of a snapshot brought back into a directory.
//!
//! One thread walks the tree, makes directories and links and says where content comes from; others read blocks, check
//! every chunk by its id and write it where it belongs. A file gets its time last, so that one that was left unfinished
//! never looks like a whole one.

mod fetch;
mod file;
mod gather;
mod links;
mod owners;
mod scope;
mod surplus;
mod verify;
mod walk;
mod work;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread;

use copal_engine::id::ChunkId;
use copal_engine::path::TreePath;
use copal_engine::tree::LostRange;
use copal_store::StoreError;
use crossbeam_channel::bounded;

use crate::filter::Selection;
use crate::materialize::{DirectoriesLater, Shortfalls, Target, TargetOptions, WriteError};
use crate::reader::{PageReader, TreeError};
use crate::report::progress::Progress;

pub use links::Identities;
pub use scope::{Scope, ScopeError};
pub use surplus::Deletion;
pub use work::Tally;

use walk::Walk;
use work::Work;

/// What to restore, and how.
pub struct Request<'a> {
    /// Reads the snapshot's domain.
    pub pages: &'a PageReader,
    /// The snapshot's root page.
    pub root: ChunkId,
    /// What of it, and where that lies in the target.
    pub scope: Scope,
    /// What was backed up: outside of it nothing is deleted.
    pub sources: Vec<TreePath>,
    /// Which entries, by their paths in the snapshot.
    pub selection: Selection,
    /// The directory to restore into.
    pub target: PathBuf,
    /// How to write.
    pub options: TargetOptions,
    /// Take owners by their numbers, also where their names are known.
    pub numeric_owner: bool,
    /// How what the snapshot does not have is deleted, if it is.
    pub deletion: Option<Deletion<'a>>,
    /// Read everything again.
    pub verifies: bool,
    /// Write nothing.
    pub is_dry_run: bool,
    /// Threads that read and write.
    pub threads: usize,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What was counted.
    pub tally: Tally,
    /// Whether something in the repository is damaged.
    pub is_damaged: bool,
    /// Whether something was read again that is not what the snapshot has.
    pub differs: bool,
    /// What could not be set.
    pub shortfalls: Shortfalls,
}

/// Something that happened to an entry, by its path in the snapshot unless another one is named.
#[derive(Debug)]
pub enum Event<'e> {
    /// It was restored, or would be.
    Restored(&'e TreePath),
    /// It was deleted, or would be; by its path in the target, since the snapshot has none.
    Deleted(&'e TreePath),
    /// Entries of the target that stay as they are, although the snapshot does not have what lies in them.
    Spared(&'e [TreePath]),
    /// It is not, or not wholly, restored.
    Trouble {
        /// Which one.
        path: &'e TreePath,
        /// Why.
        why: String,
    },
    /// Entries that nobody can name are lost.
    Lost {
        /// Between which.
        range: &'e LostRange,
        /// Why.
        why: String,
    },
    /// It concerns the restore as a whole.
    Note(&'e str),
}

/// Why a restore ended early. What it had restored by then stays, and the next one goes on.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The target takes no more.
    #[error(transparent)]
    Target(#[from] WriteError),
    /// The tree cannot be walked.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The repository is gone.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The user wants nothing of that deleted. Nothing was written.
    #[error("not confirmed")]
    Declined,
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// Restores. `tell` is told what happens, from any thread.
pub fn restore(
    request: &Request<'_>,
    progress: &Progress,
    tell: &(dyn Fn(Event<'_>) + Sync),
    interrupted: &AtomicBool,
) -> Result<Outcome, RestoreError> {
    let target = open_target(request)?;
    let work = Work::new(request, target.as_ref().map(|(target, _)| target), progress, tell, interrupted);
    let takes_root = target.as_ref().is_none_or(|(_, is_new)| *is_new);
    let surplus = request.deletion.as_ref().map(|deletion| surplus::plan(request, deletion, &work)).transpose()?;
    let later = restore_entries(&work, takes_root)?;
    match surplus {
        Some(Some(surplus)) if !work.has_lost() => surplus::delete(&work, &surplus)?,
        Some(_) => tell(Event::Note("nothing is deleted, since not all entries of the snapshot can be read")),
        None => {}
    }
    if let (Some(target), false) = (work.target, request.is_dry_run) {
        later.apply(target, request.threads, |error| work.write_failed(&error));
        if request.verifies {
            verify::verify(&work, target)?;
        }
    }
    let (tally, is_damaged, differs) = work.finish();
    let shortfalls = target.map(|(target, _)| target.finish()).unwrap_or_default();
    Ok(Outcome { tally, is_damaged, differs, shortfalls })
}

/// The target, and whether nothing was in it. None in a dry run if it is not there.
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

/// Restores everything but the metadata of directories, which is left to the end.
fn restore_entries(work: &Work<'_>, takes_root: bool) -> Result<DirectoriesLater, RestoreError> {
    let (later, links) = thread::scope(|scope| {
        let (tasks, to_do) = bounded(2 * work.request.threads);
        for _ in 0..work.request.threads {
            let to_do = to_do.clone();
            scope.spawn(move || fetch::work(&to_do, work));
        }
        Walk::new(work, tasks, takes_root).run()
    })?;
    work.check()?;
    if let (Some(target), false) = (work.target, work.request.is_dry_run) {
        links.make(work, target);
        work.check()?;
    }
    Ok(later)
}
