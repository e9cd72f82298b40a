//! Directories: all that are watched, and what their events say of paths.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::path::{Path, PathBuf};

use crate::stat::{EntryStat, is_absent};
use crate::system::event::Event;
use crate::system::{Watches, mounts};

/// Directories at, below and above the watched paths. Those above only tell whether a directory on the way to a watched path
/// is another one now.
///
/// A directory stays watched after it is moved or removed, until the kernel says that it is gone, because earlier
/// events of it may still be queued. So it may have several paths, old ones among them. A path that is reported without
/// need costs the backup one look.
#[derive(Default)]
pub(super) struct Directories {
    roots: BTreeSet<PathBuf>,
    paths: HashMap<i32, BTreeSet<PathBuf>>,
    /// Directories below a watched path that lie on another device, or cannot be looked at: nothing is watched there.
    elsewhere: BTreeSet<PathBuf>,
    /// The mounts at, below and above the watched paths when they were last looked at.
    mounted: BTreeSet<(PathBuf, Vec<u8>)>,
    /// Directories with a file that was written after it lost the name by which it was opened. It may have another name
    /// there.
    nameless: BTreeSet<PathBuf>,
}

/// What events say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Something has changed at a path.
    At(PathBuf),
    /// Anything may have changed.
    Anything,
}

impl Directories {
    pub(super) fn new(roots: BTreeSet<PathBuf>) -> Self {
        Self { roots, ..Self::default() }
    }

    /// Number of directories that are watched.
    pub(super) fn len(&self) -> usize {
        self.paths.len()
    }

    /// Watches everything for the first time.
    pub(super) fn start(&mut self, watches: &Watches) -> io::Result<()> {
        self.mounted = self.mounts()?;
        // Nobody has asked, so nobody needs to know what changes meanwhile.
        self.begin(watches, &mut |_| {})
    }

    /// Watches everything. What is watched already stays so.
    fn begin(&mut self, watches: &Watches, told: &mut dyn FnMut(Told)) -> io::Result<()> {
        let roots = self.roots.clone();
        for above in roots.iter().flat_map(|root| root.ancestors().skip(1)) {
            self.add(watches, above)?;
        }
        for root in roots {
            self.add_below(watches, root, told)?;
        }
        Ok(())
    }

    /// Says what an event means, and watches what is new.
    pub(super) fn take(&mut self, watches: &Watches, event: Event, told: &mut dyn FnMut(Told)) -> io::Result<()> {
        match event {
            Event::Lost => {
                // Something else may be mounted at the same places.
                self.mounted.clear();
                self.begin(watches, told)?;
                told(Told::Anything);
            }
            Event::Ended { directory } => drop(self.paths.remove(&directory)),
            Event::Changed { directory, name, is_directory, is_new, is_gone } => {
                for path in self.paths.get(&directory).cloned().unwrap_or_default() {
                    let path = name.as_ref().map_or_else(|| path.clone(), |name| path.join(name));
                    if !self.is_below(&path) && !((is_new || is_gone) && self.is_above(&path)) {
                        continue;
                    }
                    if is_directory && !is_gone {
                        self.directory(watches, path.clone(), is_new, told)?;
                    } else if !is_directory && !is_new && !is_gone && is_nothing(&path) {
                        self.nameless.extend(path.parent().map(Path::to_owned));
                    }
                    told(Told::At(path));
                }
            }
        }
        Ok(())
    }

    /// Watches a directory that has appeared or changed, and what is below it if that is not watched yet.
    fn directory(
        &mut self,
        watches: &Watches,
        path: PathBuf,
        is_new: bool,
        told: &mut dyn FnMut(Told),
    ) -> io::Result<()> {
        if !self.is_below(&path) {
            return self.begin(watches, told);
        }
        let is_known = |number| self.paths.get(&number).is_some_and(|paths| paths.contains(&path));
        if is_new || !watches.add(&path)?.is_some_and(is_known) {
            let below = self.roots.range::<Path, _>((Excluded(&*path), Unbounded));
            let roots: Vec<PathBuf> = below.take_while(|root| root.starts_with(&path)).cloned().collect();
            for top in roots.into_iter().chain([path]) {
                self.add_below(watches, top, told)?;
            }
        }
        Ok(())
    }

    /// Reports changes without an event: mounts, what lies on other devices, and files written after they lost a name.
    pub(super) fn look(&mut self, watches: &Watches, told: &mut dyn FnMut(Told)) -> io::Result<()> {
        let mounted = self.mounts()?;
        for (path, _) in mounted.symmetric_difference(&self.mounted.clone()) {
            self.elsewhere.remove(path);
            self.directory(watches, path.clone(), true, told)?;
            told(Told::At(path.clone()));
        }
        // The kernel tells of a write to a file that is mounted on another one only in the file's own directory.
        let files = mounted.iter().map(|(path, _)| path).filter(|path| !path.is_dir());
        files.for_each(|path| told(Told::At(path.clone())));
        self.mounted = mounted;
        for path in std::mem::take(&mut self.elsewhere) {
            self.add_below(watches, path.clone(), told)?;
            // It can be watched only now: changes before were not seen.
            let is_watched = !self.elsewhere.contains(&path) && !is_nothing(&path);
            told(if is_watched { Told::Anything } else { Told::At(path) });
        }
        for directory in std::mem::take(&mut self.nameless) {
            let entries = fs::read_dir(directory).into_iter().flatten().map_while(Result::ok);
            let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir()));
            files.for_each(|entry| told(Told::At(entry.path())));
        }
        Ok(())
    }

    fn mounts(&self) -> io::Result<BTreeSet<(PathBuf, Vec<u8>)>> {
        Ok(mounts()?.into_iter().filter(|(path, _)| self.is_below(path) || self.is_above(path)).collect())
    }

    fn is_below(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.roots.contains(above))
    }

    /// Whether a path leads to a watched one.
    fn is_above(&self, path: &Path) -> bool {
        self.roots.range::<Path, _>((Included(path), Unbounded)).next().is_some_and(|root| root.starts_with(path))
    }

    /// Watches one directory; returns whether it is one.
    fn add(&mut self, watches: &Watches, path: &Path) -> io::Result<bool> {
        let Some(number) = watches.add(path)? else { return Ok(false) };
        let paths = self.paths.entry(number).or_default();
        paths.insert(path.to_owned());
        if paths.len() > MOST_PATHS {
            // It was renamed again and again: keep only the paths that lead to a directory today.
            for path in std::mem::take(paths) {
                if let Some(number) = watches.add(&path)? {
                    self.paths.entry(number).or_default().insert(path);
                }
            }
        }
        Ok(true)
    }

    /// Watches a directory and all below it, on one device. Watches each directory before it lists it, so that an event
    /// reports what appears in between.
    fn add_below(&mut self, watches: &Watches, top: PathBuf, told: &mut dyn FnMut(Told)) -> io::Result<()> {
        let root = top.ancestors().find(|above| self.roots.contains(*above)).unwrap_or(&top);
        let device = device_of(root).ok().flatten();
        let mut left = vec![top];
        while let Some(path) = left.pop() {
            match device_of(&path) {
                Ok(None) => continue,
                Ok(found) if found == device => {}
                // A root on another device is watched for itself.
                Ok(_) if self.roots.contains(&path) => continue,
                Ok(_) | Err(_) => {
                    self.elsewhere.insert(path);
                    continue;
                }
            }
            if !self.add(watches, &path)? {
                continue;
            }
            match directories_in(&path) {
                Ok(mut directories) => left.append(&mut directories),
                Err(error) if is_absent(&error) => {}
                // It may have directories that are not watched.
                Err(_) => {
                    self.elsewhere.insert(path);
                    told(Told::Anything);
                }
            }
        }
        Ok(())
    }
}

/// The device of what lies at a path; none if nothing does.
fn device_of(path: &Path) -> io::Result<Option<u64>> {
    match EntryStat::of_path(path) {
        Ok(stat) => Ok(Some(stat.device)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn directories_in(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut directories = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => directories.push(entry.path()),
            Err(error) if !is_absent(&error) => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(directories)
}

fn is_nothing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| is_absent(&error))
}

/// The most paths of a directory. With more, those that no longer lead to it are forgotten.
const MOST_PATHS: usize = 8;
