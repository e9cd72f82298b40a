//! Creation: the steps that turn bytes into an object, in an order that survives a power failure.

use std::collections::HashSet;
use std::io;
use std::sync::Mutex;

use super::cause;
use super::disk::{Disk, Kind, join};
use crate::system::Errno;
use crate::{Created, Key, Op, StoreError};

/// How a file system creates a name without replacing one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Naming {
    /// By link(2).
    Link,
    /// By a rename that refuses to replace, because there are no hard links.
    Rename,
}

/// Writes and syncs the bytes below `tmp/`, gives the file its name unless that exists, and syncs the directory.
pub(super) fn create(disk: &Disk, homes: &Homes, key: &Key, bytes: &[u8]) -> Result<Created, StoreError> {
    // A root that was moved or unmounted could still be written to, where nobody would find the object.
    disk.check_root()?;
    write_and_name(disk, homes, key, bytes).map_err(|trouble| match trouble {
        Trouble::Io(error) => disk.explain(Op::Create, key.as_str(), error),
        Trouble::Obstructed => StoreError::Obstructed { key: key.to_string() },
        Trouble::NotCreateOnly => StoreError::NotCreateOnly { key: key.to_string() },
    })
}

fn write_and_name(disk: &Disk, homes: &Homes, key: &Key, bytes: &[u8]) -> Result<Created, Trouble> {
    homes.make(disk, home(key))?;
    let (tmp, mut file) = disk.new_tmp()?;
    let is_bulk = bytes.len() >= BULK && key.as_str().starts_with("packs/");
    let named = disk
        .write(&mut file, &tmp, bytes, is_bulk)
        .and_then(|()| disk.sync_file(&file, &tmp))
        .map_err(Trouble::Io)
        .and_then(|()| name(disk, homes, &tmp, key));
    if !matches!(named, Ok(Some(Naming::Rename))) {
        let unlinked = disk.unlink(&tmp);
        // Report the first failure.
        if named.is_ok() {
            unlinked?;
        }
    }
    let created = if named?.is_some() { Created::New } else { Created::Exists };
    disk.sync_directory(home(key))?;
    Ok(created)
}

/// Names the file. If the name exists, makes that object durable instead and returns `None`: its writer may not have
/// done so yet.
fn name(disk: &Disk, homes: &Homes, tmp: &str, key: &Key) -> Result<Option<Naming>, Trouble> {
    for _ in 0..NAMING_ATTEMPTS {
        match put_name(disk, tmp, key.as_str()) {
            Err(Trouble::Io(error)) if error.kind() == io::ErrorKind::AlreadyExists => {
                match sync_existing(disk, key.as_str()) {
                    // Deleted meanwhile: the name is free again.
                    Err(Trouble::Io(error)) if cause::is_absence(&error) => continue,
                    synced => return synced.map(|()| None),
                }
            }
            // Another process removed the empty directory.
            Err(Trouble::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                homes.forget();
                homes.make(disk, home(key))?;
            }
            named => return named.map(Some),
        }
    }
    Err(Trouble::Io(Errno::AGAIN.into()))
}

/// Links the file; on file systems without hard links, renames it without replacing.
pub(super) fn put_name(disk: &Disk, tmp: &str, name: &str) -> Result<Naming, Trouble> {
    match disk.link(tmp, name) {
        Err(error) if cause::is_any(&error, &NO_LINKS) => (),
        linked => return Ok(linked.map(|()| Naming::Link)?),
    }
    match disk.rename(tmp, name) {
        Err(error) if cause::is_any(&error, &NO_RENAME) => Err(Trouble::NotCreateOnly),
        renamed => Ok(renamed.map(|()| Naming::Rename)?),
    }
}

fn sync_existing(disk: &Disk, path: &str) -> Result<(), Trouble> {
    let file = disk.open_to_sync(path)?;
    match Kind::of(file.metadata()?.file_type()) {
        Kind::File => Ok(disk.sync_file(&file, path)?),
        Kind::Directory | Kind::Other => Err(Trouble::Obstructed),
    }
}

/// Why an object was not created.
pub(super) enum Trouble {
    Io(io::Error),
    Obstructed,
    NotCreateOnly,
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Io(error)
    }
}

/// Directories known to be durable in their parents. Another process may have made one without a sync, so each is
/// synced before this process first uses it.
#[derive(Debug, Default)]
pub(super) struct Homes {
    durable: Mutex<HashSet<String>>,
}

impl Homes {
    /// Makes a directory and its parents durably.
    fn make(&self, disk: &Disk, home: &str) -> io::Result<()> {
        if home.is_empty() || self.durable().contains(home) {
            return Ok(());
        }
        let above = parent(home);
        self.make(disk, above)?;
        let is_new = disk.make_directory(home)?;
        // One sync covers all directories that exist there already. Most processes need only one of many, so the others
        // are listed only when a second one is needed.
        let is_second = !is_new && self.durable().iter().any(|home| parent(home) == above);
        let beside = if is_second { disk.entries(above).unwrap_or_default() } else { Vec::new() };
        disk.sync_directory(above)?;
        let beside = beside.iter().filter(|(_, kind)| *kind == Kind::Directory).map(|(name, _)| join(above, name));
        self.durable().extend(beside.chain([home.to_owned()]));
        Ok(())
    }

    fn forget(&self) {
        self.durable().clear();
    }

    fn durable(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.durable.lock().expect("nothing panics while it holds the set")
    }
}

/// The directory of an object; empty for the root.
pub(super) fn home(key: &Key) -> &str {
    parent(key.as_str())
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Errors of file systems without hard links.
const NO_LINKS: [Errno; 5] = [Errno::PERM, Errno::NOTSUP, Errno::NOSYS, Errno::XDEV, Errno::MLINK];

/// Errors of file systems that cannot rename without replacing.
const NO_RENAME: [Errno; 3] = [Errno::INVAL, Errno::NOTSUP, Errno::NOSYS];

/// Bytes of the smallest pack that is written past the page cache. Packs of pages, which the next backup reads, are
/// smaller by default.
const BULK: usize = 16 << 20;

/// Most attempts: a name or directory that vanishes more often in a row is removed on purpose.
const NAMING_ATTEMPTS: usize = 8;
