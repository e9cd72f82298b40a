//! Target: the directory that is restored into, and operations on entries below it.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use copal_format::path::TreePath;

use super::directory::{Directories, Directory};
use super::file::TargetFile;
use super::shortfalls::{Lack, Power, Shortfalls};
use super::{Overwrite, Powers, TargetOptions, WriteError};
use crate::stat::{EntryStat, FileId};
use crate::system::{
    self, AsFd, AtFlags, Errno, FileType, Mode, OFlags, Object, OwnedFd, PATH, Place, has_this_name, linkat, mkdirat,
    mknodat, mode_of, openat, symlinkat, unlinkat,
};

/// A directory to restore into. Threads may share it.
pub struct Target {
    directory: OwnedFd,
    pub(super) options: TargetOptions,
    pub(super) open: Directories,
    /// Never removed, and never examined for surplus.
    pub(super) spared: Vec<FileId>,
    /// Directories that the options keep and that their owner may write into for now, with what they had before.
    loosened: Mutex<Vec<(TreePath, EntryStat)>>,
    shortfalls: Mutex<Shortfalls>,
}

/// The place of an entry: an open directory and a name in it. The top directory is `.` in itself.
pub(super) struct At {
    pub(super) directory: Arc<Directory>,
    pub(super) name: CString,
}

impl At {
    pub(super) fn place(&self) -> Place<'_> {
        Place { directory: self.directory.as_fd(), name: &self.name }
    }
}

/// The result of making an entry.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub enum Created {
    /// It is new.
    New,
    /// The directory existed already.
    Before,
    /// This process lacks the rights; counted as a shortfall.
    NotPermitted,
}

/// The result of a removal.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub enum Removal {
    /// Nothing is there now.
    Done,
    /// The directory is not empty and was left.
    NotEmpty,
}

impl Target {
    /// Opens a directory, created if missing. The path may contain links: the user chose it.
    pub fn open(path: &Path, options: TargetOptions) -> Result<Self, WriteError> {
        std::fs::create_dir_all(path).map_err(|source| WriteError::Target { path: path.into(), source })?;
        Self::open_existing(path, options)
    }

    /// Opens an existing directory.
    pub fn open_existing(path: &Path, options: TargetOptions) -> Result<Self, WriteError> {
        let failed = |source: io::Error| WriteError::Target { path: path.into(), source };
        let flags = PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = system::open_directory(path, flags).map_err(failed)?;
        let is_empty = std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        let open = Directories::new(directory.as_fd(), is_empty);
        let (loosened, shortfalls) = (Mutex::default(), Mutex::default());
        Ok(Self { directory, options, open, spared: Vec::new(), loosened, shortfalls })
    }

    /// The same target, which never removes these files and directories or anything in them.
    pub fn sparing(self, spared: Vec<FileId>) -> Self {
        Self { spared, ..self }
    }

    /// Makes a directory and its parents with mode 0700 until their metadata is set. Removes what is in the way, as far
    /// as the options allow.
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
        let is_this = has_this_name(&at.directory, &at.name);
        if !is_this.map_err(|error| WriteError::io("look at", path, error))? {
            return Err(WriteError::InTheWay { path: path.clone() });
        }
        if stat.is_directory() {
            self.make_writable(path, &at, &stat);
            return Ok(Created::Before);
        }
        if self.options.overwrite == Overwrite::Never {
            return Err(WriteError::InTheWay { path: path.clone() });
        }
        self.remove_existing(path)?;
        make().map_err(|errno| WriteError::io("make the directory", path, errno))?;
        Ok(Created::New)
    }

    /// Lets the owner write into a directory whose mode forbids it; its metadata is set again later, by
    /// [`Target::close_kept`] if the options keep it. Ignores failures: the writes into it fail then.
    fn make_writable(&self, path: &TreePath, at: &At, stat: &EntryStat) {
        if system::is_root() || system::user() != stat.uid || stat.mode & 0o700 == 0o700 {
            return;
        }
        let mode = mode_of(stat.mode) | Mode::RWXU;
        let set = Object::at(at.place(), false).and_then(|object| object.chmod(mode));
        if set.is_ok() && self.options.overwrite == Overwrite::Never {
            self.loosened.lock().unwrap_or_else(PoisonError::into_inner).push((path.clone(), stat.clone()));
        }
    }

    /// Gives kept directories back the mode and time that they had before this process let itself write into them.
    pub fn close_kept(&self) {
        let loosened = std::mem::take(&mut *self.loosened.lock().unwrap_or_else(PoisonError::into_inner));
        let close = |path: &TreePath, stat: &EntryStat| -> io::Result<()> {
            let at = self.at(path)?;
            let object = Object::at(at.place(), false)?;
            object.set_times(stat.mtime, stat.birth.into())?;
            Ok(object.chmod(mode_of(stat.mode))?)
        };
        // The deepest first: nothing below a closed directory can be reached. Directories were noted from the top down.
        for (path, stat) in loosened.iter().rev() {
            if let Err(error) = close(path, stat) {
                self.lacks(Lack::Mode, path, error);
            }
        }
    }

    /// Makes an empty file; nothing may exist there. Its mode is 0600 until its metadata is set, or already `mode` if
    /// that works and the directory is still closed to others.
    pub fn create_file(&self, path: &TreePath, mode: u32) -> Result<TargetFile, WriteError> {
        let at = self.at_made(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = mode_of(mode);
        // The owner may have to open the file again.
        let at_once = self.open.are_alike() && mode.contains(Mode::WUSR) && !mode.intersects(cut_off());
        let made_with = if at_once { mode } else { Mode::RUSR | Mode::WUSR };
        let file = openat(&at.directory, &at.name, flags, made_with);
        let file = file.map_err(|errno| WriteError::io("create", path, errno))?;
        Ok(TargetFile { path: path.clone(), file: file.into(), made: Some((at.directory, made_with)) })
    }

    /// Opens a file made earlier for more writing, if it is still this one. On file systems without lasting inode
    /// numbers, takes a file of this user that was made at the same time for it.
    pub fn reopen_file(&self, path: &TreePath, made: FileId) -> Result<TargetFile, WriteError> {
        let failed = |error: io::Error| WriteError::io("open", path, error);
        let at = self.at(path).map_err(failed)?;
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(&at.directory, &at.name, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        let stat = EntryStat::of(&file).map_err(failed)?;
        let is_own = stat.kind() == FileType::RegularFile && stat.links == 1 && stat.uid == system::user();
        let is_alike = is_own && FileId { inode: made.inode, ..stat.id() } == made;
        match stat.id() == made || (is_alike && system::renumbers_files(&file)) {
            true => Ok(TargetFile { path: path.clone(), file: file.into(), made: None }),
            false => Err(WriteError::Exchanged { path: path.clone() }),
        }
    }

    /// Opens a restored file to read it again.
    pub fn open_to_read(&self, path: &TreePath) -> Result<File, WriteError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let open = || -> io::Result<File> {
            let at = self.at(path)?;
            Ok(openat(&at.directory, &at.name, flags, Mode::empty())?.into())
        };
        open().map_err(|error| WriteError::io("read", path, error))
    }

    /// Makes a symbolic link with any target.
    pub fn symlink(&self, path: &TreePath, points_to: &[u8]) -> Result<(), WriteError> {
        let at = self.at_made(path)?;
        symlinkat(points_to, &at.directory, &at.name).map_err(|errno| WriteError::io("make the link", path, errno))
    }

    /// Makes a hard link to an entry of the target.
    pub fn hardlink(&self, path: &TreePath, existing: &TreePath) -> Result<(), WriteError> {
        let from = self.at(existing).map_err(|error| WriteError::io("link to", existing, error))?;
        let at = self.at_made(path)?;
        linkat(&from.directory, &from.name, &at.directory, &at.name, AtFlags::empty())
            .map_err(|errno| WriteError::io("make the hard link", path, errno))
    }

    /// Makes a FIFO.
    pub fn fifo(&self, path: &TreePath) -> Result<(), WriteError> {
        let at = self.at_made(path)?;
        mknodat(&at.directory, &at.name, FileType::Fifo, (0, 0))
            .map_err(|errno| WriteError::io("make the fifo", path, errno))
    }

    /// Makes a device file; needs the rights of root.
    pub fn device(&self, path: &TreePath, kind: FileType, numbers: (u32, u32)) -> Result<Created, WriteError> {
        let at = self.at_made(path)?;
        match mknodat(&at.directory, &at.name, kind, numbers) {
            Ok(()) => Ok(Created::New),
            Err(errno @ (Errno::PERM | Errno::ACCESS)) => {
                self.lacks(Lack::Device, path, errno);
                Ok(Created::NotPermitted)
            }
            Err(errno) => Err(WriteError::io("make the device", path, errno)),
        }
    }

    /// Removes the entry at a path; a directory with content only if the options allow it.
    pub fn remove_existing(&self, path: &TreePath) -> Result<(), WriteError> {
        if self.remove(path)? == Removal::Done {
            return Ok(());
        }
        if !self.options.replace_full_directories {
            return Err(WriteError::InTheWay { path: path.clone() });
        }
        let content = self.everything_within(path)?;
        if !content.spared.is_empty() {
            return Err(WriteError::InTheWay { path: path.clone() });
        }
        for below in &content.entries {
            self.remove(below)?;
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
        // Linux says that it is a directory, other systems that this is not permitted.
        let is_directory = || EntryStat::at(&at.directory, &at.name).is_ok_and(|stat| stat.is_directory());
        if removed == Err(Errno::ISDIR) || (removed == Err(Errno::PERM) && is_directory()) {
            self.open.clear();
            removed = unlinkat(&at.directory, &at.name, AtFlags::REMOVEDIR);
        }
        match removed {
            Ok(()) | Err(Errno::NOENT) => Ok(Removal::Done),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(Removal::NotEmpty),
            Err(errno) => Err(WriteError::io("remove", path, errno)),
        }
    }

    /// Writes everything to the disk, so that later reads come from there.
    pub fn write_back(&self) {
        // A failure is ignored: reads still return what the file system has.
        let _ = system::write_back(&self.directory);
    }

    /// The metadata that could not be set.
    pub fn finish(self) -> Shortfalls {
        self.shortfalls.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts metadata that could not be set.
    pub(crate) fn lacks(&self, lack: Lack, path: &TreePath, error: impl Into<io::Error>) {
        use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
        let error = error.into();
        // Not every system's code for it is one of these kinds.
        let is_unknown =
            Errno::from_io_error(&error).is_some_and(|errno| [Errno::NOTSUP, Errno::NOSYS].contains(&errno));
        let is_allowed = match (lack, error.kind()) {
            (Lack::Names | Lack::LeftOut(_), _) | (_, InvalidInput | Unsupported) => true,
            (_, PermissionDenied) => !self.is_locked(path),
            _ => is_unknown,
        };
        let mut shortfalls = self.shortfalls.lock().unwrap_or_else(PoisonError::into_inner);
        match is_allowed {
            true => shortfalls.add(lack, path, error),
            false => shortfalls.fail(lack, path, error),
        }
    }

    fn is_locked(&self, path: &TreePath) -> bool {
        self.at(path).is_ok_and(|at| system::is_locked(&at.directory, &at.name))
    }

    /// Whether to leave out a power of an entry; counts it if so.
    pub fn leaves_out(&self, power: Power, path: &TreePath) -> bool {
        let leaves_out = match self.options.powers {
            Powers::WithOwners => self.options.no_owner,
            Powers::Restored => false,
            Powers::LeftOut => true,
        };
        if leaves_out {
            self.lacks(Lack::LeftOut(power), path, io::Error::other("left out"));
        }
        leaves_out
    }

    /// The place of an entry, if its parent directories exist.
    pub(super) fn at(&self, path: &TreePath) -> io::Result<At> {
        let directory = self.open.at(self.directory.as_fd(), &path.parent().unwrap_or_default())?;
        let name = if path.is_top() { c".".into() } else { CString::new(path.name())? };
        Ok(At { directory, name })
    }

    /// The place of an entry; makes its parent directories if missing.
    fn at_made(&self, path: &TreePath) -> Result<At, WriteError> {
        match self.at(path) {
            Err(error) if is_blocked(&error) => {
                self.ensure_directory(&path.parent().unwrap_or_default()).map_err(|error| error.above(path))?;
                self.at(path)
            }
            at => at,
        }
        .map_err(|error| WriteError::io("reach", path, error))
    }
}

/// Mode bits that a new file does not get: those in the umask (all if it is unknown) and the special bits.
fn cut_off() -> Mode {
    static CUT_OFF: OnceLock<Mode> = OnceLock::new();
    *CUT_OFF.get_or_init(|| {
        let umask = system::umask_told().unwrap_or(0o777);
        mode_of(umask) | Mode::SUID | Mode::SGID | Mode::SVTX
    })
}

/// Whether a path cannot exist, because a directory on it is missing or is not a directory.
pub(super) fn is_blocked(error: &io::Error) -> bool {
    let nowhere = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP];
    Errno::from_io_error(error).is_some_and(|errno| nowhere.contains(&errno))
}
