//! Links: restores entries with several names as one entry with several names.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use copal_format::path::TreePath;
use copal_format::tree::Entry;
pub use copal_reader::Identities;

use super::file::Restoring;
use super::work::Work;
use crate::materialize::{Overwrite, Target, WriteError};
use crate::stat::EntryStat;
use crate::system::FileType;

/// The first name of each file, and its other names, which are made when its content is written.
#[derive(Default)]
pub(super) struct Links {
    identities: Identities,
    /// By group and content: a name in the same group with other content is another file.
    firsts: HashMap<(u64, u64), u32>,
    names: Vec<First>,
    others: Vec<(TreePath, u32)>,
    /// Places of names that become entries of their own.
    apart: Orphans,
}

/// The first name of a file.
pub(super) enum First {
    /// A file during its restore.
    OnItsWay(Arc<Restoring>),
    /// An entry that exists already.
    There(TreePath),
}

impl Links {
    /// Lets a name become an entry of its own; returns whether that is new.
    pub(super) fn separate(&mut self, place: &TreePath) -> bool {
        self.apart.insert(place.clone())
    }

    /// Takes an entry that is another name of an earlier file; [`Links::make`] makes it at the end.
    pub(super) fn takes(&mut self, entry: &Entry, place: &TreePath) -> bool {
        if self.apart.contains(place) {
            return false;
        }
        let Some(first) = self.identities.of(entry).and_then(|key| self.firsts.get(&key)) else { return false };
        self.others.push((place.clone(), *first));
        true
    }

    /// Records the first name of a file that may have others.
    pub(super) fn keep(&mut self, identity: Option<(u64, u64)>, first: impl FnOnce() -> First) {
        if let Some(identity) = identity {
            self.firsts.insert(identity, self.names.len() as u32);
            self.names.push(first());
        }
    }

    /// The key that all names of a file share; `None` if it has only one name.
    pub(super) fn identity(&self, entry: &Entry) -> Option<(u64, u64)> {
        self.identities.of(entry)
    }

    /// Makes the other names. Returns those that another walk has to make as entries, and the links of that walk: if
    /// the first name could not be made, one of the others takes its place.
    pub(super) fn make(self, work: &Work<'_>, target: &Target) -> (Orphans, Self) {
        let (mut orphans, mut next) = (Orphans::new(), Self::default());
        for (place, first) in self.others {
            if work.is_over() {
                break;
            }
            match make(work, target, &place, &self.names[first as usize]) {
                Ok(SecondName::Done) => {}
                Ok(SecondName::FirstMissing) => drop(orphans.insert(place)),
                Ok(SecondName::Refused) => {
                    next.separate(&place);
                    orphans.insert(place);
                }
                Err(error) if error.hits_all() => work.stop(error.into()),
                Err(error) => work.write_failed(&error),
            }
        }
        (orphans, next)
    }
}

/// Places in the target of names that could not be made as names of an existing entry.
pub(super) type Orphans = BTreeSet<TreePath>;

/// The result of making another name.
enum SecondName {
    /// The name is there, or was reported.
    Done,
    /// The first name is not there.
    FirstMissing,
    /// The file system refuses a hard link, and the entry is no file that could be copied.
    Refused,
}

fn make(work: &Work<'_>, target: &Target, place: &TreePath, first: &First) -> Result<SecondName, WriteError> {
    let (existing, is_whole) = match first {
        First::There(existing) => (existing, true),
        First::OnItsWay(file) if file.is_made() => (&file.place, !file.is_named()),
        First::OnItsWay(file) if file.is_failed() => return Ok(SecondName::FirstMissing),
        First::OnItsWay(file) => {
            let first = work.request.scope.outside(&file.place);
            work.trouble(place, format!("it is another name of /{first}, which could not be restored"));
            return Ok(SecondName::Done);
        }
    };
    let Some(stat) = target.existing(existing)? else { return Ok(SecondName::FirstMissing) };
    if !is_whole {
        let first = work.request.scope.outside(existing);
        work.trouble(place, format!("it is another name of /{first}, which is not wholly restored"));
    }
    match target.existing(place)? {
        Some(other) if other.id() == stat.id() => {
            count(work, &stat, is_whole, false);
            return Ok(SecondName::Done);
        }
        Some(other) if is_kept(work.request.options.overwrite, &other, &stat) => {
            work.count(|tally| tally.files_skipped += 1);
            work.leave_unverified(place);
            return Ok(SecondName::Done);
        }
        Some(_) => target.remove_existing(place)?,
        None => {}
    }
    if !target.second_name(place, existing)? {
        return Ok(SecondName::Refused);
    }
    count(work, &stat, is_whole, true);
    if is_whole {
        work.restored(place);
    }
    Ok(SecondName::Done)
}

fn count(work: &Work<'_>, stat: &EntryStat, is_whole: bool, is_new: bool) {
    let is_file = stat.kind() == FileType::RegularFile;
    work.count(|tally| match (is_file, is_whole, is_new) {
        (false, ..) => tally.others += 1,
        (true, true, true) => tally.files_restored += 1,
        (true, true, false) => tally.files_unchanged += 1,
        (true, false, _) => {}
    });
    if is_file {
        work.progress.file_done();
    }
}

/// Whether a file of the target stays where the first name of its file should be linked.
fn is_kept(overwrite: Overwrite, other: &EntryStat, first: &EntryStat) -> bool {
    match overwrite {
        Overwrite::Never => true,
        Overwrite::Newer => other.mtime > first.mtime,
        Overwrite::Changed | Overwrite::Always => false,
    }
}
