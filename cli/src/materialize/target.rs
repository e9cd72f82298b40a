//! Target: the directory that is restored into, and the entries made below it.

use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use copal_engine::path::TreePath;
use copal_engine::time::Time;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, linkat, mkdirat, mknodat, openat, symlinkat, unlinkat};
use rustix::io::Errno;

use super::file::TargetFile;
use super::object::Object;
use super::shortfalls::{Lack, Shortfalls};
use super::{Overwrite, TargetOptions, WriteError};
use crate::open;
use crate::stat::EntryStat;

/// A directory being restored into. Threads may share it.
pub struct Target {
    directory: OwnedFd,
    pub(super) options: TargetOptions,
    /// Directories opened lately.
    open: Mutex<HashMap<TreePath, Arc<OwnedFd>>>,
    shortfalls: Mutex<Shortfalls>,
}

/// What is to be written somewhere.
#[derive(Debug, Copy, Clone)]
pub struct Wanted {
    /// Its kind; not a directory.
    pub kind: FileType,
    /// Bytes of a regular file.
    pub size: u64,
    /// When its content last changed.
    pub mtime: Time,
}

/// What is where something is to be written.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub enum Place {
    /// Nothing, or nothing any more: create the entry.
    Free,
    /// A file with the right content: set its metadata.
    Same,
    /// Something to be left as it is.
    Kept,
}

/// Whether an entry was made.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub enum Created {
    /// It is new.
    New,
    /// A directory that was there already.
    Before,
    /// It takes rights that this process lacks; noted among the shortfalls.
    NotPermitted,
}

/// What came of a removal.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub enum Removal {
    /// Nothing is there now.
    Done,
    /// A directory that is not empty, left as it is.
    NotEmpty,
}

/// Where an entry lies: an open directory, and its name there. The top directory is `.` in itself.
pub(super) struct At {
    pub(super) directory: Arc<OwnedFd>,
    pub(super) name: CString,
}

impl Target {
    /// Opens a directory, making it first if need be. The path may lead through links: it is the user's.
    pub fn open(path: &Path, options: TargetOptions) -> Result<Self, WriteError> {
        let failed = |source: io::Error| WriteError::Target { path: path.into(), source };
        std::fs::create_dir_all(path).map_err(failed)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(CWD, path, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        Ok(Self { directory, options, open: Mutex::default(), shortfalls: Mutex::default() })
    }

    /// What the file system says of an entry of the target, if there is one.
    pub fn existing(&self, path: &TreePath) -> Result<Option<EntryStat>, WriteError> {
        let look = || -> io::Result<EntryStat> {
            let at = self.at(path)?;
            EntryStat::at(&at.directory, &at.name)
        };
        match look() {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if is_blocked(&error) => Ok(None),
            Err(error) => Err(WriteError::io("look at", path, error)),
        }
    }

    /// Whether a regular file with this size and mtime is there already.
    pub fn existing_matches(&self, path: &TreePath, wanted: &Wanted) -> Result<bool, WriteError> {
        Ok(self.existing(path)?.is_some_and(|stat| matches(&stat, wanted)))
    }

    /// Makes room for an entry that is no directory, as far as the options allow.
    pub fn make_way(&self, path: &TreePath, wanted: &Wanted) -> Result<Place, WriteError> {
        let Some(stat) = self.existing(path)? else { return Ok(Place::Free) };
        match self.options.overwrite {
            Overwrite::Never => return Ok(Place::Kept),
            Overwrite::Changed if matches(&stat, wanted) => return Ok(Place::Same),
            Overwrite::Changed | Overwrite::Always => {}
        }
        self.remove_existing(path)?;
        Ok(Place::Free)
    }

    /// Makes a directory, and those above it, readable by nobody else until its metadata is set. What is in the way is
    /// removed as far as the options allow.
    pub fn ensure_directory(&self, path: &TreePath) -> Result<Created, WriteError> {
        if path.is_top() {
            return Ok(Created::Before);
        }
        let at = self.at_made(path)?;
        let make = || mkdirat(&at.directory, &at.name, Mode::RWXU);
        match make() {
            Ok(()) => return Ok(Created::New),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(WriteError::io("make the directory", path, errno)),
        }
        let stat = EntryStat::at(&at.directory, &at.name).map_err(|error| WriteError::io("look at", path, error))?;
        if stat.is_directory() {
            self.make_writable(&at, &stat);
            return Ok(Created::Before);
        }
        if self.options.overwrite == Overwrite::Never {
            return Err(WriteError::InTheWay { path: path.clone() });
        }
        self.remove_existing(path)?;
        make().map_err(|errno| WriteError::io("make the directory", path, errno))?;
        Ok(Created::New)
    }

    /// A directory restored before may be closed to its owner, who is to write into it once more; its metadata is set
    /// again afterwards. If this fails, so will what is written there.
    fn make_writable(&self, at: &At, stat: &EntryStat) {
        let owner = rustix::process::geteuid();
        if !owner.is_root() && owner.as_raw() == stat.uid && stat.mode & 0o700 != 0o700 {
            let _ = Object::at(at, false).chmod(Mode::from_bits_truncate(stat.mode & 0o7777) | Mode::RWXU);
        }
    }

    /// Makes an empty file, readable by nobody else until its metadata is set. Nothing may be there.
    pub fn create_file(&self, path: &TreePath) -> Result<TargetFile, WriteError> {
        let at = self.at_made(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&at.directory, &at.name, flags, Mode::RUSR | Mode::WUSR);
        let file = file.map_err(|errno| WriteError::io("create", path, errno))?;
        Ok(TargetFile::new(path.clone(), file.into()))
    }

    /// Opens a file made earlier, to go on writing.
    pub fn reopen_file(&self, path: &TreePath) -> Result<TargetFile, WriteError> {
        let failed = |error: io::Error| WriteError::io("open", path, error);
        let at = self.at(path).map_err(failed)?;
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(&at.directory, &at.name, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        match EntryStat::of(&file).map_err(failed)?.kind() {
            FileType::RegularFile => Ok(TargetFile::new(path.clone(), file.into())),
            _ => Err(WriteError::InTheWay { path: path.clone() }),
        }
    }

    /// Makes a symbolic link; where it points is nobody's business here.
    pub fn symlink(&self, path: &TreePath, points_to: &[u8]) -> Result<(), WriteError> {
        let at = self.at_made(path)?;
        symlinkat(OsStr::from_bytes(points_to), &at.directory, &at.name)
            .map_err(|errno| WriteError::io("make the link", path, errno))
    }

    /// Makes another name for an entry of the target.
    pub fn hardlink(&self, path: &TreePath, existing: &TreePath) -> Result<(), WriteError> {
        let from = self.at(existing).map_err(|error| WriteError::io("link to", existing, error))?;
        let at = self.at_made(path)?;
        linkat(&from.directory, &from.name, &at.directory, &at.name, AtFlags::empty())
            .map_err(|errno| WriteError::io("make the hard link", path, errno))
    }

    /// Makes a FIFO.
    pub fn fifo(&self, path: &TreePath) -> Result<(), WriteError> {
        let at = self.at_made(path)?;
        mknodat(&at.directory, &at.name, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .map_err(|errno| WriteError::io("make the fifo", path, errno))
    }

    /// Makes a device file, which takes the rights of root.
    pub fn device(&self, path: &TreePath, kind: FileType, numbers: (u32, u32)) -> Result<Created, WriteError> {
        let at = self.at_made(path)?;
        let device = rustix::fs::makedev(numbers.0, numbers.1);
        match mknodat(&at.directory, &at.name, kind, Mode::RUSR | Mode::WUSR, device) {
            Ok(()) => Ok(Created::New),
            Err(errno @ (Errno::PERM | Errno::ACCESS)) => {
                self.lacks(Lack::Device, path, errno);
                Ok(Created::NotPermitted)
            }
            Err(errno) => Err(WriteError::io("make the device", path, errno)),
        }
    }

    /// Removes whatever is at a path; a directory with content only if the options allow that.
    pub fn remove_existing(&self, path: &TreePath) -> Result<(), WriteError> {
        if self.remove(path)? == Removal::Done {
            return Ok(());
        }
        if !self.options.replace_full_directories {
            return Err(WriteError::InTheWay { path: path.clone() });
        }
        for below in self.everything_within(path)? {
            self.remove(&below)?;
        }
        match self.remove(path)? {
            Removal::Done => Ok(()),
            Removal::NotEmpty => Err(WriteError::InTheWay { path: path.clone() }),
        }
    }

    /// Removes one entry; a directory only if it is empty.
    pub fn remove(&self, path: &TreePath) -> Result<Removal, WriteError> {
        let at = match self.at(path) {
            Ok(at) => at,
            Err(error) if is_blocked(&error) => return Ok(Removal::Done),
            Err(error) => return Err(WriteError::io("remove", path, error)),
        };
        let mut removed = unlinkat(&at.directory, &at.name, AtFlags::empty());
        if removed == Err(Errno::ISDIR) {
            self.opened().clear();
            removed = unlinkat(&at.directory, &at.name, AtFlags::REMOVEDIR);
        }
        match removed {
            Ok(()) | Err(Errno::NOENT) => Ok(Removal::Done),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(Removal::NotEmpty),
            Err(errno) => Err(WriteError::io("remove", path, errno)),
        }
    }

    /// What could not be restored as it was for want of rights or of the file system's support.
    pub fn finish(self) -> Shortfalls {
        self.shortfalls.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lacks(&self, lack: Lack, path: &TreePath, error: impl Into<io::Error>) {
        let mut shortfalls = self.shortfalls.lock().unwrap_or_else(PoisonError::into_inner);
        shortfalls.add(lack, path, error.into());
    }

    /// Where an entry lies, if the directories above it are there.
    pub(super) fn at(&self, path: &TreePath) -> io::Result<At> {
        let directory = self.directory(&path.parent().unwrap_or_default())?;
        let name = if path.is_top() { c".".into() } else { CString::new(path.name())? };
        Ok(At { directory, name })
    }

    /// Where an entry is to lie; makes the directories above it if need be.
    fn at_made(&self, path: &TreePath) -> Result<At, WriteError> {
        match self.at(path) {
            Err(error) if is_blocked(&error) => {
                self.ensure_directory(&path.parent().unwrap_or_default())?;
                self.at(path)
            }
            at => at,
        }
        .map_err(|error| WriteError::io("reach", path, error))
    }

    fn directory(&self, path: &TreePath) -> io::Result<Arc<OwnedFd>> {
        if let Some(open) = self.opened().get(path) {
            return Ok(open.clone());
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let directory = Arc::new(open::beneath(self.directory.as_fd(), path.as_bytes(), flags)?);
        let mut opened = self.opened();
        if opened.len() >= OPEN {
            opened.clear();
        }
        opened.insert(path.clone(), directory.clone());
        Ok(directory)
    }

    fn opened(&self) -> MutexGuard<'_, HashMap<TreePath, Arc<OwnedFd>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn matches(stat: &EntryStat, wanted: &Wanted) -> bool {
    let found = (stat.kind(), stat.size, stat.mtime);
    found == (FileType::RegularFile, wanted.size, wanted.mtime) && wanted.kind == FileType::RegularFile
}

/// Whether a path leads nowhere, because a directory on it is missing or is something else.
fn is_blocked(error: &io::Error) -> bool {
    let nowhere = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP].map(|errno| errno.raw_os_error());
    error.raw_os_error().is_some_and(|code| nowhere.contains(&code))
}

/// Directories kept open.
const OPEN: usize = 128;
