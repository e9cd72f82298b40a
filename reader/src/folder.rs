//! Folder: restores entries as files below an empty directory: names, contents and times. WASI has no modes or owners.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::{Entry, EntryKind};

use crate::failure::Failure;
use crate::report::Report;
use crate::sink::{Sink, SinkError};
use crate::system::{self, make_link, set_time};

/// A directory to restore into.
pub(crate) struct Folder {
    root: PathBuf,
    /// The directories above the next entry, outermost first. Only directories created here, so that no path leads
    /// outside the target.
    above: Vec<TreePath>,
    /// Times of directories, which are set at the end.
    times: Vec<(TreePath, Time)>,
    open: Option<Open>,
}

/// A file that is being written.
struct Open {
    entry: Box<Entry>,
    real: PathBuf,
    /// `None` until some content could be read.
    file: Option<File>,
    is_whole: bool,
}

impl Folder {
    /// Opens an empty directory, or creates it.
    pub(crate) fn open(root: &Path) -> Result<Self, Failure> {
        match fs::read_dir(root) {
            Ok(mut entries) => {
                let is_strange =
                    |entry: io::Result<fs::DirEntry>| entry.map_or(true, |e| e.file_name() != "lost+found");
                if entries.any(is_strange) {
                    return Err(Failure::TargetInUse(root.to_owned()));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir(root).map_err(|error| Failure::target(root, error))?;
            }
            Err(error) => return Err(Failure::target(root, error)),
        }
        Ok(Self { root: root.to_owned(), above: vec![TreePath::TOP], times: Vec::new(), open: None })
    }

    /// Sets the times of directories, and reports what is not restored.
    pub(crate) fn finish(self, report: &mut Report<'_>) {
        for (path, time) in self.times.iter().rev() {
            if let Err(error) = self.real(path).and_then(|real| set_time(&real, *time)) {
                report.unwritten(path, &format!("its time cannot be set: {error}"));
            }
        }
        report
            .note("names, contents and times are restored; an archive (--tar) also holds modes, owners and attributes");
    }

    fn real(&self, path: &TreePath) -> io::Result<PathBuf> {
        system::below(&self.root, path)
    }

    /// Makes the missing directories above an entry; returns the entry's real path.
    fn place(&mut self, path: &TreePath) -> io::Result<PathBuf> {
        while self.above.pop_if(|above| !path.is_within(above)).is_some() {}
        let mut missing = Vec::new();
        let mut at = path.parent();
        while let Some(directory) = at.filter(|directory| self.above.last() != Some(directory)) {
            at = directory.parent();
            missing.push(directory);
        }
        for directory in missing.into_iter().rev() {
            self.directory(&directory)?;
        }
        self.real(path)
    }

    fn directory(&mut self, path: &TreePath) -> io::Result<()> {
        if !path.is_top() {
            match fs::create_dir(self.real(path)?) {
                // Made for an earlier entry, or by the file system; never a link to a directory.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if !fs::symlink_metadata(self.real(path)?)?.is_dir() {
                        return Err(error);
                    }
                }
                made => made?,
            }
        }
        if self.above.last() != Some(path) {
            self.above.push(path.clone());
        }
        Ok(())
    }
}

impl Sink for Folder {
    fn other(&mut self, entry: &Entry) -> Result<(), SinkError> {
        let real = self.place(&entry.path)?;
        match (entry.kind(), &entry.extras.link_target) {
            (EntryKind::Directory, _) => {
                self.directory(&entry.path)?;
                self.times.push((entry.path.clone(), entry.mtime));
                Ok(())
            }
            (_, Some(target)) => {
                let made = make_link(target, &real);
                made.map_err(|error| SinkError::Entry(format!("the link cannot be made here: {error}")))?;
                time_of(&real, entry.mtime)
            }
            _ => Err(SinkError::Entry("no such thing can be made here; an archive (--tar) holds it".to_owned())),
        }
    }

    fn link(&mut self, entry: &Entry, first: &TreePath) -> Result<(), SinkError> {
        let real = self.place(&entry.path)?;
        let linked = self.real(first).and_then(|first| fs::hard_link(first, real));
        linked.map_err(|error| {
            let first = copal_format::shown::path(first.as_bytes());
            SinkError::Entry(format!("it is another name of /{first}, and cannot be linked to it: {error}"))
        })
    }

    fn begin(&mut self, entry: Box<Entry>) -> Result<(), SinkError> {
        let real = self.place(&entry.path)?;
        self.open = Some(Open { entry, real, file: None, is_whole: true });
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), SinkError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let file = made(&mut open.file, &open.real)?;
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)?;
        self.open = Some(open);
        Ok(())
    }

    fn missing(&mut self) -> Result<(), SinkError> {
        if let Some(open) = &mut self.open {
            open.is_whole = false;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), SinkError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        if open.is_whole || open.file.is_some() {
            made(&mut open.file, &open.real)?.set_len(open.entry.size)?;
            drop(open.file);
            // An incomplete file keeps the current time, so that it is not mistaken for the original.
            if open.is_whole {
                time_of(&open.real, open.entry.mtime)?;
            }
        }
        Ok(())
    }
}

/// The file, created if necessary.
fn made<'f>(file: &'f mut Option<File>, real: &Path) -> io::Result<&'f mut File> {
    let there = match file.take() {
        Some(there) => there,
        None => File::create_new(real)?,
    };
    Ok(file.insert(there))
}

fn time_of(real: &Path, time: Time) -> Result<(), SinkError> {
    set_time(real, time).map_err(|error| SinkError::Entry(format!("it is restored, but not its time: {error}")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use copal_format::tree::Mode;

    use super::*;

    fn entry(path: &str, kind: EntryKind) -> Entry {
        let plain = Entry::new(TreePath::new(path).unwrap(), Mode::new(kind, 0o644));
        Entry { mtime: Time(1_000_000_000_000_000_005), inode: 1, ..plain }
    }

    fn link(path: &str, target: &Path) -> Entry {
        let mut entry = entry(path, EntryKind::Symlink);
        entry.extras.link_target = Some(target.as_os_str().as_bytes().to_vec());
        entry
    }

    fn folder() -> (tempfile::TempDir, Folder) {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::open(&directory.path().join("out")).unwrap();
        (directory, folder)
    }

    #[test]
    fn no_path_leads_through_a_link() {
        let (directory, mut folder) = folder();
        let elsewhere = directory.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        assert!(folder.other(&link("a", &elsewhere)).is_ok());
        let file = Box::new(entry("a/file", EntryKind::File));
        assert!(matches!(folder.begin(file), Err(SinkError::Entry(_))));
        assert!(folder.other(&entry("a/directory", EntryKind::Directory)).is_err());
        assert!(folder.other(&entry("a", EntryKind::Directory)).is_err());
        assert!(folder.link(&entry("a/name", EntryKind::File), &TreePath::new("a").unwrap()).is_err());
        assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn directories_that_are_no_entries_of_their_own_are_made() {
        let (directory, mut folder) = folder();
        for path in ["a/b/c/file", "a/b/d/file", "e/file"] {
            folder.begin(Box::new(entry(path, EntryKind::File))).unwrap();
            folder.end().unwrap();
            assert!(directory.path().join("out").join(path).is_file());
        }
    }

    #[test]
    fn a_file_gets_its_holes_and_its_time_and_one_that_is_not_whole_gets_no_time() {
        let (directory, mut folder) = folder();
        for (name, is_whole) in [("whole", true), ("part", false)] {
            let mut file = entry(name, EntryKind::File);
            file.size = 100;
            file.extras.holes = vec![10..50, 90..100];
            folder.begin(Box::new(file)).unwrap();
            folder.write(0, &[1; 10]).unwrap();
            folder.write(50, &[1; 10]).unwrap();
            if is_whole {
                folder.write(60, &[2; 30]).unwrap()
            } else {
                folder.missing().unwrap()
            }
            folder.end().unwrap();
            let path = directory.path().join("out").join(name);
            let rest = if is_whole { 2 } else { 0 };
            assert_eq!(
                fs::read(&path).unwrap(),
                [vec![1; 10], vec![0; 40], vec![1; 10], vec![rest; 30], vec![0; 10]].concat()
            );
            let time = fs::metadata(path).unwrap().modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
            assert_eq!(time.as_nanos() == 1_000_000_000_000_000_005, is_whole);
        }
    }

    #[test]
    fn of_a_file_of_which_nothing_can_be_read_nothing_is_written() {
        let (directory, mut folder) = folder();
        let mut file = entry("gone", EntryKind::File);
        file.size = 10;
        folder.begin(Box::new(file)).unwrap();
        folder.missing().unwrap();
        folder.end().unwrap();
        assert_eq!(fs::read_dir(directory.path().join("out")).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_that_holds_something_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("lost+found")).unwrap();
        assert!(Folder::open(directory.path()).is_ok());
        fs::write(directory.path().join("mine"), "").unwrap();
        assert!(matches!(Folder::open(directory.path()), Err(Failure::TargetInUse(_))));
    }
}
