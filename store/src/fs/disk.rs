//! The system calls of a directory store, all relative to its open root.

use std::fs::{DirBuilder, File, FileType};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType as RawType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::cause;
use super::watch::{Step, Watch};
use crate::{Op, Stat, StoreError, StoreTime, key};

/// An open root directory. Paths are keys or prefixes of keys; the empty path is the root.
#[derive(Debug)]
pub(super) struct Disk {
    root: OwnedFd,
    path: PathBuf,
    /// Whether the root's group may write; then it may write to everything that is made.
    is_shared: bool,
    pub(super) watch: Watch,
}

impl Disk {
    pub(super) fn open(path: &Path) -> io::Result<Disk> {
        // Absolute, so that a change of the working directory does not make the root look missing.
        let path = path.canonicalize()?;
        let root = rustix::fs::open(&path, DIRECTORY, Mode::empty())?;
        let mode = Mode::from_raw_mode(rustix::fs::fstat(&root)?.st_mode);
        Ok(Disk { root, path, is_shared: mode.contains(SHARED), watch: Watch::default() })
    }

    /// Lets the root's group write too, from the next opening on.
    pub(super) fn share(&self) -> io::Result<()> {
        let mode = Mode::from_raw_mode(rustix::fs::fstat(&self.root)?.st_mode);
        Ok(rustix::fs::chmodat(&self.root, ".", mode | SHARED_DIRECTORY, AtFlags::empty())?)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Fails if the open directory is no longer the one at its path.
    pub(super) fn check_root(&self) -> Result<(), StoreError> {
        let held = rustix::fs::fstat(&self.root);
        let named = rustix::fs::stat(&self.path);
        let stands = match (held, named) {
            (Ok(held), Ok(named)) => (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino),
            (_, Err(Errno::ACCESS)) => true,
            _ => false,
        };
        if stands { Ok(()) } else { Err(StoreError::Gone { root: self.path.clone() }) }
    }

    /// The store error for a system error of a call on `key`.
    pub(super) fn explain(&self, op: Op, key: &str, error: io::Error) -> StoreError {
        match self.check_root() {
            Err(gone) => gone,
            Ok(()) => cause::explain(op, key, &self.path, error),
        }
    }

    /// Creates a file with a new random name below `tmp/`.
    pub(super) fn new_tmp(&self) -> io::Result<(String, File)> {
        let path = format!("{TMP}/{}", random_name()?);
        match self.new_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_directory(TMP)?;
                Ok((path.clone(), self.new_file(&path)?))
            }
            made => Ok((path, made?)),
        }
    }

    fn new_file(&self, path: &str) -> io::Result<File> {
        self.watch.step(Step::NewFile, path)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.root, path, flags, Mode::RUSR | Mode::WUSR)?;
        if self.is_shared {
            rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR | Mode::RGRP)?;
        }
        Ok(file.into())
    }

    /// Opens anything for reading; a pipe does not block.
    pub(super) fn open_file(&self, path: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.root, path, flags, Mode::empty())?.into())
    }

    pub(super) fn write(&self, file: &mut File, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.watch.step(Step::Write, path)?;
        #[cfg(feature = "faults")]
        let bytes = crate::faults::torn(file, bytes)?;
        io::Write::write_all(file, bytes)
    }

    pub(super) fn sync_file(&self, file: &File, path: &str) -> io::Result<()> {
        self.watch.step(Step::SyncFile, path)?;
        file.sync_all()
    }

    pub(super) fn sync_directory(&self, path: &str) -> io::Result<()> {
        let synced =
            self.watch.step(Step::SyncDirectory, path).and_then(|()| File::from(self.open_directory(path)?).sync_all());
        match synced {
            // Some network file systems cannot sync a directory: there the server ensures the order of names.
            Err(error) if cause::is_any(&error, &[Errno::INVAL, Errno::NOTSUP, Errno::NOSYS]) => Ok(()),
            synced => synced,
        }
    }

    /// Makes a directory unless it exists.
    pub(super) fn make_directory(&self, path: &str) -> io::Result<()> {
        self.watch.step(Step::MakeDirectory, path)?;
        match rustix::fs::mkdirat(&self.root, path, Mode::RWXU) {
            Err(Errno::EXIST) => Ok(()),
            // The umask may have removed these rights from the new directory.
            Ok(()) if self.is_shared => {
                Ok(rustix::fs::chmodat(&self.root, path, Mode::RWXU | SHARED_DIRECTORY, AtFlags::empty())?)
            }
            made => Ok(made?),
        }
    }

    pub(super) fn link(&self, from: &str, to: &str) -> io::Result<()> {
        self.watch.step(Step::Link, to)?;
        Ok(rustix::fs::linkat(&self.root, from, &self.root, to, AtFlags::empty())?)
    }

    /// Renames, unless the new name exists.
    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.watch.step(Step::Rename, to)?;
        Ok(rustix::fs::renameat_with(&self.root, from, &self.root, to, RenameFlags::NOREPLACE)?)
    }

    pub(super) fn unlink(&self, path: &str) -> io::Result<()> {
        self.watch.step(Step::Unlink, path)?;
        Ok(rustix::fs::unlinkat(&self.root, path, AtFlags::empty())?)
    }

    pub(super) fn remove_directory(&self, path: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.root, path, AtFlags::REMOVEDIR)?)
    }

    pub(super) fn stat(&self, path: &str) -> io::Result<(Kind, Stat)> {
        let stat = rustix::fs::statat(&self.root, path, AtFlags::SYMLINK_NOFOLLOW)?;
        let nanoseconds = i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec);
        let created = StoreTime(nanoseconds.clamp(i64::MIN.into(), i64::MAX.into()) as i64);
        let length = u64::try_from(stat.st_size).map_err(io::Error::other)?;
        Ok((Kind::of_raw(RawType::from_raw_mode(stat.st_mode)), Stat { length, created, sha256: None }))
    }

    /// The entries of a directory, in no order. Skips names that cannot be part of a key: no store made them.
    pub(super) fn entries(&self, path: &str) -> io::Result<Vec<(String, Kind)>> {
        self.watch.step(Step::ReadDirectory, path)?;
        let mut entries = Vec::new();
        for entry in Dir::new(self.open_directory(path)?)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if !key::is_segment(name) {
                continue;
            }
            let kind = match entry.file_type() {
                RawType::Unknown => match self.stat(&join(path, name)) {
                    Err(error) if cause::is_absence(&error) => continue,
                    stat => stat?.0,
                },
                known => Kind::of_raw(known),
            };
            entries.push((name.to_owned(), kind));
        }
        Ok(entries)
    }

    fn open_directory(&self, path: &str) -> io::Result<OwnedFd> {
        let path = if path.is_empty() { "." } else { path };
        Ok(rustix::fs::openat(&self.root, path, DIRECTORY, Mode::empty())?)
    }
}

/// What is at a path.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    Other,
}

impl Kind {
    pub(super) fn of(file_type: FileType) -> Kind {
        match (file_type.is_file(), file_type.is_dir()) {
            (true, _) => Kind::File,
            (_, true) => Kind::Directory,
            _ => Kind::Other,
        }
    }

    fn of_raw(file_type: RawType) -> Kind {
        match file_type {
            RawType::RegularFile => Kind::File,
            RawType::Directory => Kind::Directory,
            _ => Kind::Other,
        }
    }
}

/// Makes a directory and its missing parents, each durable in its parent.
pub(super) fn make_root(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Ok(()),
    };
    make_root(parent)?;
    match DirBuilder::new().mode(0o700).create(path) {
        // Another process made it first.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => (),
        made => made?,
    }
    File::open(parent)?.sync_all()
}

/// The path of an entry of a directory.
pub(super) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

pub(super) fn random_name() -> io::Result<String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(format!("{:032x}", u128::from_le_bytes(random)))
}

/// The directory of unfinished writes.
pub(super) const TMP: &str = "tmp";

/// The mode of a root for several users of a group: new directories belong to its group.
const SHARED: Mode = Mode::SGID.union(Mode::WGRP);
const SHARED_DIRECTORY: Mode = Mode::RWXG.union(Mode::SGID);

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
