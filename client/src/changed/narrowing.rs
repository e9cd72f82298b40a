//! Narrowing: decides by a list what a backup looks at.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use copal_format::id::{ChunkId, SnapshotId};
use copal_format::path::TreePath;
use copal_format::tree::EntryKind;

use super::note::Walked;
use crate::reader::{EntryStream, Pages, TreeError};
use crate::scan::{Extent, ScanOptions, Scope, source_of};
use crate::stat::EntryStat;
use crate::system::{bytes_of, tree_bytes};

/// A list of changes, and what has to be true so that it is believed.
#[derive(Clone, Debug)]
pub struct Narrowing {
    /// Every path below the sources that was created, written, renamed (both names), removed or otherwise changed since
    /// the backup began that made the parent snapshot. A directory stands for itself and for its names, not for what
    /// lies below them.
    pub list: Vec<PathBuf>,
    /// The snapshot that the list follows, or the first digits of its id, if whoever made the list knows it.
    pub since: Option<String>,
    /// After so many narrowed backups everything is walked once, and compared with the list.
    pub most: u32,
    /// What decides which entries are saved, in any form: if it changes, everything is walked.
    pub configuration: String,
    /// The file in which this machine notes its last backup of the source.
    pub note: PathBuf,
}

/// Why a backup walks everything though it has a list.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum Gap {
    #[error("this machine has made no backup with a list before, or does not know which")]
    NoNote,
    #[error("the last snapshot is not the one that this machine made with a list before")]
    OtherParent,
    #[error("the list follows another snapshot than the last one, which is {0}")]
    OtherSnapshot(SnapshotId),
    #[error("paths or exclusions have changed")]
    Configuration,
    #[error("of {0} backups in a row each believed a list: now the lists are checked")]
    Audit(u32),
    #[error("ignore files and markers are only found by walking")]
    Marking,
    #[error("one of the paths is excluded")]
    ExcludedRoot,
    #[error("an unfinished backup came between")]
    Checkpoint,
    #[error("this machine cannot read what it has saved")]
    WriteOnly,
    #[error("some of what is stored is damaged, or wanted again")]
    Damage,
    #[error("the last backup could not save too many entries")]
    Troubles,
    #[error("{} has several names, and the list may not have all of them", .0.display())]
    Links(PathBuf),
    #[error("{} cannot be looked at", .path.display())]
    Path { path: PathBuf, source: io::Error },
    #[error("the last snapshot cannot be read")]
    Parent(#[from] TreeError),
    #[error("the numbers of entries do not add up")]
    Counts,
}

impl Narrowing {
    /// What is looked at, for a parent snapshot with this root page.
    pub(crate) fn scope(
        &self,
        before: &Walked,
        options: &ScanOptions,
        (pages, root): (&dyn Pages, ChunkId),
    ) -> Result<Scope, Gap> {
        if !options.markers.is_empty() || !options.ignore_files.is_empty() {
            return Err(Gap::Marking);
        }
        let mut listed = BTreeSet::new();
        for path in &self.list {
            listed.insert(place_of(path).map_err(|source| Gap::Path { path: path.clone(), source })?);
        }
        for bytes in &before.troubles {
            listed.insert(TreePath::new(bytes.clone()).map_err(|_| Gap::NoNote)?);
        }
        let roots: Vec<&TreePath> = options.roots.iter().map(|root| root.path()).collect();
        if roots.iter().any(|root| [false, true].iter().any(|is_dir| options.excludes.excludes(root, *is_dir))) {
            return Err(Gap::ExcludedRoot);
        }
        let mut look = Look { options, pages, root, scope: Scope::default(), seen: BTreeMap::new() };
        for root in &roots {
            let mut above = root.parent();
            while let Some(path) = above {
                above = path.parent();
                look.scope.add(path, Extent::Entry);
            }
            look.reaches(root, root)?;
        }
        for path in &listed {
            // Who renamed a directory above a root has changed all of it.
            for root in roots.iter().filter(|root| root.is_within(path) && **root != path) {
                look.scope.add((*root).clone(), Extent::Whole);
            }
            let root = roots.iter().filter(|root| path.is_within(root)).max_by_key(|root| root.as_bytes().len());
            if let Some(root) = root
                && look.reaches(root, path)?
            {
                look.names(root, path)?;
            }
        }
        let mut scope = look.scope;
        scope.finish();
        Ok(scope)
    }
}

/// Looks at listed paths.
struct Look<'a> {
    options: &'a ScanOptions,
    pages: &'a dyn Pages,
    root: ChunkId,
    scope: Scope,
    seen: BTreeMap<TreePath, Option<EntryStat>>,
}

impl Look<'_> {
    /// Looks at a path and at the directories between it and its root. Whether it is a directory whose names are wanted.
    fn reaches(&mut self, root: &TreePath, path: &TreePath) -> Result<bool, Gap> {
        let mut way: Vec<TreePath> = Vec::new();
        let mut at = Some(path.clone());
        while let Some(step) = at.filter(|step| step.is_within(root)) {
            at = step.parent();
            way.push(step);
        }
        let device = self.stat(root)?.map(|stat| stat.device);
        for step in way.into_iter().rev() {
            let said = self.scope.at(&step);
            if said.is_some_and(|said| said != Extent::Entry) {
                return Ok(false);
            }
            let Some(stat) = self.stat(&step)? else {
                self.scope.add(step, Extent::Gone);
                return Ok(false);
            };
            if self.options.excludes.excludes(&step, stat.is_directory()) {
                return Ok(false);
            }
            // A directory is looked at piece by piece only if it is the one that it was.
            let is_known = stat.is_directory() && (said.is_some() || self.before(&step)? == Some(stat.inode));
            let is_barred = self.is_barred(&stat, device);
            self.scope.add(step, if is_known || is_barred { Extent::Entry } else { Extent::Whole });
            if !is_known || is_barred {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Looks at all names of a directory, and at those it had.
    fn names(&mut self, root: &TreePath, directory: &TreePath) -> Result<(), Gap> {
        let device = self.stat(root)?.map(|stat| stat.device);
        let unreadable = |source| Gap::Path { path: source_of(directory), source };
        let mut names = self.names_before(directory)?;
        for name in std::fs::read_dir(source_of(directory)).map_err(unreadable)? {
            let name = name.map_err(unreadable)?.file_name();
            let path = directory.join(&bytes_of(&name)).map_err(|error| unreadable(io::Error::other(error)))?;
            names.entry(path).or_default();
        }
        for (path, before) in names {
            let Some(stat) = self.stat(&path)? else {
                self.scope.add(path, Extent::Gone);
                continue;
            };
            if self.options.excludes.excludes(&path, stat.is_directory()) {
                continue;
            }
            let is_known = stat.is_directory() && before == Some(stat.inode);
            let extent = if is_known || self.is_barred(&stat, device) { Extent::Entry } else { Extent::Whole };
            self.scope.add(path, extent);
        }
        Ok(())
    }

    /// The inode of a directory of the parent snapshot; none if that has no directory there.
    fn before(&self, path: &TreePath) -> Result<Option<u64>, Gap> {
        let mut entries = EntryStream::new(self.pages, self.root);
        entries.seek(path.clone());
        let found = entries.next()?.filter(|entry| entry.path == *path && entry.kind() == EntryKind::Directory);
        Ok(found.map(|entry| entry.inode))
    }

    /// The names that the parent snapshot has in a directory; directories with their inode.
    fn names_before(&self, directory: &TreePath) -> Result<BTreeMap<TreePath, Option<u64>>, Gap> {
        let mut names = BTreeMap::new();
        let mut entries = EntryStream::new(self.pages, self.root);
        entries.seek(directory.clone());
        while let Some(entry) = entries.next()? {
            if !entry.path.is_within(directory) {
                break;
            }
            if entry.path.is_directly_in(directory) {
                let is_directory = entry.kind() == EntryKind::Directory;
                if let Some(behind) = entry.path.behind().filter(|_| is_directory) {
                    entries.seek(behind);
                }
                names.insert(entry.path, is_directory.then_some(entry.inode));
            }
        }
        Ok(names)
    }

    /// Whether a scan does not enter a directory.
    fn is_barred(&self, stat: &EntryStat, device: Option<u64>) -> bool {
        self.options.forbidden == Some(stat.id())
            || (self.options.one_file_system && device.is_some_and(|device| device != stat.device))
    }

    /// The entry at a path; none if there is none.
    fn stat(&mut self, path: &TreePath) -> Result<Option<EntryStat>, Gap> {
        if let Some(seen) = self.seen.get(path) {
            return Ok(seen.clone());
        }
        let found = match EntryStat::of_path(&source_of(path)) {
            Ok(stat) => Some(stat),
            Err(error) if is_nothing(&error) => None,
            Err(source) => return Err(Gap::Path { path: source_of(path), source }),
        };
        self.seen.insert(path.clone(), found.clone());
        Ok(found)
    }
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The path of the tree that a path of the system leads to, whether there is something or not. Links on the way are
/// followed, a last one is not.
fn place_of(given: &Path) -> io::Result<TreePath> {
    let invalid = |why: &'static str| io::Error::new(io::ErrorKind::InvalidInput, why);
    let absolute = std::path::absolute(given)?;
    let mut rest: Vec<OsString> = Vec::new();
    let mut at = absolute.as_path();
    let real = loop {
        let Some(parent) = at.parent() else { break at.to_owned() };
        rest.push(at.file_name().ok_or_else(|| invalid("it ends in .."))?.to_owned());
        match parent.canonicalize() {
            Ok(real) => break real,
            Err(error) if is_nothing(&error) => at = parent,
            Err(error) => return Err(error),
        }
    };
    let whole = rest.iter().rev().fold(real, |path, name| path.join(name));
    let bytes = tree_bytes(&whole).ok_or_else(|| invalid("it is no path of this system"))?;
    TreePath::new(bytes.into_owned()).map_err(io::Error::other)
}
