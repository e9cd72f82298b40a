//! Missing: names that a directory lists and that were not found at the first look.

use std::mem;

use super::{Directory, Found};
use crate::names::{Kind, Names};
use crate::open;
use crate::scan::{ScanEvent, ScanOptions};
use crate::stat::{EntryStat, is_absent};
use crate::system::OFlags;

impl<'s> Found<'s> {
    /// Lists the directory again and looks at its missing names again. Says nothing of those that are no longer listed:
    /// they have vanished. Those that are listed and not found again and again are names that their file system cannot
    /// look up, as happens with SMB, FAT and FUSE.
    pub(super) fn look_again(&mut self, directory: &Directory<'s>, options: &'s ScanOptions) {
        let mut missing = mem::take(&mut self.missing);
        for _ in 0..LISTINGS {
            if missing.is_empty() {
                return;
            }
            let names = match open::quietly(&options.as_path.source_of(&directory.path), OFlags::DIRECTORY) {
                Ok(fd) => Names::read(&fd),
                Err(error) => (Names::default(), is_absent(&error).then_some(()).ok_or(error)),
            };
            let (names, Ok(())) = names else { return };
            let mut unsaid = Vec::new();
            missing.retain(|at| match self.second_look(*at, &names, directory, options) {
                Seen::Missing => true,
                Seen::Told => false,
                Seen::Nothing => {
                    unsaid.push(*at);
                    false
                }
            });
            for at in unsaid.into_iter().rev() {
                self.events.remove(at);
                missing.iter_mut().filter(|later| **later > at).for_each(|later| *later -= 1);
                self.between.iter_mut().filter(|(before, _)| *before > at).for_each(|(before, _)| *before -= 1);
            }
        }
    }

    /// Looks again at the name of an event. If the look gives a result, the event tells it.
    fn second_look(&mut self, at: usize, names: &Names, directory: &Directory<'s>, options: &'s ScanOptions) -> Seen {
        let ScanEvent::Unreadable { path, .. } = &self.events[at] else { return Seen::Told };
        // A name that is found is never dropped: the directory may have been replaced by one with the same names.
        if !names.contains(path.name()) {
            return Seen::Nothing;
        }
        let path = path.clone();
        match EntryStat::of_path(&options.as_path.source_of(&path)) {
            Err(error) if is_absent(&error) => Seen::Missing,
            Err(error) => {
                self.events[at] = ScanEvent::Unreadable { path, error };
                Seen::Told
            }
            // The content of a directory cannot be inserted here, so the directory is reported as unreadable.
            Ok(stat) if stat.is_directory() => Seen::Told,
            Ok(stat) => {
                let end = self.events.len();
                let branch = directory.branch.and_then(|branch| branch.below.get(path.name()));
                self.meet(path, Kind::Unknown, || Ok(stat.clone()), directory, branch, options);
                if self.events.len() == end {
                    return Seen::Nothing;
                }
                // The new event takes the place of the old one, so that the order of the tree stays.
                self.events.swap_remove(at);
                Seen::Told
            }
        }
    }
}

/// The result of a second look at a missing name.
enum Seen {
    /// It is listed and still not found.
    Missing,
    /// Its event tells what is there, or why it cannot be read.
    Told,
    /// It has vanished or is left out: there is nothing to tell.
    Nothing,
}

/// How often a directory is listed again before a name in it counts as one that cannot be looked up: files that are
/// made and removed all the time, such as journals, may be listed and gone a few times in a row.
const LISTINGS: usize = 3;

#[cfg(test)]
mod tests {
    use std::io;

    use copal_format::path::TreePath;

    use super::super::Content;
    use super::*;
    use crate::filter::excluding;

    /// The numbers of events and missing names after a look at a name without a type, which is not found.
    fn not_found(patterns: &[&str]) -> (usize, usize) {
        let options = ScanOptions { excludes: excluding(patterns), ..ScanOptions::default() };
        let content = Content::Everything;
        let path = TreePath::new("above").unwrap();
        let directory = Directory { path, device: 1, own_device: 1, branch: None, content, rules: None };
        let mut found = Found::default();
        let path = TreePath::new("above/lost").unwrap();
        found.meet(path, Kind::Unknown, || Err(io::ErrorKind::NotFound.into()), &directory, None, &options);
        (found.events.len(), found.missing.len())
    }

    #[test]
    fn a_name_without_a_type_that_is_excluded_need_not_be_found() {
        assert_eq!(not_found(&["lost"]), (0, 0));
        assert_eq!(not_found(&["lost/"]), (1, 1), "it may be a file");
        assert_eq!(not_found(&["*", "!*/"]), (1, 1), "it may be a directory");
        assert_eq!(not_found(&["other"]), (1, 1));
    }
}
