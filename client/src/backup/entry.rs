//! Entries: makes tree entries from what the scan and the readers found.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use copal_engine::backup::change::FileStat;
use copal_format::path::TreePath;
use copal_format::tree::{Content, Entry, Extras, Mode, Owner};

use crate::read::Owners;
use crate::stat::{EntryStat, FileId};

/// Makes entries; looks each owner up once.
#[derive(Default)]
pub(super) struct Recorder {
    names: Option<Owners>,
    owners: HashMap<(u32, u32), Arc<Owner>>,
    groups: HashMap<FileId, u64>,
    taken: HashSet<u64>,
}

impl Recorder {
    /// Makes an entry; none for a kind of file that a tree cannot hold.
    pub(super) fn entry(
        &mut self,
        path: TreePath,
        stat: &EntryStat,
        content: Content,
        mut extras: Extras,
    ) -> Option<Entry> {
        let mode = Mode::from_bits(stat.mode)?;
        let is_file = mode.kind() == copal_format::tree::EntryKind::File;
        extras.hardlink = self.group(stat);
        Some(Entry {
            path,
            mode,
            owner: self.owner(stat.uid, stat.gid),
            mtime: stat.mtime,
            ctime: stat.ctime,
            birth: stat.birth,
            inode: stat.inode,
            size: if is_file { stat.size } else { 0 },
            content,
            extras,
        })
    }

    /// The hard-link group of a file with several names. It is the inode number, unless another file in this snapshot
    /// has taken that group (another device, or a reused inode number).
    pub(super) fn group(&mut self, stat: &EntryStat) -> Option<u64> {
        if stat.links < 2 || stat.is_directory() {
            return None;
        }
        Some(self.group_of(stat.id(), stat.inode))
    }

    /// The group of a file; `wanted` unless another file has taken it.
    pub(super) fn group_of(&mut self, file: FileId, wanted: u64) -> u64 {
        if let Some(group) = self.groups.get(&file) {
            return *group;
        }
        let mut group = wanted;
        while !self.taken.insert(group) {
            group = group.wrapping_add(1 << 48);
        }
        self.groups.insert(file, group);
        group
    }

    fn owner(&mut self, uid: u32, gid: u32) -> Arc<Owner> {
        let names = self.names.get_or_insert_default();
        let make = || {
            let user = names.user(uid).as_bytes().to_vec();
            Arc::new(Owner { uid, gid, user, group: names.group(gid).as_bytes().to_vec() })
        };
        self.owners.entry((uid, gid)).or_insert_with(make).clone()
    }
}

/// What change detection compares. Directories and links have a size too, but entries do not record it.
pub(super) fn look(stat: &EntryStat) -> FileStat {
    let size = if stat.kind() == crate::system::FileType::RegularFile { stat.size } else { 0 };
    FileStat { mode: stat.mode, size, mtime: stat.mtime, ctime: stat.ctime, inode: stat.inode }
}

#[cfg(test)]
mod tests {
    use copal_engine::backup::change::{ChangeDetection, is_unchanged};

    use super::*;

    #[test]
    fn an_entry_that_nobody_touched_is_unchanged_whatever_it_is() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        std::fs::write(path("file"), "content").unwrap();
        std::fs::create_dir(path("directory")).unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, path("fifo"), fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        for name in ["file", "directory", "link", "fifo"] {
            let stat = EntryStat::of_path(&path(name)).unwrap();
            let at = TreePath::new(name.as_bytes().to_vec()).unwrap();
            let entry = Recorder::default().entry(at, &stat, Content::None, Extras::default()).unwrap();
            assert!(is_unchanged(&entry, &look(&stat), ChangeDetection::default()), "{name}");
        }
    }

    #[test]
    fn files_of_two_devices_with_one_inode_number_are_never_one_group() {
        let mut recorder = Recorder::default();
        let [a, b] = [1, 2].map(|device| FileId { device, inode: 5, birth: None });
        let first = recorder.group_of(a, 5);
        let second = recorder.group_of(b, 5);
        assert_ne!(first, second);
        assert_eq!((recorder.group_of(a, 5), recorder.group_of(b, 5)), (first, second));
    }

    #[test]
    fn a_file_that_got_the_inode_number_of_a_deleted_one_is_not_of_its_group() {
        let mut recorder = Recorder::default();
        let [a, b] = [1, 2].map(|at| FileId { device: 1, inode: 5, birth: Some(copal_format::time::Time(at)) });
        assert_eq!(recorder.group_of(a, 5), 5);
        assert_ne!(recorder.group_of(b, 5), 5);
    }

    #[test]
    fn a_group_of_the_parent_snapshot_stays_unless_a_new_file_took_its_number() {
        let mut recorder = Recorder::default();
        assert_eq!(recorder.group_of(FileId { device: 1, inode: 7, birth: None }, 9), 9);
        assert_ne!(recorder.group_of(FileId { device: 2, inode: 9, birth: None }, 9), 9);
    }
}
