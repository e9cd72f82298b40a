//! Surplus: what lies in the target and not in the snapshot.

use std::collections::HashSet;
use std::convert::Infallible;
use std::iter::Peekable;
use std::os::fd::AsFd;

use copal_engine::path::TreePath;
use rustix::fs::{AtFlags, Mode, OFlags, StatxAttributes, StatxFlags, openat, statx};

use super::WriteError;
use super::target::Target;
use crate::names::{Kind, Names};
use crate::stat::EntryStat;

/// A surplus that cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum SurplusError<E: std::error::Error + 'static> {
    /// A directory of the target cannot be listed.
    #[error(transparent)]
    Target(#[from] WriteError),
    /// The snapshot's entries cannot be read to their end, so that nothing counts as surplus.
    #[error("the entries of the snapshot cannot be read")]
    Snapshot(#[source] E),
}

/// A directory on the way, and the next of its names.
struct Level {
    path: TreePath,
    names: Names,
    next: usize,
}

/// What lies in a directory of the target and not in the snapshot.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Surplus {
    /// The entries to remove, deepest first, so that they can be removed one by one.
    pub entries: Vec<TreePath>,
    /// What is left as it is, although the snapshot does not have it.
    pub spared: Vec<TreePath>,
}

/// An entry of the snapshot, as far as the surplus depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Its place in the target.
    pub place: TreePath,
    /// Whether it is a directory.
    pub is_directory: bool,
}

/// How the snapshot has a path.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Has {
    Nothing,
    /// A directory without content. Perhaps its content was left out of the backup: nobody can tell.
    EmptyDirectory,
    /// A directory with content, or another entry.
    Entry,
}

/// What a listing of a directory found.
enum Listing {
    Level(Level),
    /// It is never looked into: a mount point, a repository, or spared by its identity.
    Spared,
}

impl Target {
    /// The surplus within a directory, of the entries that are selected. `snapshot` gives the snapshot's entries from
    /// that directory on, in tree order. A directory that the snapshot holds without content is looked into only if
    /// `looks_into_empty` says so. Mount points, repositories and what the target spares are never looked into.
    pub fn surplus<E: std::error::Error + 'static>(
        &self,
        within: &TreePath,
        snapshot: impl IntoIterator<Item = Result<Held, E>>,
        selects: impl Fn(&TreePath, bool) -> bool,
        looks_into_empty: bool,
    ) -> Result<Surplus, SurplusError<E>> {
        let mut snapshot = snapshot.into_iter().peekable();
        let mut surplus = Surplus::default();
        let Some(top) = self.existing(within)?.filter(EntryStat::is_directory) else { return Ok(surplus) };
        let mut above_spared = HashSet::new();
        let held = has(&mut snapshot, within).map_err(SurplusError::Snapshot)?;
        let is_held = held == Has::Entry || holds_more(&mut snapshot, within).map_err(SurplusError::Snapshot)?;
        let mut levels = match self.list(within, top.device)? {
            Listing::Level(level) if is_held || looks_into_empty => vec![level],
            Listing::Level(level) if level.names.len() == 0 => Vec::new(),
            Listing::Level(_) | Listing::Spared => {
                surplus.spared.push(within.clone());
                Vec::new()
            }
        };
        while let Some(level) = levels.last_mut() {
            if level.next == level.names.len() {
                levels.pop();
                continue;
            }
            let (name, kind) = level.names.at(level.next);
            level.next += 1;
            let path = level.path.join(name.to_bytes());
            let path = path.map_err(|error| WriteError::io("list", &level.path, std::io::Error::other(error)))?;
            let is_directory = match kind {
                Kind::Unknown => self.existing(&path)?.is_some_and(|stat| stat.is_directory()),
                kind => kind == Kind::Directory,
            };
            let held = has(&mut snapshot, &path).map_err(SurplusError::Snapshot)?;
            let listing = if is_directory { Some(self.list(&path, top.device)?) } else { None };
            let is_spared = match &listing {
                Some(Listing::Spared) => true,
                Some(Listing::Level(below)) => {
                    held == Has::EmptyDirectory && !looks_into_empty && below.names.len() > 0
                }
                None => held == Has::Nothing && self.spares(&path)?,
            };
            if is_spared {
                surplus.spared.push(path.clone());
            }
            if is_spared || !selects(&path, is_directory) {
                // A directory that holds something that stays, stays as well.
                let mut above = path.parent();
                while let Some(directory) = above.filter(|directory| above_spared.insert(directory.clone())) {
                    above = directory.parent();
                }
            } else if held == Has::Nothing {
                surplus.entries.push(path);
            }
            if let (Some(Listing::Level(below)), false) = (listing, is_spared) {
                levels.push(below);
            }
        }
        surplus.entries.retain(|path| !above_spared.contains(path));
        surplus.entries.reverse();
        Ok(surplus)
    }

    /// Everything within a directory that makes way for another entry.
    pub(super) fn everything_within(&self, path: &TreePath) -> Result<Surplus, WriteError> {
        let nothing = std::iter::empty::<Result<Held, Infallible>>();
        self.surplus(path, nothing, |_, _| true, true).map_err(|error| match error {
            SurplusError::Target(error) => error,
            SurplusError::Snapshot(never) => match never {},
        })
    }

    /// Whether an entry of the target is spared by its identity.
    fn spares(&self, path: &TreePath) -> Result<bool, WriteError> {
        Ok(self.existing(path)?.is_some_and(|stat| self.spared.contains(&stat.id())))
    }

    /// Lists a directory, unless it is never looked into.
    fn list(&self, path: &TreePath, device: u64) -> Result<Listing, WriteError> {
        let failed = |error: std::io::Error| WriteError::io("list", path, error);
        let at = self.at(path).map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = openat(&at.directory, &at.name, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        let stat = EntryStat::of(&directory).map_err(failed)?;
        let is_mounted = !path.is_top() && is_mount_point(&directory).map_err(failed)?;
        if stat.device != device || is_mounted || self.spared.contains(&stat.id()) {
            return Ok(Listing::Spared);
        }
        let (names, listed) = Names::read(&directory);
        listed.map_err(failed)?;
        if REPOSITORY.iter().all(|folder| names.contains(folder)) {
            return Ok(Listing::Spared);
        }
        Ok(Listing::Level(Level { path: path.clone(), names, next: 0 }))
    }
}

/// How the next of the snapshot's entries, once those before it are passed over, has this path.
fn has<E>(snapshot: &mut Peekable<impl Iterator<Item = Result<Held, E>>>, path: &TreePath) -> Result<Has, E> {
    loop {
        match snapshot.next_if(|entry| entry.as_ref().map_or(true, |entry| entry.place <= *path)) {
            Some(Ok(entry)) if entry.place != *path => {}
            Some(Ok(entry)) if entry.is_directory && !holds_more(snapshot, path)? => return Ok(Has::EmptyDirectory),
            Some(Ok(_)) => return Ok(Has::Entry),
            Some(Err(error)) => return Err(error),
            None => return Ok(Has::Nothing),
        }
    }
}

/// Whether the next of the snapshot's entries lies in this directory.
fn holds_more<E>(snapshot: &mut Peekable<impl Iterator<Item = Result<Held, E>>>, path: &TreePath) -> Result<bool, E> {
    if let Some(Err(error)) = snapshot.next_if(Result::is_err) {
        return Err(error);
    }
    Ok(snapshot.peek().is_some_and(|next| next.as_ref().is_ok_and(|next| next.place.is_within(path))))
}

/// Whether a file system begins here, also one that is another part of the same (a bind mount).
fn is_mount_point(directory: impl AsFd) -> std::io::Result<bool> {
    let stat = statx(directory, c"", AtFlags::EMPTY_PATH, StatxFlags::empty())?;
    Ok(stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Folders that every repository has: a directory with all of them is taken for one.
const REPOSITORY: [&[u8]; 2] = [b"copal", b"keys"];
