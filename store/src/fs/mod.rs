//! A directory as a store: one file for each object, at the path its key spells.
//!
//! Files are written under `tmp/`, synced, given their name by link(2), and never changed again. The calls
//! block the thread that polls them: hosts that wait for many things at once give them a thread.

mod cause;
mod clock;
mod create;
mod disk;
mod mapping;
mod probe;
mod walk;
mod watch;

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::{io, io::Read};

use async_trait::async_trait;
use bytes::Bytes;

use crate::system::FileExt;
use crate::{Created, Key, ListPage, Op, Stat, Store, StoreError, StoreTime};
use create::Homes;
pub use create::Naming;
use disk::{Disk, Kind};
pub use mapping::Unnamed;

/// A store in a directory of a local or network file system.
///
/// The directory is held open, so that a file system mounted over it, or gone from under it, is never taken
/// for this store.
#[derive(Debug)]
pub struct FsStore {
    disk: Disk,
    homes: Homes,
}

impl FsStore {
    /// Opens an existing directory. Writes nothing, so that a repository on a read-only medium can be read.
    pub fn open(path: impl AsRef<Path>) -> Result<FsStore, StoreError> {
        let path = path.as_ref();
        let disk = Disk::open(path).map_err(|error| cause::of_root(Op::List, path, error))?;
        Ok(FsStore { disk, homes: Homes::default() })
    }

    /// Opens a directory, making it and its parents durably where they are missing.
    pub fn create(path: impl AsRef<Path>) -> Result<FsStore, StoreError> {
        let path = path.as_ref();
        disk::make_root(path).map_err(|error| cause::of_root(Op::Create, path, error))?;
        FsStore::open(path)
    }

    /// Lets all users of the directory's group read and write, from the next opening on. A new entry in a directory
    /// whose group may write, and whose set-group-id bit is set, belongs to that group, which may read it.
    pub fn share(&self) -> Result<(), StoreError> {
        self.disk.share().map_err(|error| cause::of_root(Op::Create, self.disk.path(), error))
    }

    /// Finds out how this file system makes a name without replacing one, also when several threads make the
    /// same name at once; [`StoreError::NotCreateOnly`] if it cannot.
    pub fn probe(&self) -> Result<Naming, StoreError> {
        probe::probe(&self.disk)
    }

    /// The object's file and its length, or `None` if there is none.
    fn find(&self, op: Op, key: &Key) -> Result<Option<(File, u64)>, StoreError> {
        let explain = |error| self.disk.explain(op, key.as_str(), error);
        let file = match self.disk.open_file(key.as_str()) {
            Err(error) if cause::is_absence(&error) => return self.absent(),
            opened => opened.map_err(explain)?,
        };
        let metadata = file.metadata().map_err(explain)?;
        match Kind::of(metadata.file_type()) {
            Kind::File => Ok(Some((file, metadata.len()))),
            Kind::Directory => self.absent(),
            Kind::Other => Err(StoreError::Obstructed { key: key.to_string() }),
        }
    }

    fn open_object(&self, op: Op, key: &Key) -> Result<(File, u64), StoreError> {
        self.find(op, key)?.ok_or_else(|| StoreError::NotFound { key: key.clone() })
    }

    /// The object does not exist. That is certain only if the root still exists.
    fn absent<T>(&self) -> Result<Option<T>, StoreError> {
        self.disk.check_root()?;
        Ok(None)
    }
}

/// Blocks in every call.
#[async_trait]
impl Store for FsStore {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        create::create(&self.disk, &self.homes, key, &bytes)
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        let (mut file, length) = self.open_object(Op::Read, key)?;
        read_exactly(length, |bytes| file.read_exact(bytes))
            .map_err(|error| self.disk.explain(Op::Read, key.as_str(), error))
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        let (file, length) = self.open_object(Op::ReadRange, key)?;
        if range.start > range.end || range.end > length {
            return Err(StoreError::OutOfRange { key: key.clone(), range, length });
        }
        read_exactly(range.end - range.start, |bytes| file.read_exact_at(bytes, range.start))
            .map_err(|error| self.disk.explain(Op::ReadRange, key.as_str(), error))
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        match self.disk.stat(key.as_str()) {
            Err(error) if cause::is_absence(&error) => self.absent(),
            Err(error) => Err(self.disk.explain(Op::Stat, key.as_str(), error)),
            Ok((Kind::File, stat)) => Ok(Some(stat)),
            Ok((Kind::Directory, _)) => self.absent(),
            Ok((Kind::Other, _)) => Err(StoreError::Obstructed { key: key.to_string() }),
        }
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        self.disk.check_root()?;
        walk::list(&self.disk, prefix, after, limit.max(1))
    }

    /// Durable on return, so that deletions happen in the order they were made.
    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        let explain = |error| self.disk.explain(Op::Delete, key.as_str(), error);
        match self.disk.unlink(key.as_str()) {
            Err(error) if cause::is_absence(&error) => self.disk.check_root()?,
            // A directory of that name is not the object of that name.
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => return Ok(()),
            unlinked => unlinked.map_err(explain)?,
        }
        match self.disk.sync_directory(create::home(key)) {
            Err(error) if cause::is_absence(&error) => Ok(()),
            synced => synced.map_err(explain),
        }
    }

    /// Makes a file under `tmp/` and reads its time. Also removes files that writers left there when they were killed.
    async fn now(&self) -> Result<StoreTime, StoreError> {
        let now = clock::now(&self.disk).map_err(|error| self.disk.explain(Op::Create, "tmp/", error))?;
        // A failed sweep is no error: the next call tries again.
        let _ = clock::sweep(&self.disk, now);
        Ok(now)
    }

    async fn map(&self, key: &Key) -> Result<Bytes, StoreError> {
        let (file, length) = self.open_object(Op::Map, key)?;
        mapping::map(&file, length).map_err(|error| self.disk.explain(Op::Map, key.as_str(), error))
    }
}

fn read_exactly(length: u64, fill: impl FnOnce(&mut [u8]) -> io::Result<()>) -> io::Result<Bytes> {
    let length = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut bytes = Vec::new();
    // A sparse file can claim any length: that is an error to report, not a reason to die.
    bytes.try_reserve_exact(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes.resize(length, 0);
    fill(&mut bytes)?;
    Ok(bytes.into())
}

#[cfg(test)]
mod tests;
