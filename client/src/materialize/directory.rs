//! Directory: open directories of the target, and what they pass on to new entries.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use copal_format::path::TreePath;

use crate::open;
use crate::stat::EntryStat;
use crate::system::{AsFd, BorrowedFd, OFlags, OwnedFd, PATH, has_default_acl};

pub(super) struct Directory {
    fd: OwnedFd,
    newcomers: Newcomers,
    /// Whether new entries inherit an ACL.
    pub(super) passes_acl_on: bool,
}

/// The owner and group of entries made in a directory, known once one was made.
type Newcomers = Arc<OnceLock<(u32, u32)>>;

/// Recently used directories, by their paths below the target.
#[derive(Default)]
pub(super) struct Directories {
    open: Mutex<HashMap<TreePath, Arc<Directory>>>,
    /// Set if the target was empty and passes on neither an ACL nor its group. Then all directories are made in the
    /// same way and share this value.
    alike: Option<Newcomers>,
}

impl Directory {
    fn new(fd: OwnedFd, alike: Option<Newcomers>) -> Self {
        let passes_acl_on = alike.is_none() && has_default_acl(fd.as_fd());
        Self { fd, newcomers: alike.unwrap_or_default(), passes_acl_on }
    }

    /// Whether a file just made here has this owner and group already. Examines only the first file: nothing except the
    /// restore changes the directory meanwhile.
    pub(super) fn gives(&self, file: BorrowedFd<'_>, owner: (u32, u32)) -> bool {
        if let Some(newcomers) = self.newcomers.get() {
            return *newcomers == owner;
        }
        EntryStat::of(file).is_ok_and(|stat| *self.newcomers.get_or_init(|| (stat.uid, stat.gid)) == owner)
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Directories {
    /// No open directories yet; `target` was just opened.
    pub(super) fn new(target: BorrowedFd<'_>, is_empty: bool) -> Self {
        let passes_group_on = |stat: &EntryStat| stat.mode & SGID != 0;
        let is_plain = EntryStat::of(target).is_ok_and(|stat| !passes_group_on(&stat)) && !has_default_acl(target);
        Self { open: Mutex::default(), alike: (is_empty && is_plain).then(Newcomers::default) }
    }

    /// Whether this restore made all directories, and they pass nothing on.
    pub(super) fn are_alike(&self) -> bool {
        self.alike.is_some()
    }

    /// Whether all new entries have this owner and group without a chown.
    pub(super) fn all_give(&self, owner: (u32, u32)) -> bool {
        self.alike.as_ref().and_then(|newcomers| newcomers.get()).is_some_and(|newcomers| *newcomers == owner)
    }

    /// Opens a directory below the target without following links.
    pub(super) fn at(&self, target: BorrowedFd<'_>, path: &TreePath) -> io::Result<Arc<Directory>> {
        if let Some(open) = self.lock().get(path) {
            return Ok(open.clone());
        }
        let fd = open::beneath(target, path.as_bytes(), PATH | OFlags::DIRECTORY)?;
        let directory = Arc::new(Directory::new(fd, self.alike.clone()));
        let mut open = self.lock();
        if open.len() >= OPEN {
            open.clear();
        }
        open.insert(path.clone(), directory.clone());
        Ok(directory)
    }

    /// Closes all, because one of them may have been removed.
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TreePath, Arc<Directory>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const SGID: u32 = 0o2000;
/// Most directories kept open.
const OPEN: usize = 128;
