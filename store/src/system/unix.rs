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
        // FreeBSD has another error for a link that is not followed.
        let opened = rustix::fs::openat(&self.0, path, flags, Mode::empty())
            .map_err(|errno| if errno == Errno::MLINK { Errno::LOOP } else { errno })?;
        Ok(opened.into())
    }

    /// Opens anything to make it durable.
    pub(crate) fn open_to_sync(&self, path: &str) -> io::Result<File> {
        self.open_file(path)
    }

    pub(crate) fn sync_directory(&self, path: &str) -> io::Result<()> {
        sync(&self.open_directory(path)?.into())
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

    /// The names in a directory, in no order, and what they are if the directory tells. Leaves out names that are not
    /// UTF-8.
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

#[cfg(not(target_os = "freebsd"))]
fn rename_new(root: &OwnedFd, from: &str, to: &str) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(root, from, root, to, rustix::fs::RenameFlags::NOREPLACE)?)
}

/// A rename of FreeBSD replaces, so the file gets its second name first.
#[cfg(target_os = "freebsd")]
fn rename_new(root: &OwnedFd, from: &str, to: &str) -> io::Result<()> {
    rustix::fs::linkat(root, from, root, to, AtFlags::empty())?;
    Ok(rustix::fs::unlinkat(root, from, AtFlags::empty())?)
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

/// Makes a file durable. On macOS this flushes the disk itself, which a network share does not support: there a plain
/// fsync has to do.
pub fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if [Errno::NOTSUP, Errno::NOTTY].map(Some).contains(&Errno::from_io_error(&error)) => {
            Ok(rustix::fs::fsync(file)?)
        }
        synced => synced,
    }
}

/// Makes the names in a directory durable.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    sync(&File::open(path)?)
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

/// Gives a new file its length, and the space for it. Not every file system can without writing (ZFS, ext3).
pub(crate) fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
        Err(Errno::INVAL | Errno::NOTSUP) if bytes > 0 => write_zeros(file, bytes),
        allocated => Ok(allocated?),
    }
}

fn write_zeros(file: &File, bytes: u64) -> io::Result<()> {
    let room = rustix::fs::fstatvfs(file)?;
    if bytes > room.f_bavail.saturating_mul(room.f_frsize) {
        return Err(Errno::NOSPC.into());
    }
    let zeros = vec![0; bytes.min(1 << 20) as usize];
    let mut at = 0;
    while at < bytes {
        let length = (bytes - at).min(zeros.len() as u64);
        file.write_all_at(&zeros[..length as usize], at)?;
        at += length;
    }
    Ok(())
}

/// Makes the kernel read every page. It says whether one cannot be read, but not why. Needs Linux 5.14.
#[cfg(target_os = "linux")]
pub(crate) fn populate(mapping: &Mmap) -> io::Result<()> {
    mapping.advise(memmap2::Advice::PopulateRead)
}

/// Other systems have no such call: the file is read instead.
#[cfg(not(target_os = "linux"))]
pub(crate) fn populate(_: &Mmap) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The mode of a root for several users of a group: new directories belong to its group.
const SHARED: Mode = Mode::SGID.union(Mode::WGRP);
const SHARED_DIRECTORY: Mode = Mode::RWXG.union(Mode::SGID);

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_space_cannot_be_allocated_it_is_written() {
        let file = tempfile::tempfile().unwrap();
        let bytes = (2 << 20) + 17;
        write_zeros(&file, bytes).unwrap();
        let stat = rustix::fs::fstat(&file).unwrap();
        assert_eq!(stat.st_size as u64, bytes);
        assert!(stat.st_blocks as u64 * 512 >= bytes, "it has no holes");
        // Nothing is written if there is no room for all.
        let error = write_zeros(&file, 1 << 60).unwrap_err();
        assert_eq!(Errno::from_io_error(&error), Some(Errno::NOSPC));
    }
}
