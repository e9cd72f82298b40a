//! Surplus: deletes entries of the target that the snapshot does not have.

use copal_engine::path::TreePath;
use copal_engine::tree::EntryKind;

use super::work::Work;
use super::{Event, Request, RestoreError};
use crate::filter::{Filter, Selection};
use crate::materialize::{Held, Removal, Surplus, SurplusError, Target};
use crate::reader::TreeError;
use crate::stat::FileId;

/// How to delete entries that the snapshot does not have.
pub struct Deletion<'a> {
    /// Files and directories that always stay: the repository, this machine's keys and cache.
    pub spared: Vec<FileId>,
    /// Whether to delete also what the selection excludes, and the content of directories that are empty in the
    /// snapshot.
    pub with_excluded: bool,
    /// Called before anything is written: may these entries of the target, deepest first, be deleted?
    pub approves: &'a (dyn Fn(&[TreePath]) -> bool + Sync),
}

/// The entries to delete; `None` if not all entries of the snapshot can be read. Writes nothing.
pub(super) fn plan(
    request: &Request<'_>,
    deletion: &Deletion<'_>,
    work: &Work<'_>,
) -> Result<Option<Vec<TreePath>>, RestoreError> {
    let Some(target) = work.target else { return Ok(Some(Vec::new())) };
    let mut whole = Surplus::default();
    for directory in request.scope.restored_directories(&request.sources) {
        match within(request, deletion, target, &directory) {
            Ok(surplus) => {
                whole.entries.extend(surplus.entries);
                whole.spared.extend(surplus.spared);
            }
            Err(SurplusError::Target(error)) => work.write_failed(&error),
            Err(SurplusError::Snapshot(_)) => return Ok(None),
        }
    }
    if !whole.spared.is_empty() {
        work.tell(Event::Spared(&whole.spared));
    }
    if !whole.entries.is_empty() && !(deletion.approves)(&whole.entries) {
        return Err(if work.is_over() { RestoreError::Interrupted } else { RestoreError::Declined });
    }
    Ok(Some(whole.entries))
}

fn within(
    request: &Request<'_>,
    deletion: &Deletion<'_>,
    target: &Target,
    directory: &TreePath,
) -> Result<Surplus, SurplusError<TreeError>> {
    let scope = &request.scope;
    let mut stream = scope.entries(request.pages, request.root);
    stream.seek(scope.outside(directory));
    let held = std::iter::from_fn(|| match stream.next().transpose()? {
        Ok(entry) if !scope.holds(&entry.path) => None,
        Ok(entry) => {
            let is_directory = entry.kind() == EntryKind::Directory;
            Some(Ok(Held { place: scope.inside(&entry.path), is_directory }))
        }
        Err(error) => Some(Err(error)),
    });
    let everything = Selection { includes: request.selection.includes.clone(), excludes: Filter::default() };
    let selection = if deletion.with_excluded { &everything } else { &request.selection };
    let selects = |place: &TreePath, is_directory| selection.selects(&scope.outside(place), is_directory);
    target.surplus(directory, held, selects, deletion.with_excluded)
}

/// Deletes the planned entries.
pub(super) fn delete(work: &Work<'_>, surplus: &[TreePath]) -> Result<(), RestoreError> {
    let Some(target) = work.target else { return Ok(()) };
    for place in surplus {
        if work.is_over() {
            return work.check();
        }
        let removed = if work.request.is_dry_run { Ok(Removal::Done) } else { target.remove(place) };
        match removed {
            Ok(Removal::Done) => {
                work.count(|tally| tally.deleted += 1);
                work.tell(Event::Deleted(place));
            }
            // The directory got new content meanwhile.
            Ok(Removal::NotEmpty) => {}
            Err(error) if error.hits_all() => return Err(error.into()),
            Err(error) => work.write_failed(&error),
        }
    }
    Ok(())
}
