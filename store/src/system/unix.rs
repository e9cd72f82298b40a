//! Unix: a directory by its open handle, and calls relative to it.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use memmap2::Mmap;
use rustix::fs::{AtFlags, Dir, FileType as RawType, Mode, OFlags};
pub(crate) use rustix::io::Errno;
pub(crate) use std::os::unix::fs::FileExt;

use super::Kind;
use crate::{Stat, StoreTime};

/// An open directory. The empty path is the directory itself.
#[derive(Debug)]
pub(crate) struct Root(OwnedFd);

impl Root {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path, DIRECTORY, Mode::empty())?))
    }

    /// Whether the directory's group may write; then it may write to everything that is made.
    pub(crate) fn is_shared(&self) -> io::Result<bool> {
        Ok(Mode::from_raw_mode(rustix::fs::fstat(&self.0)?.st_mode).contains(SHARED))
    }

    /// Lets the group write too.
    pub(crate) fn share(&self) -> io::Result<()> {
        let mode = Mode::from_raw_mode(rustix::fs::fstat(&self.0)?.st_mode);
        Ok(rustix::fs::chmodat(&self.0, ".", mode | SHARED_DIRECTORY, AtFlags::empty())?)
    }

    /// Whether this directory is still the one at its path, as far as this user may see.
    pub(crate) fn stands_at(&self, path: &Path) -> bool {
        match (rustix::fs::fstat(&self.0), rustix::fs::stat(path)) {
            (Ok(held), Ok(named)) => (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino),
            (_, Err(Errno::ACCESS)) => true,
            _ => false,
        }
    }

    pub(crate) fn new_file(&self, path: &str, is_shared: bool) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.0, path, flags, Mode::RUSR | Mode::WUSR)?;
        if is_shared {
            rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR | Mode::RGRP)?;
        }
        Ok(file.into())
    }

    /// Opens anything for reading; a pipe does not block.
    pub(crate) fn open_file(&self, path: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, path, flags, Mode::empty())?.into())
    }

    /// Opens anything to make it durable.
    pub(crate) fn open_to_sync(&self, path: &str) -> io::Result<File> {
        self.open_file(path)
    }

    pub(crate) fn sync_directory(&self, path: &str) -> io::Result<()> {
        File::from(self.open_directory(path)?).sync_all()
    }

    pub(crate) fn make_directory(&self, path: &str, is_shared: bool) -> io::Result<()> {
        rustix::fs::mkdirat(&self.0, path, Mode::RWXU)?;
        // The umask may have removed these rights from the new directory.
        if is_shared {
            rustix::fs::chmodat(&self.0, path, Mode::RWXU | SHARED_DIRECTORY, AtFlags::empty())?;
        }
        Ok(())
    }

    pub(crate) fn link(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::linkat(&self.0, from, &self.0, to, AtFlags::empty())?)
    }

    /// Renames, unless the new name exists.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        rename_new(&self.0, from, to)
    }

    pub(crate) fn unlink(&self, path: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, path, AtFlags::empty())?)
    }

    pub(crate) fn remove_directory(&self, path: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, path, AtFlags::REMOVEDIR)?)
    }

    pub(crate) fn stat(&self, path: &str) -> io::Result<(Kind, Stat)> {
        let stat = rustix::fs::statat(&self.0, path, AtFlags::SYMLINK_NOFOLLOW)?;
        let nanoseconds = i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec);
        let created = StoreTime(nanoseconds.clamp(i64::MIN.into(), i64::MAX.into()) as i64);
        let length = u64::try_from(stat.st_size).map_err(io::Error::other)?;
        let kind = of_raw(RawType::from_raw_mode(stat.st_mode));
        Ok((kind, Stat { length, created, sha256: None }))
    }

    /// The names in a directory, in no order, and what they are if the directory tells. Names that are no text are left
    /// out.
    pub(crate) fn entries(&self, path: &str) -> io::Result<Vec<(String, Option<Kind>)>> {
        let mut entries = Vec::new();
        for entry in Dir::new(self.open_directory(path)?)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            let kind = match entry.file_type() {
                RawType::Unknown => None,
                known => Some(of_raw(known)),
            };
            entries.push((name.to_owned(), kind));
        }
        Ok(entries)
    }

    fn open_directory(&self, path: &str) -> io::Result<OwnedFd> {
        let path = if path.is_empty() { "." } else { path };
        Ok(rustix::fs::openat(&self.0, path, DIRECTORY, Mode::empty())?)
    }
}

fn rename_new(root: &OwnedFd, from: &str, to: &str) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(root, from, root, to, rustix::fs::RenameFlags::NOREPLACE)?)
}

fn of_raw(file_type: RawType) -> Kind {
    match file_type {
        RawType::RegularFile => Kind::File,
        RawType::Directory => Kind::Directory,
        _ => Kind::Other,
    }
}

/// Makes a directory that only this user may enter.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Opens a directory to lock it. Only a directory: anybody may put a pipe or a link into the temporary directory.
pub(crate) fn to_lock(directory: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(directory, flags, Mode::empty())?.into())
}

/// The bytes that this user may still write where a directory lies.
pub(crate) fn free_bytes(directory: &Path) -> io::Result<u64> {
    let room = rustix::fs::statvfs(directory)?;
    Ok(room.f_bavail.saturating_mul(room.f_frsize))
}

/// Gives a new file its length, and the space for it.
pub(crate) fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes)?)
}

/// Makes the kernel read every page. It says whether one cannot be read, but not why. Needs Linux 5.14.
pub(crate) fn populate(mapping: &Mmap) -> io::Result<()> {
    mapping.advise(memmap2::Advice::PopulateRead)
}

/// The mode of a root for several users of a group: new directories belong to its group.
const SHARED: Mode = Mode::SGID.union(Mode::WGRP);
const SHARED_DIRECTORY: Mode = Mode::RWXG.union(Mode::SGID);

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
