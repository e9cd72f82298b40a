//! Surplus: what lies in the target and not in the snapshot.

use std::convert::Infallible;
use std::iter::Peekable;

use copal_engine::path::TreePath;
use rustix::fs::{Mode, OFlags, openat};

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

impl Target {
    /// The selected entries within a directory that are not among the snapshot's, which come in tree order: deepest
    /// first, so that they can be removed one by one. What lies on other file systems is none of them.
    pub fn surplus<E: std::error::Error + 'static>(
        &self,
        within: &TreePath,
        snapshot: impl IntoIterator<Item = Result<TreePath, E>>,
        selects: impl Fn(&TreePath, bool) -> bool,
    ) -> Result<Vec<TreePath>, SurplusError<E>> {
        let mut snapshot = snapshot.into_iter().peekable();
        let mut surplus = Vec::new();
        let Some(top) = self.existing(within)?.filter(EntryStat::is_directory) else { return Ok(surplus) };
        let mut levels: Vec<_> = self.level(within, top.device)?.into_iter().collect();
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
            let below = if is_directory { self.level(&path, top.device)? } else { None };
            let is_elsewhere = is_directory && below.is_none();
            let is_kept = has(&mut snapshot, &path).map_err(SurplusError::Snapshot)?;
            if !is_kept && !is_elsewhere && selects(&path, is_directory) {
                surplus.push(path);
            }
            levels.extend(below);
        }
        surplus.reverse();
        Ok(surplus)
    }

    /// Everything within a directory, deepest first.
    pub(super) fn everything_within(&self, path: &TreePath) -> Result<Vec<TreePath>, WriteError> {
        let nothing = std::iter::empty::<Result<TreePath, Infallible>>();
        self.surplus(path, nothing, |_, _| true).map_err(|error| match error {
            SurplusError::Target(error) => error,
            SurplusError::Snapshot(never) => match never {},
        })
    }

    /// Lists a directory, unless it is gone or lies on another device.
    fn level(&self, path: &TreePath, device: u64) -> Result<Option<Level>, WriteError> {
        let failed = |error: std::io::Error| WriteError::io("list", path, error);
        let at = self.at(path).map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = openat(&at.directory, &at.name, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        if EntryStat::of(&directory).map_err(failed)?.device != device {
            return Ok(None);
        }
        let (names, listed) = Names::read(&directory);
        listed.map_err(failed)?;
        Ok(Some(Level { path: path.clone(), names, next: 0 }))
    }
}

/// Whether the next of the snapshot's entries, once those before it are passed over, is this one.
fn has<E>(snapshot: &mut Peekable<impl Iterator<Item = Result<TreePath, E>>>, path: &TreePath) -> Result<bool, E> {
    loop {
        match snapshot.next_if(|entry| entry.as_ref().map_or(true, |entry| entry <= path)) {
            Some(Ok(entry)) if entry == *path => return Ok(true),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error),
            None => return Ok(false),
        }
    }
}
