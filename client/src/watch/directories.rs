//! Directories: all that are watched, and what their events say of paths.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::ops::Bound::{Included, Unbounded};
use std::path::{Path, PathBuf};

use crate::stat::EntryStat;
use crate::system::event::Event;
use crate::system::{Watches, mounts};

/// Directories at, below and above the watched paths. Those above are watched for what leads to a watched path.
pub(super) struct Directories {
    roots: BTreeSet<PathBuf>,
    /// A directory that is mounted twice has one number and several paths.
    paths: HashMap<i32, BTreeSet<PathBuf>>,
    numbers: BTreeMap<PathBuf, i32>,
    /// Directories below a watched path that lie on another device: nothing is watched there.
    elsewhere: BTreeSet<PathBuf>,
    /// The mounts at, below and above the watched paths when they were last looked at.
    mounted: BTreeSet<(PathBuf, Vec<u8>)>,
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
        let none = (HashMap::new(), BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { roots, paths: none.0, numbers: none.1, elsewhere: none.2, mounted: none.3 }
    }

    /// Number of directories that are watched.
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
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
            Event::Ended { directory } => {
                for path in self.paths.remove(&directory).unwrap_or_default() {
                    if self.numbers.get(&path) == Some(&directory) {
                        self.numbers.remove(&path);
                    }
                }
            }
            Event::Changed { directory, name, is_directory, is_new, is_gone } => {
                for path in self.paths.get(&directory).cloned().unwrap_or_default() {
                    let path = name.as_ref().map_or_else(|| path.clone(), |name| path.join(name));
                    if self.is_below(&path) || ((is_new || is_gone) && self.is_above(&path)) {
                        told(Told::At(path.clone()));
                        if is_directory {
                            self.directory(watches, path, is_new, is_gone, told)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn directory(
        &mut self,
        watches: &Watches,
        path: PathBuf,
        is_new: bool,
        is_gone: bool,
        told: &mut dyn FnMut(Told),
    ) -> io::Result<()> {
        if is_new || is_gone {
            self.forget_below(watches, &path);
        }
        if is_gone || self.numbers.contains_key(&path) {
            Ok(())
        } else if self.is_below(&path) {
            self.add_below(watches, path, told)
        } else {
            self.begin(watches, told)
        }
    }

    /// Says what changes without an event: mounts, and what lies on other devices.
    pub(super) fn look(&mut self, watches: &Watches, told: &mut dyn FnMut(Told)) -> io::Result<()> {
        let mounted = self.mounts()?;
        for (path, _) in mounted.symmetric_difference(&self.mounted.clone()) {
            self.directory(watches, path.clone(), true, false, told)?;
            told(Told::At(path.clone()));
        }
        self.mounted = mounted;
        self.elsewhere.iter().for_each(|path| told(Told::At(path.clone())));
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

    /// Watches a directory alone; says whether it is one.
    fn add(&mut self, watches: &Watches, path: &Path) -> io::Result<bool> {
        let Some(number) = watches.add(path)? else { return Ok(false) };
        self.paths.entry(number).or_default().insert(path.to_owned());
        self.numbers.insert(path.to_owned(), number);
        Ok(true)
    }

    /// Watches a directory and all below it, on one device. First the directory, then what is in it: what appears between is
    /// told of by an event.
    fn add_below(&mut self, watches: &Watches, top: PathBuf, told: &mut dyn FnMut(Told)) -> io::Result<()> {
        let device_of = |path: &Path| EntryStat::of_path(path).ok().map(|stat| stat.device);
        let root = top.ancestors().find(|above| self.roots.contains(*above)).unwrap_or(&top);
        let device = device_of(root);
        let mut left = vec![top];
        while let Some(path) = left.pop() {
            let found = device_of(&path);
            if found != device {
                // A root on another device is watched for itself.
                if found.is_some() && !self.roots.contains(&path) {
                    self.elsewhere.insert(path);
                }
                continue;
            }
            if !self.add(watches, &path)? {
                continue;
            }
            let mut directories = Vec::new();
            let listed = fs::read_dir(&path).and_then(|entries| {
                for entry in entries {
                    let entry = entry?;
                    if entry.file_type()?.is_dir() {
                        directories.push(entry.path());
                    }
                }
                Ok(())
            });
            match listed {
                Ok(()) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {}
                // It may have directories that are not watched.
                Err(_) => told(Told::Anything),
            }
            left.append(&mut directories);
        }
        Ok(())
    }

    /// Forgets what was at a path and below it, since something else may be there now.
    fn forget_below(&mut self, watches: &Watches, path: &Path) {
        let below = |other: &&PathBuf| other.starts_with(path);
        let gone: Vec<PathBuf> = self
            .numbers
            .range::<Path, _>((Included(path), Unbounded))
            .map(|(path, _)| path)
            .take_while(below)
            .cloned()
            .collect();
        for path in gone {
            let Some(number) = self.numbers.remove(&path) else { continue };
            let Some(others) = self.paths.get_mut(&number) else { continue };
            others.remove(&path);
            if others.is_empty() {
                self.paths.remove(&number);
                watches.remove(number);
            }
        }
        self.elsewhere.retain(|other| !other.starts_with(path));
    }
}
