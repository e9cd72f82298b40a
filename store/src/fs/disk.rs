//! The system calls of a directory store, all relative to its open root.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::cause;
use super::watch::{Step, Watch};
pub(super) use crate::system::Kind;
use crate::system::{self, Errno, Root};
use crate::{Op, Stat, StoreError, key};

/// An open root directory. Paths are keys or prefixes of keys; the empty path is the root.
#[derive(Debug)]
pub(super) struct Disk {
    root: Root,
    path: PathBuf,
    /// Whether the root's group may write; then it may write to everything that is made.
    is_shared: bool,
    pub(super) watch: Watch,
}

impl Disk {
    pub(super) fn open(path: &Path) -> io::Result<Disk> {
        // Absolute, so that a change of the working directory does not make the root look missing.
        let path = path.canonicalize()?;
        let root = Root::open(&path)?;
        Ok(Disk { is_shared: root.is_shared()?, root, path, watch: Watch::default() })
    }

    /// Lets the root's group write too, from the next opening on.
    pub(super) fn share(&self) -> io::Result<()> {
        self.root.share()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Fails if the open directory is no longer the one at its path.
    pub(super) fn check_root(&self) -> Result<(), StoreError> {
        let stands = self.root.stands_at(&self.path);
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
        self.root.new_file(path, self.is_shared)
    }

    /// Opens anything for reading; a pipe does not block.
    pub(super) fn open_file(&self, path: &str) -> io::Result<File> {
        self.root.open_file(path)
    }

    /// Opens anything to make it durable.
    pub(super) fn open_to_sync(&self, path: &str) -> io::Result<File> {
        self.root.open_to_sync(path)
    }

    /// Writes the bytes of a new file; with `is_bulk`, past the page cache if the file system supports that.
    pub(super) fn write(&self, file: &mut File, path: &str, bytes: &[u8], is_bulk: bool) -> io::Result<()> {
        self.watch.step(Step::Write, path)?;
        #[cfg(feature = "faults")]
        let bytes = crate::faults::torn(file, bytes)?;
        if is_bulk { system::write_direct(file, bytes) } else { io::Write::write_all(file, bytes) }
    }

    pub(super) fn sync_file(&self, file: &File, path: &str) -> io::Result<()> {
        self.watch.step(Step::SyncFile, path)?;
        system::sync(file)
    }

    pub(super) fn sync_directory(&self, path: &str) -> io::Result<()> {
        let synced = self.watch.step(Step::SyncDirectory, path).and_then(|()| self.root.sync_directory(path));
        match synced {
            // Some network file systems cannot sync a directory: there the server ensures the order of names.
            Err(error) if cause::is_any(&error, &[Errno::INVAL, Errno::NOTSUP, Errno::NOSYS]) => Ok(()),
            synced => synced,
        }
    }

    /// Makes a directory unless it exists; says whether it is new.
    pub(super) fn make_directory(&self, path: &str) -> io::Result<bool> {
        self.watch.step(Step::MakeDirectory, path)?;
        match self.root.make_directory(path, self.is_shared) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            made => made.map(|()| true),
        }
    }

    pub(super) fn link(&self, from: &str, to: &str) -> io::Result<()> {
        self.watch.step(Step::Link, to)?;
        self.root.link(from, to)
    }

    /// Renames, unless the new name exists.
    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.watch.step(Step::Rename, to)?;
        self.root.rename(from, to)
    }

    pub(super) fn unlink(&self, path: &str) -> io::Result<()> {
        self.watch.step(Step::Unlink, path)?;
        self.root.unlink(path)
    }

    pub(super) fn remove_directory(&self, path: &str) -> io::Result<()> {
        self.root.remove_directory(path)
    }

    pub(super) fn stat(&self, path: &str) -> io::Result<(Kind, Stat)> {
        self.watch.look(path)?;
        self.root.stat(path)
    }

    /// The entries of a directory, in no order. Skips names that cannot be part of a key: no store made them.
    pub(super) fn entries(&self, path: &str) -> io::Result<Vec<(String, Kind)>> {
        self.watch.step(Step::ReadDirectory, path)?;
        self.watch.look(path)?;
        let mut entries = Vec::new();
        for (name, kind) in self.root.entries(path)? {
            if !key::is_segment(&name) {
                continue;
            }
            let kind = match kind {
                None => match self.stat(&join(path, &name)) {
                    Err(error) if cause::is_absence(&error) => continue,
                    stat => stat?.0,
                },
                Some(known) => known,
            };
            entries.push((name, kind));
        }
        Ok(entries)
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
    match system::make_directory(path) {
        // Another process made it first.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => (),
        made => made?,
    }
    system::sync_directory(parent)
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
