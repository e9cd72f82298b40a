//! Vacancy: whether a place is free for a new repository.

use std::path::Path;

use copal_store::{Store, StoreError};

use crate::wait::wait;

/// Whether a store holds anything that neither the store nor an interrupted `init` makes.
pub(crate) fn holds_other_objects(store: &dyn Store) -> Result<bool, StoreError> {
    let mut after = None;
    loop {
        let page = wait(store.list("", after.as_ref(), 1_000))?;
        let is_ours = |name: &str| ["keys/", "copal/", "reader/", "tmp/"].iter().any(|ours| name.starts_with(ours));
        if page.objects.iter().any(|object| !is_ours(object.key.as_str())) {
            return Ok(true);
        }
        match page.objects.into_iter().next_back() {
            Some(last) if page.more => after = Some(last.key),
            _ => return Ok(false),
        }
    }
}

/// Whether a directory holds anything that neither the store nor an interrupted `init` makes.
pub(crate) fn holds_other_files(directory: &Path) -> Result<bool, std::io::Error> {
    for entry in std::fs::read_dir(directory)? {
        // `copal` and `reader` are empty, or another check found that an interrupted run left them.
        let entry = entry?;
        let name = entry.file_name();
        // Left by a run that was to make a replica, and died before it wrote the mark.
        if name == "work" && std::fs::read_dir(entry.path())?.next().is_none() {
            continue;
        }
        if !["tmp", "lost+found", "keys", "copal", "reader"].iter().any(|ours| name == *ours) {
            return Ok(true);
        }
    }
    Ok(false)
}
