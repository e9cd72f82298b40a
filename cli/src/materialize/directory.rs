//! Directory: a directory of the target, kept open, and what becomes of new entries in it.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use copal_engine::path::TreePath;
use rustix::fs::{OFlags, getxattr};

use crate::open;
use crate::stat::EntryStat;

/// An open directory.
pub(super) struct Directory {
    fd: OwnedFd,
    /// The owner and group that files made here get, once one was made.
    newcomers: OnceLock<(u32, u32)>,
    /// Whether new entries inherit an ACL.
    passes_acl_on: bool,
}

/// The directories opened lately, by their paths below the target.
#[derive(Default)]
pub(super) struct Directories {
    open: Mutex<HashMap<TreePath, Arc<Directory>>>,
}

impl Directory {
    fn new(fd: OwnedFd) -> Self {
        let through = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let passes_acl_on = getxattr(through, c"system.posix_acl_default", &mut [0; 0]).is_ok();
        Self { fd, newcomers: OnceLock::new(), passes_acl_on }
    }

    /// Whether new entries inherit an ACL from here.
    pub(super) fn passes_acl_on(&self) -> bool {
        self.passes_acl_on
    }

    /// Whether a file just made here belongs to this owner and group already. The first one is looked at; none but
    /// what is restored changes the directory meanwhile.
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

impl AsRawFd for Directory {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl Directories {
    /// A directory below the target, opened without following links.
    pub(super) fn at(&self, target: BorrowedFd<'_>, path: &TreePath) -> io::Result<Arc<Directory>> {
        if let Some(open) = self.lock().get(path) {
            return Ok(open.clone());
        }
        let fd = open::beneath(target, path.as_bytes(), OFlags::PATH | OFlags::DIRECTORY)?;
        let directory = Arc::new(Directory::new(fd));
        let mut open = self.lock();
        if open.len() >= OPEN {
            open.clear();
        }
        open.insert(path.clone(), directory.clone());
        Ok(directory)
    }

    /// Forgets all: one of them is no longer where it was.
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TreePath, Arc<Directory>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Directories kept open.
const OPEN: usize = 128;
