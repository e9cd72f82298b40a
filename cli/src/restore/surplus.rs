//! Surplus: what the snapshot does not have, deleted from what was restored.

use copal_engine::path::TreePath;

use super::work::Work;
use super::{Event, RestoreError};
use crate::materialize::{Removal, SurplusError, Target};
use crate::reader::TreeError;

/// Deletes what lies in directories that were backed up, and is not in the snapshot.
pub(super) fn delete(work: &Work<'_>) -> Result<(), RestoreError> {
    let Some(target) = work.target else { return Ok(()) };
    for directory in work.request.scope.restored_directories(&work.request.sources) {
        delete_within(work, target, &directory)?;
    }
    Ok(())
}

fn delete_within(work: &Work<'_>, target: &Target, directory: &TreePath) -> Result<(), RestoreError> {
    let (request, scope) = (work.request, &work.request.scope);
    let mut stream = scope.entries(request.pages, request.root);
    stream.seek(scope.outside(directory));
    let places = std::iter::from_fn(|| match stream.next().transpose()? {
        Ok(entry) => scope.holds(&entry.path).then(|| Ok::<TreePath, TreeError>(scope.inside(&entry.path))),
        Err(error) => Some(Err(error)),
    });
    let selects = |place: &TreePath, is_directory| request.selection.selects(&scope.outside(place), is_directory);
    let surplus = match target.surplus(directory, places, selects) {
        Ok(surplus) => surplus,
        Err(SurplusError::Target(error)) => {
            work.write_failed(&error);
            return Ok(());
        }
        Err(SurplusError::Snapshot(error)) => return Err(error.into()),
    };
    for place in surplus {
        if work.is_over() {
            return work.check();
        }
        let removed = if request.is_dry_run { Ok(Removal::Done) } else { target.remove(&place) };
        match removed {
            Ok(Removal::Done) => {
                work.count(|tally| tally.deleted += 1);
                work.tell(Event::Deleted(&scope.outside(&place)));
            }
            // It holds something that is not to be deleted.
            Ok(Removal::NotEmpty) => {}
            Err(error) if error.hits_all() => return Err(error.into()),
            Err(error) => work.write_failed(&error),
        }
    }
    Ok(())
}
