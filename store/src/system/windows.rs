//! Windows: a directory by its open handle and its path. Nothing is cached of what lies below.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use copal_windows::{OFlags, OwnedFd, open_path};
use memmap2::Mmap;

pub(crate) use copal_windows::Errno;

use super::Kind;
use crate::{Stat, StoreTime};

/// An open directory. The empty path is the directory itself.
#[derive(Debug)]
pub(crate) struct Root {
    held: OwnedFd,
    path: PathBuf,
}

impl Root {
    /// The path is canonical: it begins with `\\?\`, and so may be long.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { held: open_path(path, DIRECTORY)?, path: path.to_owned() })
    }

    /// Who may write is inherited here, and the directory's owner decides it by its ACL.
    pub(crate) fn is_shared(&self) -> io::Result<bool> {
        Ok(false)
    }

    pub(crate) fn share(&self) -> io::Result<()> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "there are no groups of this kind on Windows: give the others rights on the directory, which are inherited",
        ))
    }

    /// Whether this directory is still the one at its path, as far as this user may see.
    pub(crate) fn stands_at(&self, path: &Path) -> bool {
        let named = open_path(path, DIRECTORY).and_then(copal_windows::stat);
        match (copal_windows::stat(&self.held), named) {
            (Ok(held), Ok(named)) => (held.volume, held.number) == (named.volume, named.number),
            (_, Err(Errno::ACCESS)) => true,
            _ => false,
        }
    }

    pub(crate) fn new_file(&self, path: &str, _: bool) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open(self.at(path))
    }

    /// Opens anything for reading, but no link.
    pub(crate) fn open_file(&self, path: &str) -> io::Result<File> {
        Ok(open_path(&self.at(path), OFlags::RDONLY)?.into())
    }

    /// Opens anything to make it durable: that needs the right to write.
    pub(crate) fn open_to_sync(&self, path: &str) -> io::Result<File> {
        Ok(open_path(&self.at(path), OFlags::RDWR)?.into())
    }

    pub(crate) fn sync_directory(&self, path: &str) -> io::Result<()> {
        sync_directory(&self.at(path))
    }

    pub(crate) fn make_directory(&self, path: &str, _: bool) -> io::Result<()> {
        std::fs::create_dir(self.at(path))
    }

    pub(crate) fn link(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::hard_link(self.at(from), self.at(to))
    }

    /// Renames, unless the new name exists.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        copal_windows::rename_new(&self.at(from), &self.at(to))
    }

    pub(crate) fn unlink(&self, path: &str) -> io::Result<()> {
        let (directory, name) = self.apart(path)?;
        match copal_windows::delete(directory, name, false) {
            // Windows deletes no file that somebody has mapped, but renames it.
            Err(errno @ (Errno::ACCESS | Errno::BUSY)) => self.put_aside(path).map_err(|_| errno.into()),
            deleted => Ok(deleted?),
        }
    }

    /// Takes the name from a file that cannot be deleted yet. A later sweep deletes what lies below `tmp/`.
    fn put_aside(&self, path: &str) -> io::Result<()> {
        let random = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
        match self.make_directory(TMP, false) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
        self.rename(path, &format!("{TMP}/{random:016x}"))
    }

    pub(crate) fn remove_directory(&self, path: &str) -> io::Result<()> {
        let (directory, name) = self.apart(path)?;
        Ok(copal_windows::delete(directory, name, true)?)
    }

    pub(crate) fn stat(&self, path: &str) -> io::Result<(Kind, Stat)> {
        let file = File::from(open_path(&self.at(path), OFlags::PATH)?);
        let metadata = file.metadata()?;
        Ok((
            Kind::of(metadata.file_type()),
            Stat { length: metadata.len(), created: time(metadata.modified()?), sha256: None },
        ))
    }

    /// The names in a directory, in no order, and what they are if the directory tells. Leaves out names that are not
    /// UTF-8.
    pub(crate) fn entries(&self, path: &str) -> io::Result<Vec<(String, Option<Kind>)>> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(self.at(path))? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            entries.push((name, Some(Kind::of(entry.file_type()?))));
        }
        Ok(entries)
    }

    /// The system's path of a key or a prefix of keys. A path that begins with `\\?\` has no `/`.
    fn at(&self, path: &str) -> PathBuf {
        path.split('/').filter(|name| !name.is_empty()).fold(self.path.clone(), |above, name| above.join(name))
    }

    fn apart<'p>(&self, path: &'p str) -> io::Result<(OwnedFd, &'p str)> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((open_path(&self.at(directory), DIRECTORY)?, name))
    }
}

fn time(modified: SystemTime) -> StoreTime {
    let nanoseconds = |time: std::time::Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    StoreTime(match modified.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => nanoseconds(after),
        Err(before) => -nanoseconds(before.duration()),
    })
}

/// Makes a directory; who may enter is inherited.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    std::fs::create_dir(path)
}

pub(crate) use copal_windows::FileExt;
pub use copal_windows::sync_directory;

/// Makes a file durable.
pub fn sync(file: &File) -> io::Result<()> {
    file.sync_all()
}

/// Opens the file that is locked instead of its directory: directories have no locks here.
pub(crate) fn to_lock(directory: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(directory.join("lock"))
}

/// The bytes that this user may still write where a directory lies.
pub(crate) fn free_bytes(directory: &Path) -> io::Result<u64> {
    copal_windows::free_bytes(directory)
}

/// Gives a new file its length, and the space for it.
pub(crate) fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)
}

/// Windows has no such call: the file is read instead.
pub(crate) fn populate(_: &Mmap) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The directory of unfinished writes, as in `fs`.
const TMP: &str = "tmp";
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
