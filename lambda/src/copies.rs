//! Copies: what a run reads of the index and the state, in files of the function's temporary directory. They are mapped,
//! so that the index of a domain is no part of the memory that a function is billed and ended for.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use copal_store::Store;
use copal_store::cache::Cache;

/// A store through which what is named by its hash is read once in a run, and its directory, which goes with it. It takes
/// three fifths of what is free there: what a job makes of an index is about half as large as that.
///
/// Each run begins without copies: a check reads from the bucket what it vouches for.
pub struct Copies<'a> {
    cache: Cache<&'a dyn Store>,
    directory: PathBuf,
}

impl<'a> Copies<'a> {
    /// Begins a run below a directory: removes what runs that were killed have left there. None, and a line in the log, if
    /// no files can be made there: then the index is held in memory.
    pub fn begin(store: &'a dyn Store, temporary: &Path) -> Option<Self> {
        remove_left_over(temporary);
        let directory = temporary.join(format!("{NAME}{}", std::process::id()));
        match Cache::open(store, &directory, &["index/", "state/"]) {
            Ok(cache) => {
                let room =
                    rustix::fs::statvfs(&directory).map_or(0, |room| room.f_bavail.saturating_mul(room.f_frsize));
                Some(Self { cache: cache.within(room / 5 * 3), directory })
            }
            Err(error) => {
                tracing::warn!(%error, directory = %directory.display(), "no copies of the index: it is held in memory");
                None
            }
        }
    }
}

impl<'a> Deref for Copies<'a> {
    type Target = Cache<&'a dyn Store>;

    fn deref(&self) -> &Self::Target {
        &self.cache
    }
}

impl Drop for Copies<'_> {
    /// What is still mapped stays readable. What stays behind, the next run removes.
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Removes the directories of processes that are no more, and of this one.
fn remove_left_over(temporary: &Path) {
    let found = std::fs::read_dir(temporary).into_iter().flatten().flatten();
    for entry in found {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<u32>().ok()) else {
            continue;
        };
        if process == std::process::id() || !Path::new(&format!("/proc/{process}")).exists() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// What the directories are called, before the number of the process.
const NAME: &str = "copal-copies-";
