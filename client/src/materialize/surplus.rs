//! Surplus: entries that are in the target and not in the snapshot.

use std::collections::{BTreeSet, HashSet};
use std::convert::Infallible;
use std::iter::Fuse;

use copal_format::path::TreePath;

use super::WriteError;
use super::target::Target;
use crate::names::{Kind, Names};
use crate::stat::EntryStat;
use crate::system::{FileType, Mode, OFlags, is_mount_point, openat};

/// Why the surplus cannot be determined.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum SurplusError<E: std::error::Error + 'static> {
    /// A directory of the target cannot be listed.
    #[error(transparent)]
    Target(#[from] WriteError),
    /// Not all entries of the snapshot can be read, so nothing counts as surplus.
    #[error("the entries of the snapshot cannot be read")]
    Snapshot(#[source] E),
}

/// A directory on the path of the walk, and the next of its names.
struct Level {
    path: TreePath,
    names: Names,
    next: usize,
}

/// The surplus of a directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Surplus {
    /// The entries to remove, deepest first, so that they can be removed one by one.
    pub entries: Vec<TreePath>,
    /// Entries that stay, although the snapshot does not have them or their content.
    pub spared: Vec<TreePath>,
}

/// Surplus that stays, because the backup may have left it out.
#[derive(Debug, Clone, Default)]
pub struct Stays {
    /// The content of directories that are empty in the snapshot.
    pub in_empty: bool,
    /// Names of marker files. The whole content of a directory stays if it has such an entry in the snapshot.
    pub markers: Vec<Vec<u8>>,
    /// Files with more bytes than this.
    pub larger_than: Option<u64>,
}

/// An entry of the snapshot, reduced to the facts that the surplus needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Its path in the target.
    pub place: TreePath,
    /// Whether it is a directory.
    pub is_directory: bool,
}

/// The kind of entry that the snapshot has at a path.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Has {
    Nothing,
    EmptyDirectory,
    /// A directory with content, or another entry.
    Entry,
}

/// The result of listing a directory.
enum Listing {
    Level(Level),
    /// A directory that is never examined: a mount point, a repository, or one in `spared`.
    Spared,
}

impl Target {
    /// The surplus within a directory, limited to selected entries. `snapshot` yields the snapshot's entries from that
    /// directory on, in tree order. Mount points, repositories and `spared` directories are never examined.
    pub fn surplus<E: std::error::Error + 'static>(
        &self,
        within: &TreePath,
        snapshot: impl IntoIterator<Item = Result<Held, E>>,
        selects: impl Fn(&TreePath, bool) -> bool,
        stays: &Stays,
    ) -> Result<Surplus, SurplusError<E>> {
        let mut snapshot = Coming::new(snapshot.into_iter(), &stays.markers);
        let mut surplus = Surplus::default();
        let Some(top) = self.existing(within)?.filter(EntryStat::is_directory) else { return Ok(surplus) };
        let mut above_spared = HashSet::new();
        let is_held = match snapshot.has(within).map_err(SurplusError::Snapshot)? {
            Has::Entry => true,
            Has::EmptyDirectory => false,
            // A snapshot has no entry for its top.
            Has::Nothing => snapshot.fills(within).map_err(SurplusError::Snapshot)?,
        };
        let mut levels = match self.list(within, top.device)? {
            Listing::Level(level) if is_held || !stays.in_empty => vec![level],
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
            let held = snapshot.has(&path).map_err(SurplusError::Snapshot)?;
            let listing = if is_directory { Some(self.list(&path, top.device)?) } else { None };
            let is_spared = match &listing {
                Some(Listing::Spared) => true,
                Some(Listing::Level(below)) => held == Has::EmptyDirectory && stays.in_empty && below.names.len() > 0,
                None => held == Has::Nothing && self.spares(&path)?,
            };
            let is_large = match stays.larger_than {
                Some(most) if held == Has::Nothing && !is_directory => {
                    let stat = self.existing(&path)?;
                    stat.is_some_and(|stat| stat.kind() == FileType::RegularFile && stat.size > most)
                }
                _ => false,
            };
            if is_spared {
                surplus.spared.push(path.clone());
            }
            if is_spared || is_large || !selects(&path, is_directory) {
                // A directory above an entry that stays must stay too.
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
        snapshot.end(within).map_err(SurplusError::Snapshot)?;
        surplus.keep_marked(&snapshot.marked);
        surplus.entries.reverse();
        Ok(surplus)
    }

    /// Everything within a directory that another entry will replace.
    pub(super) fn everything_within(&self, path: &TreePath) -> Result<Surplus, WriteError> {
        let nothing = std::iter::empty::<Result<Held, Infallible>>();
        self.surplus(path, nothing, |_, _| true, &Stays::default()).map_err(|error| match error {
            SurplusError::Target(error) => error,
            SurplusError::Snapshot(never) => match never {},
        })
    }

    fn spares(&self, path: &TreePath) -> Result<bool, WriteError> {
        Ok(self.existing(path)?.is_some_and(|stat| self.spared.contains(&stat.id())))
    }

    /// Lists a directory, unless it must not be examined.
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

impl Surplus {
    /// Keeps what lies in marked directories, and names these as spared.
    fn keep_marked(&mut self, marked: &HashSet<TreePath>) {
        let mut spared = BTreeSet::new();
        self.entries.retain(|path| {
            let mut above = path.parent();
            while let Some(directory) = above.take_if(|directory| !marked.contains(directory)) {
                above = directory.parent();
            }
            above.map(|directory| spared.insert(directory)).is_none()
        });
        self.spared.extend(spared);
    }
}

/// The snapshot's coming entries, with look-ahead.
struct Coming<'m, E, I: Iterator<Item = Result<Held, E>>> {
    next: Option<Held>,
    rest: Fuse<I>,
    markers: &'m [Vec<u8>],
    /// Directories with a marker so far.
    marked: HashSet<TreePath>,
}

impl<'m, E, I: Iterator<Item = Result<Held, E>>> Coming<'m, E, I> {
    fn new(entries: I, markers: &'m [Vec<u8>]) -> Self {
        Self { next: None, rest: entries.fuse(), markers, marked: HashSet::new() }
    }

    fn peek(&mut self) -> Result<Option<&Held>, E> {
        if self.next.is_none() {
            self.next = self.rest.next().transpose()?;
            let marker = self.next.as_ref().filter(|held| self.markers.iter().any(|name| name == held.place.name()));
            self.marked.extend(marker.and_then(|held| held.place.parent()));
        }
        Ok(self.next.as_ref())
    }

    /// Returns the kind of entry that the snapshot has at a path. Skips the entries before that path.
    fn has(&mut self, path: &TreePath) -> Result<Has, E> {
        while self.peek()?.is_some_and(|next| next.place < *path) {
            self.next = None;
        }
        if self.peek()?.is_none_or(|next| next.place != *path) {
            return Ok(Has::Nothing);
        }
        let is_directory = self.next.take().is_some_and(|held| held.is_directory);
        Ok(if is_directory && !self.fills(path)? { Has::EmptyDirectory } else { Has::Entry })
    }

    /// True if the next entry lies in the directory.
    fn fills(&mut self, directory: &TreePath) -> Result<bool, E> {
        Ok(self.peek()?.is_some_and(|next| next.place.is_within(directory)))
    }

    /// Reads the remaining entries of a directory, which may hold markers.
    fn end(&mut self, within: &TreePath) -> Result<(), E> {
        while !self.markers.is_empty() && self.fills(within)? {
            self.next = None;
        }
        Ok(())
    }
}

/// Folders that every repository has: a directory with all of them counts as one.
const REPOSITORY: [&[u8]; 2] = [b"copal", b"keys"];
