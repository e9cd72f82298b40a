//! Surplus: deletes entries of the target that the snapshot does not have.

use copal_format::exclusions::Exclusions;
use copal_format::path::TreePath;
use copal_format::tree::EntryKind;

use super::work::Work;
use super::{Event, Note, Request, RestoreError};
use crate::filter::{Filter, Selection};
use crate::materialize::{Held, Removal, Stays, Surplus, SurplusError, Target};
use crate::reader::TreeError;
use crate::stat::FileId;

/// How to delete entries that the snapshot does not have.
pub struct Deletion<'a> {
    /// Files and directories that always stay: the repository, this machine's keys and cache.
    pub spared: Vec<FileId>,
    /// True if entries that the selection excludes are deleted, too.
    pub with_excluded: bool,
    /// The exclusions of the backup; `None` deletes what it left out, too.
    pub exclusions: Option<&'a Exclusions>,
    /// True if a directory that is empty in the snapshot may have had content that the backup did not read.
    pub spares_empty: bool,
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
    let Some(bounds) = Bounds::of(deletion) else {
        work.tell(Event::Note(Note::ExclusionsUnknown));
        return Ok(Some(Vec::new()));
    };
    let mut whole = Surplus::default();
    for directory in request.scope.restored_directories(&request.sources) {
        match within(request, deletion, &bounds, target, &directory) {
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
    bounds: &Bounds,
    target: &Target,
    directory: &TreePath,
) -> Result<Surplus, SurplusError<TreeError>> {
    let scope = &request.scope;
    if bounds.is_below_marker(request, &scope.outside(directory)).map_err(SurplusError::Snapshot)? {
        return Ok(Surplus { entries: Vec::new(), spared: vec![directory.clone()] });
    }
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
    let selects = |place: &TreePath, is_directory| {
        let path = scope.outside(place);
        selection.selects(&path, is_directory) && !bounds.left_out.leaves_out(&path, is_directory)
    };
    target.surplus(directory, held, selects, &bounds.stays)
}

/// The surplus that stays, because the backup may have left it out.
struct Bounds {
    left_out: Filter,
    stays: Stays,
}

impl Bounds {
    /// None if some of what the backup left out is unknown.
    fn of(deletion: &Deletion<'_>) -> Option<Self> {
        let mut stays = Stays { in_empty: deletion.spares_empty, ..Stays::default() };
        let Some(exclusions) = deletion.exclusions else { return Some(Self { left_out: Filter::default(), stays }) };
        stays.in_empty |= exclusions.one_file_system;
        stays.markers = exclusions.markers.clone();
        stays.larger_than = exclusions.larger_than;
        let left_out = Filter::of_recorded(&exclusions.patterns).ok().filter(|_| !exclusions.is_cut)?;
        Some(Self { left_out, stays })
    }

    /// True if the snapshot has a marker in a directory above this one. The target looks for markers below.
    fn is_below_marker(&self, request: &Request<'_>, directory: &TreePath) -> Result<bool, TreeError> {
        let mut above = directory.parent().filter(|_| !self.stays.markers.is_empty());
        while let Some(directory) = above {
            for marker in self.stays.markers.iter().filter_map(|name| directory.join(name).ok()) {
                let mut stream = request.pages.entries(request.root);
                stream.seek(marker.clone());
                if stream.next()?.is_some_and(|entry| entry.path == marker) {
                    return Ok(true);
                }
            }
            above = directory.parent();
        }
        Ok(false)
    }
}

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
