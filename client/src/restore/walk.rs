//! Walk: one thread walks the tree, makes everything except files, and passes files on to [`Gather`].

use std::sync::Arc;

use copal_engine::restore::leaves::{BELOW_LEAF, Leaves};
use copal_format::path::TreePath;
use copal_format::tree::{Entry, EntryKind, Mode};
use crossbeam_channel::Sender;

use super::RestoreError;
use super::fetch::Task;
use super::file::{LateMetadata, Restoring};
use super::gather::Gather;
use super::links::{First, Links, Orphans};
use super::owners::Owners;
use super::work::Work;
use crate::causes::with_causes;
use crate::materialize::{
    Created, DirectoriesLater, Metadata, Overwrite, Power, Target, TargetState, Wanted, WriteError,
};
use crate::system::kind_of;

/// The walk through the tree.
pub(super) struct Walk<'a> {
    work: &'a Work<'a>,
    gather: Gather<'a>,
    later: DirectoriesLater,
    links: Links,
    /// The directories that may contain the next entry, outermost first.
    above: Vec<Above>,
    /// Whether the target itself takes the metadata of the directory restored into it.
    takes_root: bool,
    /// The only entries to restore, by their places, in another walk for names that could not be made as hard links.
    orphans: Option<Orphans>,
    owners: Owners,
    lost: usize,
}

/// A directory above the current entry.
struct Above {
    path: TreePath,
    /// Its entry until the directory is made; it is made late if it is not selected itself.
    entry: Option<Box<Entry>>,
    /// Whether this restore created it, so that nothing can be in the way inside it.
    is_new: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        work: &'a Work<'a>,
        tasks: Sender<Task>,
        takes_root: bool,
        links: Links,
        orphans: Option<Orphans>,
    ) -> Self {
        Self {
            work,
            gather: Gather::new(work, tasks),
            later: DirectoriesLater::default(),
            links,
            above: Vec::new(),
            takes_root,
            orphans,
            owners: Owners::new(work.request.numeric_owner),
            lost: 0,
        }
    }

    /// Walks all entries; returns what comes last: the metadata of directories and the other names of files.
    pub(super) fn run(mut self) -> Result<(DirectoriesLater, Links), RestoreError> {
        let request = self.work.request;
        let mut stream = request.scope.entries(request.pages, request.root);
        let mut leaves = Leaves::default();
        while !self.work.is_over() {
            let entry = stream.next_readable()?;
            let reaches_further = entry.as_ref().is_some_and(|entry| !request.scope.holds(&entry.path));
            for (range, error) in &stream.lost()[self.lost..] {
                if self.orphans.is_none() {
                    self.work.lost(range, with_causes(error));
                }
                self.lost += 1;
            }
            let Some(mut entry) = entry.filter(|_| !reaches_further) else { break };
            // It would take the place of what it is said to lie below.
            if !leaves.admits(&entry) {
                if self.orphans.is_none() {
                    self.work.damaged(&request.scope.inside(&entry.path), BELOW_LEAF.to_owned());
                }
                continue;
            }
            entry.owner = self.owners.here(&entry.owner);
            entry.mode = Mode::new(entry.mode.kind(), entry.mode.permissions() & !request.cut_mode);
            self.take(entry)?;
        }
        self.gather.finish();
        Ok((self.later, self.links))
    }

    fn take(&mut self, entry: Entry) -> Result<(), RestoreError> {
        while self.above.pop_if(|above| !entry.path.is_within(&above.path)).is_some() {}
        let is_directory = entry.kind() == EntryKind::Directory;
        let place = self.work.request.scope.inside(&entry.path);
        if let Some(orphans) = &self.orphans
            && !orphans.contains(&place)
        {
            return Ok(());
        }
        let is_selected = self.work.request.selection.selects(&entry.path, is_directory);
        if is_directory {
            let path = entry.path.clone();
            self.above.push(Above { path, entry: Some(Box::new(entry)), is_new: false });
            return if is_selected { self.make_above() } else { Ok(()) };
        }
        if !is_selected {
            return Ok(());
        }
        self.make_above()?;
        match self.entry(entry, &place) {
            Err(error) if error.hits_all() => Err(error.into()),
            Err(error) => {
                self.work.write_failed(&error);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Makes the directories above the entry that are not made yet.
    fn make_above(&mut self) -> Result<(), RestoreError> {
        for at in 0..self.above.len() {
            let Some(mut entry) = self.above[at].entry.take() else { continue };
            let place = self.work.request.scope.inside(&entry.path);
            let is_in_new = at.checked_sub(1).is_some_and(|at| self.above[at].is_new);
            match self.directory(&place, &mut entry, is_in_new) {
                Ok(is_new) => self.above[at].is_new = is_new,
                Err(error) if error.hits_all() => return Err(error.into()),
                Err(error) => self.work.write_failed(&error),
            }
        }
        Ok(())
    }

    /// Makes a directory; returns whether it is new.
    fn directory(&mut self, place: &TreePath, entry: &mut Entry, is_in_new: bool) -> Result<bool, WriteError> {
        let target = self.writable();
        let created = target.map(|target| target.ensure_directory(place)).transpose()?;
        self.work.count(|tally| tally.dirs += 1);
        let Some((target, created)) = target.zip(created) else { return Ok(is_in_new) };
        let keeps = self.work.request.options.overwrite == Overwrite::Never && created == Created::Before;
        let late = LateMetadata::of(entry);
        if place.is_top() {
            if self.work.request.scope.takes_root(&self.work.request.sources) && !keeps {
                self.root(target, &late)?;
            }
        } else if !keeps {
            self.later.push(place, &late.metadata());
        }
        self.work.restored(place);
        Ok(created == Created::New)
    }

    /// Sets the target's own metadata only if the target was empty, or if its owner and mode would not change: it may
    /// be any directory of the user's.
    fn root(&mut self, target: &Target, late: &LateMetadata) -> Result<(), WriteError> {
        let metadata = late.metadata();
        if self.takes_root || target.existing(&TreePath::TOP)?.is_some_and(|stat| target.is_alike(&stat, &metadata)) {
            self.later.push(&TreePath::TOP, &metadata);
        } else {
            self.work.tell(super::Event::Note(super::Note::TargetKept));
        }
        Ok(())
    }

    fn entry(&mut self, mut entry: Entry, place: &TreePath) -> Result<(), WriteError> {
        if entry.kind() == EntryKind::Socket {
            return Ok(());
        }
        // The entry in its place stays.
        if entry.extras.device.is_some() && self.work.target.is_some_and(|of| of.leaves_out(Power::Device, place)) {
            self.work.leave_unverified(place);
            return Ok(());
        }
        if self.links.takes(&entry, place) {
            if self.writable().is_none() {
                let found = self.look(&entry, place)?;
                self.count_planned(&entry, found, 0);
            }
            return Ok(());
        }
        let found = self.look(&entry, place)?;
        if self.writable().is_none() {
            self.count_planned(&entry, found, entry.content_bytes());
        }
        match (found, self.writable()) {
            (TargetState::Kept, _) => {
                self.work.count(|tally| tally.files_skipped += 1);
                self.work.leave_unverified(place);
                return Ok(());
            }
            (_, None) => self.links.keep(self.links.identity(&entry), || First::There(place.clone())),
            (TargetState::Same, Some(target)) => {
                self.links.keep(self.links.identity(&entry), || First::There(place.clone()));
                self.same(target, &mut entry, place)?;
            }
            (TargetState::Free | TargetState::Taken, Some(_)) if entry.kind() == EntryKind::File => {
                self.file(entry, place, found == TargetState::Taken);
            }
            (TargetState::Free | TargetState::Taken, Some(target)) => {
                self.links.keep(self.links.identity(&entry), || First::There(place.clone()));
                if found == TargetState::Taken {
                    target.remove_existing(place)?;
                }
                self.other(target, &mut entry, place)?;
            }
        }
        Ok(())
    }

    /// Returns the state of the entry's place. Does not look into a directory that was just made, because it is empty.
    fn look(&self, entry: &Entry, place: &TreePath) -> Result<TargetState, WriteError> {
        match self.work.target {
            Some(target) if !self.above.last().is_some_and(|above| above.is_new) => target.look(place, &wanted(entry)),
            _ => Ok(TargetState::Free),
        }
    }

    fn same(&mut self, target: &Target, entry: &mut Entry, place: &TreePath) -> Result<(), WriteError> {
        let is_file = entry.kind() == EntryKind::File;
        target.renew_metadata(place, &LateMetadata::of(entry).metadata())?;
        if is_file {
            self.work.count(|tally| tally.files_unchanged += 1);
            self.work.progress.add_done(entry.size);
            self.work.progress.file_done();
        } else {
            self.work.count(|tally| tally.others += 1);
        }
        Ok(())
    }

    fn file(&mut self, mut entry: Entry, place: &TreePath, replaces: bool) {
        let identity = self.links.identity(&entry);
        let file = Restoring::new(place.clone(), &mut entry, replaces);
        self.links.keep(identity, || First::OnItsWay(Arc::clone(&file)));
        self.gather.file(file, entry);
    }

    /// Makes an entry that is neither a file nor a directory.
    fn other(&mut self, target: &Target, entry: &mut Entry, place: &TreePath) -> Result<(), WriteError> {
        let mut created = Created::New;
        match (entry.kind(), entry.extras.link_target.take(), entry.extras.device) {
            (_, Some(points_to), _) => target.symlink(place, &points_to)?,
            (kind, _, Some(numbers)) => {
                created = target.device(place, kind_of(kind as u32), numbers)?;
            }
            _ => target.fifo(place)?,
        }
        if created == Created::NotPermitted {
            self.work.trouble(place, "only root can make devices".into());
            return Ok(());
        }
        target.set_metadata(place, &LateMetadata::of(entry).metadata())?;
        self.work.count(|tally| tally.others += 1);
        self.work.restored(place);
        Ok(())
    }

    fn count_planned(&self, entry: &Entry, found: TargetState, bytes: u64) {
        let is_file = entry.kind() == EntryKind::File;
        self.work.count(|tally| match found {
            TargetState::Kept => {}
            _ if !is_file => tally.others += 1,
            TargetState::Same => tally.files_unchanged += 1,
            TargetState::Free | TargetState::Taken => {
                tally.files_restored += 1;
                tally.bytes_written += bytes;
            }
        });
        if matches!(found, TargetState::Free | TargetState::Taken) {
            self.work.tell(super::Event::Restored(&entry.path));
        }
    }

    /// The target; `None` in a dry run.
    fn writable(&self) -> Option<&'a Target> {
        self.work.target.filter(|_| !self.work.request.is_dry_run)
    }
}

/// The facts that an existing entry must have to count as this one; not for directories.
pub(super) fn wanted(entry: &Entry) -> Wanted<'_> {
    let Entry { owner, mtime, birth, .. } = entry;
    Wanted {
        metadata: Metadata {
            mode: entry.mode.bits(),
            uid: owner.uid,
            gid: owner.gid,
            mtime: *mtime,
            birth: (*birth).into(),
            xattrs: &entry.extras.xattrs,
        },
        size: entry.size,
        points_to: entry.extras.link_target.as_deref(),
        device: entry.extras.device,
        is_alone: entry.extras.hardlink.is_none(),
    }
}
