//! Entries: what is recorded of what the scan and the readers found.

use std::collections::HashMap;
use std::sync::Arc;

use copal_engine::backup::change::Look;
use copal_engine::path::TreePath;
use copal_engine::tree::{Content, Entry, Extras, Mode, Owner};

use crate::read::Owners;
use crate::stat::{EntryStat, FileId};

/// Makes entries; owners are looked up once.
#[derive(Default)]
pub(super) struct Recorder {
    names: Option<Owners>,
    owners: HashMap<(u32, u32), Arc<Owner>>,
    groups: HashMap<FileId, u64>,
    inodes: HashMap<u64, u64>,
}

impl Recorder {
    /// An entry with its content; none for a kind of file that no tree holds.
    pub(super) fn entry(
        &mut self,
        path: TreePath,
        stat: &EntryStat,
        content: Content,
        mut extras: Extras,
    ) -> Option<Entry> {
        let mode = Mode::from_bits(stat.mode)?;
        let is_file = mode.kind() == copal_engine::tree::EntryKind::File;
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

    /// The group that a file with several names forms: its inode's number, with something added where another device has
    /// the same number in this snapshot.
    pub(super) fn group(&mut self, stat: &EntryStat) -> Option<u64> {
        if stat.links < 2 || stat.is_directory() {
            return None;
        }
        let inodes = &mut self.inodes;
        Some(*self.groups.entry(stat.id()).or_insert_with(|| {
            let devices = inodes.entry(stat.inode).or_default();
            *devices += 1;
            stat.inode ^ (*devices - 1) << 48
        }))
    }

    fn owner(&mut self, uid: u32, gid: u32) -> Arc<Owner> {
        let names = self.names.get_or_insert_with(Owners::new);
        let make = || {
            let user = names.user(uid).as_bytes().to_vec();
            Arc::new(Owner { uid, gid, user, group: names.group(gid).as_bytes().to_vec() })
        };
        self.owners.entry((uid, gid)).or_insert_with(make).clone()
    }
}

/// What change detection looks at.
pub(super) fn look(stat: &EntryStat) -> Look {
    Look { mode: stat.mode, size: stat.size, mtime: stat.mtime, ctime: stat.ctime, inode: stat.inode }
}
