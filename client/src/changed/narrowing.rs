//! Narrowing: decides by a list what a backup looks at.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::mem;
use std::path::{Path, PathBuf};

use copal_engine::backup::change::TICK;
use copal_format::id::{ChunkId, SnapshotId};
use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::{Entry, EntryKind};

use crate::names::Names;
use crate::open;
use crate::reader::{EntryStream, Pages, TreeError};
use crate::scan::{Extent, ScanOptions, Scope, resolve, source_of};
use crate::stat::{EntryStat, is_absent};
use crate::system::{OFlags, is_of_kernel, tree_bytes};
use crate::watch::Unwatched;

/// A list of changes, and what has to be true so that it is believed.
#[derive(Clone, Debug)]
pub struct Narrowing {
    /// Every path below the sources that was created, written, renamed (both names), removed or otherwise changed since
    /// the previous list was begun; if the last backup walked everything, since that began. Naming a directory says
    /// nothing about the entries below it, unless the directory itself changed. With as-path these are paths in the
    /// snapshot.
    pub list: Vec<PathBuf>,
    /// The snapshot that the list follows, or the first digits of its id; none if the list's maker does not know it.
    pub since: Option<String>,
    /// Why there is no list, if the watcher has none.
    pub doubt: Option<Unwatched>,
    /// After this many narrowed backups everything is walked once, and compared with the list.
    pub most: u32,
    /// Paths, exclusions and all else that decides which entries are saved, as any text. If it changes, everything is
    /// walked.
    pub configuration: String,
    /// The file in which this machine notes its last backup of the source.
    pub note: PathBuf,
}

/// Why a backup walks everything though it has a list.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum Gap {
    #[error(transparent)]
    Unwatched(#[from] Unwatched),
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
    #[error("some of what is stored is damaged, or wanted again")]
    Damage,
    #[error("the last backup could not save too many entries, or one of the paths")]
    Troubles,
    #[error("{} has several names, and the list may not have all of them", .0.display())]
    Links(PathBuf),
    #[error("no path of the list lies in what is saved")]
    Elsewhere,
    #[error("{} was replaced while it was looked at", .0.display())]
    Replaced(PathBuf),
    #[error("{} cannot be looked at", .path.display())]
    Path { path: PathBuf, source: io::Error },
    #[error("the last snapshot cannot be read")]
    Parent(#[from] TreeError),
    #[error("the numbers of entries do not add up")]
    Counts,
}

impl Narrowing {
    /// What has to be the same in two backups: also the devices, since a directory of another device may look the same. Each
    /// snapshot of a file system has a device of its own.
    pub(crate) fn configuration(&self, options: &ScanOptions) -> String {
        if options.as_path.is_set() {
            return format!("{} elsewhere", self.configuration);
        }
        let device = |path: &TreePath| EntryStat::of_path(&source_of(path)).ok().map(|stat| stat.device);
        let devices: Vec<Option<u64>> = options.roots.iter().map(|root| device(root.path())).collect();
        format!("{} {devices:?}", self.configuration)
    }

    /// What is looked at, for a parent snapshot with this root page, whose backup began at a time.
    pub(crate) fn scope(
        &self,
        troubles: &[Vec<u8>],
        options: &ScanOptions,
        (pages, root, begun): (&dyn Pages, ChunkId, Time),
    ) -> Result<Scope, Gap> {
        if !options.markers.is_empty() || !options.ignore_files.is_empty() {
            return Err(Gap::Marking);
        }
        let mut listed = BTreeSet::new();
        for path in &self.list {
            listed.insert(place_of(path, options).map_err(|source| Gap::Path { path: path.clone(), source })?);
        }
        let roots: BTreeSet<&TreePath> = options.roots.iter().map(|root| root.path()).collect();
        if roots.iter().any(|root| [false, true].iter().any(|is_dir| options.excludes.excludes(root, *is_dir))) {
            return Err(Gap::ExcludedRoot);
        }
        let roots_in =
            |path: &TreePath| roots.range::<&TreePath, _>(path..).take_while(|root| root.is_within(path)).count();
        if !listed.is_empty() && listed.iter().all(|path| root_of(&roots, path).is_none() && roots_in(path) == 0) {
            return Err(Gap::Elsewhere);
        }
        // If the paths had a wrong prefix, all files would look deleted. So at least one must lie in an existing
        // directory.
        let is_there = |path: &TreePath| {
            let found = EntryStat::of_path(&options.as_path.source_of(path));
            root_of(&roots, path).is_some() && found.is_ok_and(|stat| stat.is_directory())
        };
        let lies_in = |path: &TreePath| roots_in(path) > 0 || path.parent().is_some_and(|above| is_there(&above));
        if options.as_path.is_set() && !listed.is_empty() && !listed.iter().any(lies_in) {
            return Err(Gap::Elsewhere);
        }
        let troubles = troubles.iter().map(|bytes| TreePath::new(bytes.clone()).map_err(|_| Gap::NoNote));
        let troubles: BTreeSet<TreePath> = troubles.collect::<Result<_, _>>()?;
        listed.extend(troubles.iter().cloned());
        let (scope, seen, lost) = (Scope::default(), BTreeMap::new(), BTreeMap::new());
        let mut look = Look { options, roots: &roots, pages, root, begun, scope, seen, lost };
        for root in &roots {
            let mut above = root.parent();
            while let Some(path) = above.filter(|path| look.scope.at(path).is_none()) {
                above = path.parent();
                look.scope.add(path, Extent::Entry);
            }
            look.path(root, root, false)?;
        }
        for path in &listed {
            // Renaming a directory above a root changes everything in the root.
            for root in roots.range::<&TreePath, _>(path..).take_while(|root| root.is_within(path)) {
                look.scope.add((*root).clone(), Extent::Whole);
            }
            if let Some(root) = root_of(&roots, path) {
                look.path(root, path, true)?;
                // A directory that could not be listed then may still have the same times.
                if look.scope.at(path) == Some(Extent::Entry) && troubles.contains(path) {
                    look.scope.add(path.clone(), Extent::Whole);
                }
            }
        }
        look.above_lost();
        let mut scope = look.scope;
        scope.finish();
        Ok(scope)
    }
}

/// The nearest root at or above a path.
fn root_of<'r>(roots: &BTreeSet<&'r TreePath>, path: &TreePath) -> Option<&'r TreePath> {
    let mut at = Some(path.clone());
    while let Some(step) = at {
        if let Some(root) = roots.get(&step) {
            return Some(root);
        }
        at = step.parent();
    }
    None
}

/// Looks at listed paths.
struct Look<'a> {
    options: &'a ScanOptions,
    roots: &'a BTreeSet<&'a TreePath>,
    pages: &'a dyn Pages,
    root: ChunkId,
    begun: Time,
    scope: Scope,
    seen: BTreeMap<TreePath, Option<EntryStat>>,
    /// The paths that are not found, by the directories above them.
    lost: BTreeMap<TreePath, Vec<TreePath>>,
}

impl Look<'_> {
    /// Looks at a path and at the directories between it and its root.
    fn path(&mut self, root: &TreePath, path: &TreePath, is_listed: bool) -> Result<(), Gap> {
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
                return Ok(());
            }
            let extent = self.extent(&step, device, said.is_some(), is_listed && step == *path)?;
            self.scope.add(step, extent);
            if extent != Extent::Entry {
                return Ok(());
            }
        }
        Ok(())
    }

    fn extent(&mut self, path: &TreePath, device: Option<u64>, is_known: bool, is_listed: bool) -> Result<Extent, Gap> {
        let Some(stat) = self.stat(path)? else {
            if let Some(above) = path.parent().filter(|_| !self.roots.contains(path)) {
                self.lost.entry(above).or_default().push(path.clone());
            }
            return Ok(Extent::Gone);
        };
        let is_directory = stat.is_directory();
        if !is_directory && stat.links > 1 {
            return Err(Gap::Links(source_of(path)));
        }
        if self.options.excludes.excludes(path, is_directory) && !self.options.is_obeyed(path) {
            let leads_to_root =
                self.roots.range::<&TreePath, _>(path..).next().is_some_and(|root| root.is_within(path));
            return Ok(if leads_to_root { Extent::Alone } else { Extent::Gone });
        }
        let is_elsewhere = device.is_some_and(|device| device != stat.device);
        let is_left_out = || {
            let source = self.options.as_path.source_of(path);
            self.options.one_file_system || (is_of_kernel(&source) && !self.roots.contains(path))
        };
        if is_directory && (self.options.forbidden == Some(stat.id()) || (is_elsewhere && is_left_out())) {
            return Ok(Extent::Alone);
        }
        if is_known && !is_listed {
            return Ok(Extent::Entry);
        }
        // A directory is looked at piece by piece only if it is still the same. If the list names the directory itself,
        // it may have been moved, and come back with other content: that shows in its ctime.
        let before = if is_directory && !is_elsewhere { self.before(path)? } else { None };
        let is_same = before.is_some_and(|before| {
            let is_it = (before.inode, before.birth) == (stat.inode, stat.birth);
            is_it && (!is_listed || (before.ctime == stat.ctime && stat.ctime < self.begun - TICK))
        });
        Ok(if is_same { Extent::Entry } else { Extent::Whole })
    }

    /// Adds the whole directory above a path that is not found, unless the directory no longer lists the name. Such a
    /// name may be found at the next look, and only a walk reports one that never is.
    fn above_lost(&mut self) {
        for (above, paths) in mem::take(&mut self.lost) {
            if self.scope.at(&above) != Some(Extent::Entry) {
                continue;
            }
            let is_unlisted =
                open::quietly(&self.options.as_path.source_of(&above), OFlags::DIRECTORY).is_ok_and(|fd| {
                    match Names::read(&fd) {
                        (names, Ok(())) => paths.iter().all(|path| !names.contains(path.name())),
                        _ => false,
                    }
                });
            if !is_unlisted {
                self.scope.add(above, Extent::Whole);
            }
        }
    }

    /// The directory of the parent snapshot at a path.
    fn before(&self, path: &TreePath) -> Result<Option<Entry>, Gap> {
        let mut entries = EntryStream::new(self.pages, self.root);
        entries.seek(path.clone());
        Ok(entries.next()?.filter(|entry| entry.path == *path && entry.kind() == EntryKind::Directory))
    }

    /// The entry at a path; none if there is none.
    fn stat(&mut self, path: &TreePath) -> Result<Option<EntryStat>, Gap> {
        if let Some(seen) = self.seen.get(path) {
            return Ok(seen.clone());
        }
        let path_now = self.options.as_path.source_of(path);
        let found = match EntryStat::of_path(&path_now) {
            Ok(stat) => Some(stat),
            Err(error) if is_absent(&error) => None,
            Err(source) => return Err(Gap::Path { path: path_now, source }),
        };
        self.seen.insert(path.clone(), found.clone());
        Ok(found)
    }
}

/// The path of the tree that a path of the system leads to, whether it exists or not. Follows links on the way, but not
/// a link at the end. With as-path follows none: the live file system is not what is saved.
fn place_of(given: &Path, options: &ScanOptions) -> io::Result<TreePath> {
    let absolute = std::path::absolute(given)?;
    let whole = match (absolute.parent(), absolute.file_name()) {
        _ if options.as_path.is_set() => absolute,
        (Some(parent), Some(name)) => resolve(parent).join(name),
        _ => resolve(&absolute),
    };
    let bytes = tree_bytes(&whole).ok_or(io::ErrorKind::InvalidInput)?;
    TreePath::new(bytes.into_owned()).map_err(io::Error::other)
}
