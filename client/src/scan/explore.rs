//! Explore: one task of the scan, done by whichever thread is free.

mod missing;

use std::ffi::{CStr, OsStr};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use copal_format::path::TreePath;

use super::as_path::above;
use super::branch::Branch;
use super::rules::Rules;
use super::{ScanEvent, ScanOptions, Scanned, Skip, source_of};
use crate::names::{Kind, Names};
use crate::open;
use crate::stat::EntryStat;
use crate::system::{FileType, OFlags, OwnedFd, PATH, bytes_of, is_of_kernel};

/// A task that a thread can do on its own.
pub(super) enum Work<'s> {
    /// List a directory and look at its first `SLICE` names.
    List(Directory<'s>),
    /// Look at more names of a large directory.
    Look {
        directory: Arc<Directory<'s>>,
        names: Arc<Names>,
        /// The positions of the names to look at.
        range: Range<usize>,
    },
}

/// A directory whose entry was found.
pub(super) struct Directory<'s> {
    path: TreePath,
    /// The device of the root above; with `one_file_system` the scan stays on it.
    device: u64,
    /// The device that it lies on itself.
    own_device: u64,
    /// The names that lead to roots below.
    branch: Option<&'s Branch>,
    content: Content<'s>,
    rules: Option<Arc<Rules>>,
}

/// Which part of a directory's content is wanted, besides roots and the directories that lead to them.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Content<'s> {
    Everything,
    Marker(&'s OsStr),
    Nothing,
}

/// The result of a task.
#[derive(Default)]
pub(super) struct Found<'s> {
    /// Events, in tree order.
    pub(super) events: Vec<ScanEvent>,
    /// Further tasks, each with the number of events that come before it.
    pub(super) between: Vec<(usize, Work<'s>)>,
    pub(super) excluded: u64,
    /// The events that tell of names that were listed and then not found.
    missing: Vec<usize>,
}

impl<'s> Work<'s> {
    /// The path at which the task's events begin.
    pub(super) fn place(&self) -> TreePath {
        match self {
            Work::List(directory) => directory.path.clone(),
            Work::Look { directory, names, range } => {
                directory.path.join(names.at(range.start).0.to_bytes()).unwrap_or_else(|_| directory.path.clone())
            }
        }
    }

    pub(super) fn run(self, options: &'s ScanOptions) -> Found<'s> {
        let mut found = Found::default();
        match self {
            Work::List(directory) => found.list(directory, options),
            Work::Look { directory, names, range } => {
                match open::absolute(&options.as_path.source_of(&directory.path), PATH | OFlags::DIRECTORY) {
                    Ok(fd) => {
                        range.for_each(|at| found.look(&fd, &directory, names.at(at), options));
                        found.look_again(&directory, options);
                    }
                    Err(error) => found.unreadable(directory.path.clone(), error),
                }
            }
        }
        found
    }
}

impl<'s> Found<'s> {
    /// The result for the top directory, where every scan begins.
    pub(super) fn top(branch: &'s Branch, options: &'s ScanOptions) -> Self {
        let mut found = Found::default();
        if let Some(path) = options.as_path.path() {
            found.elsewhere(path, branch, options);
            return found;
        }
        match EntryStat::of_path(&source_of(&TreePath::TOP)) {
            Ok(stat) => {
                let content = if branch.is_root { Content::Everything } else { Content::Nothing };
                let device = stat.device;
                found.events.push(ScanEvent::Entry(Scanned { path: TreePath::TOP, stat }));
                let path = TreePath::TOP;
                let top = Directory { path, device, own_device: device, branch: Some(branch), content, rules: None };
                found.between.push((1, Work::List(top)));
            }
            Err(error) => found.unreadable(TreePath::TOP, error),
        }
        found
    }

    /// The entry of a source that is read elsewhere, after those of the directories above its path.
    fn elsewhere(&mut self, path: &TreePath, branch: &'s Branch, options: &'s ScanOptions) {
        for path in above(path) {
            match EntryStat::of_path(&options.as_path.source_of(&path)) {
                Ok(stat) => self.events.push(ScanEvent::Entry(Scanned { path, stat })),
                Err(error) => self.unreadable(path, error),
            }
        }
        let parent = path.parent().unwrap_or_default();
        let content = Content::Nothing;
        let parent = Directory { path: parent, device: 0, own_device: 0, branch: None, content, rules: None };
        let stat = || EntryStat::of_path(&options.as_path.source_of(path));
        self.meet(path.clone(), Kind::Unknown, stat, &parent, branch.of(path), options);
    }

    fn list(&mut self, mut directory: Directory<'s>, options: &'s ScanOptions) {
        let Some(fd) = self.open(&mut directory, options) else { return };
        let names = self.names(&fd, &mut directory, options);
        let first = names.len().min(SLICE);
        (0..first).for_each(|at| self.look(&fd, &directory, names.at(at), options));
        self.look_again(&directory, options);
        if names.len() > first {
            let (directory, names) = (Arc::new(directory), Arc::new(names));
            for start in (first..names.len()).step_by(SLICE) {
                let range = start..names.len().min(start + SLICE);
                let work = Work::Look { directory: directory.clone(), names: names.clone(), range };
                self.between.push((self.events.len(), work));
            }
        }
    }

    /// Opens a directory as far as it is wanted. If it cannot be listed, roots below may still be reached.
    fn open(&mut self, directory: &mut Directory<'s>, options: &'s ScanOptions) -> Option<OwnedFd> {
        let source = options.as_path.source_of(&directory.path);
        if directory.content != Content::Nothing {
            match open::quietly(&source, OFlags::DIRECTORY) {
                Ok(fd) => return Some(fd),
                Err(error) => self.unreadable(directory.path.clone(), error),
            }
            directory.content = Content::Nothing;
            directory.branch.filter(|branch| !branch.below.is_empty())?;
        }
        open::absolute(&source, PATH | OFlags::DIRECTORY)
            .map_err(|error| self.unreadable(directory.path.clone(), error))
            .ok()
    }

    /// The names to look at, after applying markers and ignore files.
    fn names(&mut self, fd: &OwnedFd, directory: &mut Directory<'s>, options: &'s ScanOptions) -> Names {
        let roots = || directory.branch.into_iter().flat_map(|branch| branch.below.keys().map(Vec::as_slice));
        if directory.content == Content::Nothing {
            return Names::from_few(roots());
        }
        let (names, listed) = Names::read(fd);
        if let Err(error) = listed {
            self.unreadable(directory.path.clone(), error);
        }
        let there = |name: &OsStr| names.contains(&bytes_of(name));
        if let Some(marker) = options.markers.iter().find(|marker| there(marker.name()) && marker.marks(fd)) {
            self.skipped(directory.path.clone(), Skip::Marked(marker.name().into()));
            if let Some(tell) = &options.on_excluded {
                let marker_name = bytes_of(marker.name());
                let others = (0..names.len()).map(|at| names.at(at).0.to_bytes());
                let others = others.filter(|name| *name != &*marker_name);
                others
                    .flat_map(|name| directory.path.join(name))
                    .for_each(|path| tell(&path, &marker.name().to_string_lossy()));
            }
            let few = Names::from_few(roots().chain([&*bytes_of(marker.name())]));
            directory.content = Content::Marker(marker.name());
            return few;
        }
        for name in options.ignore_files.iter().filter(|name| there(name)) {
            let (rules, problem) = Rules::read(fd, &directory.path, name, directory.rules.take());
            directory.rules = rules;
            if let (Some(problem), Ok(path)) = (problem, directory.path.join(&bytes_of(name))) {
                self.events.push(ScanEvent::BadIgnoreFile { path, problem });
            }
        }
        names
    }

    /// Looks at one name of a directory.
    fn look(&mut self, fd: &OwnedFd, directory: &Directory<'s>, name: (&CStr, Kind), options: &'s ScanOptions) {
        let (name, kind) = name;
        let path = match directory.path.join(name.to_bytes()) {
            Ok(path) => path,
            Err(error) => return self.unreadable(directory.path.clone(), io::Error::other(error)),
        };
        let branch = directory.branch.and_then(|branch| branch.below.get(name.to_bytes()));
        self.meet(path, kind, || EntryStat::at(fd, name), directory, branch, options);
    }

    /// Emits an entry, skips it or descends.
    fn meet(
        &mut self,
        path: TreePath,
        kind: Kind,
        look: impl Fn() -> io::Result<EntryStat>,
        directory: &Directory<'s>,
        branch: Option<&'s Branch>,
        options: &'s ScanOptions,
    ) {
        let is_root = branch.is_some_and(|branch| branch.is_root);
        let is_named = branch.is_some_and(|branch| branch.is_named);

        let mut stat = None;
        if kind == Kind::Unknown {
            stat = self.stat(&look, (&path, kind), directory, branch, options);
            if stat.is_none() {
                return;
            }
        }
        let is_directory = stat.as_ref().map_or(kind == Kind::Directory, EntryStat::is_directory);
        let mut wanted = is_root
            || match directory.content {
                Content::Everything => true,
                Content::Marker(marker) => *bytes_of(marker) == *path.name(),
                Content::Nothing => false,
            };
        if wanted && directory.leaves_out(&path, is_directory, options) {
            wanted = false;
            self.excluded(&path, is_named);
            if let Some(tell) = &options.on_excluded {
                tell(&path, directory.excluding(&path, is_directory, options).unwrap_or_default());
            }
        }
        if !wanted && branch.is_none() {
            return;
        }
        let stat = stat.or_else(|| self.stat(&look, (&path, kind), directory, branch, options));
        let Some(stat) = stat else { return };
        if !stat.is_directory() {
            self.lost(named(branch, &path).filter(|root| *root != path), io::ErrorKind::NotADirectory);
        }
        match stat.kind() {
            FileType::Directory => self.descend(path, stat, directory, branch, wanted, options),
            FileType::Socket => self.skipped(path, Skip::Socket),
            FileType::RegularFile if options.exclude_larger_than.is_some_and(|most| stat.size > most) => {
                self.excluded(&path, is_named);
                options.on_excluded.iter().for_each(|tell| tell(&path, "(larger files)"));
            }
            _ => self.events.push(ScanEvent::Entry(Scanned { path, stat })),
        }
    }

    /// Emits a directory, and adds its content as a further task.
    fn descend(
        &mut self,
        path: TreePath,
        stat: EntryStat,
        above: &Directory<'s>,
        branch: Option<&'s Branch>,
        wanted: bool,
        options: &'s ScanOptions,
    ) {
        let is_root = branch.is_some_and(|branch| branch.is_root);
        let device = if is_root { stat.device } else { above.device };
        let own_device = stat.device;
        let is_mount = !is_root && own_device != above.own_device;
        let reason = if options.is_repository(&stat) {
            Some(Skip::Repository)
        } else if options.one_file_system && own_device != device {
            Some(Skip::OtherFileSystem)
        } else {
            (is_mount && is_of_kernel(&options.as_path.source_of(&path))).then_some(Skip::KernelFileSystem)
        };
        self.events.push(ScanEvent::Entry(Scanned { path: path.clone(), stat }));
        let content = match reason {
            _ if !wanted => Content::Nothing,
            None => Content::Everything,
            Some(reason) => {
                self.skipped(path.clone(), reason);
                Content::Nothing
            }
        };
        if content != Content::Nothing || branch.is_some_and(|branch| !branch.below.is_empty()) {
            let directory = Directory { path, device, own_device, branch, content, rules: above.rules.clone() };
            self.between.push((self.events.len(), Work::List(directory)));
        }
    }

    /// The entry's metadata. One that vanished after it was listed is reported only if the user named it or something below it.
    fn stat(
        &mut self,
        look: impl Fn() -> io::Result<EntryStat>,
        (path, kind): (&TreePath, Kind),
        directory: &Directory<'s>,
        branch: Option<&Branch>,
        options: &ScanOptions,
    ) -> Option<EntryStat> {
        match look() {
            Ok(stat) => return Some(stat),
            Err(error) if error.kind() != io::ErrorKind::NotFound => self.unreadable(path.clone(), error),
            // The last arm reports roots that are gone. This one has the scan look again at a name that is no root and leads
            // to none.
            Err(error) if branch.map_or(directory.content == Content::Everything, |it| it.named(path).is_empty()) => {
                // Without a type the look comes before the patterns. A missing name that they exclude is not reported.
                let mut types = [false, true].into_iter();
                if kind == Kind::Unknown && types.all(|is_dir| directory.leaves_out(path, is_dir, options)) {
                    return None;
                }
                self.missing.push(self.events.len());
                self.unreadable(path.clone(), error);
            }
            Err(error) => self.lost(named(branch, path), error.kind()),
        }
        None
    }

    /// Reports roots that were there when the backup began.
    fn lost(&mut self, roots: impl Iterator<Item = TreePath>, why: io::ErrorKind) {
        roots.for_each(|root| self.unreadable(root, why.into()));
    }

    fn unreadable(&mut self, path: TreePath, error: io::Error) {
        self.events.push(ScanEvent::Unreadable { path, error });
    }

    fn skipped(&mut self, path: TreePath, reason: Skip) {
        self.events.push(ScanEvent::Skipped { path, reason });
    }

    fn excluded(&mut self, path: &TreePath, is_named: bool) {
        self.excluded += 1;
        if is_named {
            self.skipped(path.clone(), Skip::ExcludedRoot);
        }
    }
}

/// The roots that the user named, at and below a path.
fn named(branch: Option<&Branch>, path: &TreePath) -> impl Iterator<Item = TreePath> {
    branch.map(|branch| branch.named(path)).unwrap_or_default().into_iter()
}

impl Directory<'_> {
    /// Whether a pattern or an ignore file leaves out an entry.
    fn leaves_out(&self, path: &TreePath, is_directory: bool, options: &ScanOptions) -> bool {
        let by_rules = || self.rules.as_ref().is_some_and(|rules| rules.exclude(path, is_directory).is_some());
        (options.excludes.excludes(path, is_directory) || by_rules()) && !options.is_obeyed(path)
    }

    fn excluding<'a>(&'a self, path: &TreePath, is_directory: bool, options: &'a ScanOptions) -> Option<&'a str> {
        let by_rules = || self.rules.as_ref()?.exclude(path, is_directory);
        options.excludes.excluding(path, is_directory).or_else(by_rules)
    }
}

/// Names of a directory that one task looks at.
const SLICE: usize = 2_048;
