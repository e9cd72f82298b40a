//! Node: a folder, link or entry of the tree of snapshots, with its metadata and its inode number.

use std::hash::Hasher;
use std::sync::Arc;

use copal_format::keys::domain::DomainKeys;
use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::{Entry, EntryKind, Owner};
use copal_reader::describe;

use super::tree::Tree;

/// A file, directory or link of the tree of snapshots.
#[derive(Clone)]
pub struct Node(pub(super) Kind);

#[derive(Clone)]
pub(super) enum Kind {
    /// A folder that shows snapshots, by its path.
    Folder(Arc<str>),
    /// A link to a snapshot.
    Alias(Arc<Alias>),
    /// An entry of a snapshot, or the directory above all of them.
    Entry(Arc<Tree>, TreePath, EntryKind),
}

impl Node {
    /// Whether it never changes. The content of a snapshot does not; the list of snapshots does.
    pub fn is_lasting(&self) -> bool {
        matches!(self.0, Kind::Entry(..))
    }
}

/// A link to a snapshot.
pub(super) struct Alias {
    pub(super) path: String,
    pub(super) target: String,
    pub(super) tree: Arc<Tree>,
}

/// What `stat` tells of a node.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Its number: the same at each mount, and for all names of one file.
    pub inode: u64,
    /// Its type.
    pub kind: EntryKind,
    /// Its permissions: twelve bits.
    pub permissions: u16,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its size in bytes; of a link, that of the target.
    pub size: u64,
    /// The bytes that are not in holes.
    pub content_bytes: u64,
    /// The last change of its content.
    pub mtime: Time,
    /// The last change of content or metadata on the source.
    pub ctime: Time,
    /// Its creation, where known.
    pub birth: Option<Time>,
    /// Whether the file has other names.
    pub is_hardlinked: bool,
    /// The numbers of a device.
    pub device: Option<(u32, u32)>,
}

/// Makes inode numbers. Keyed: a client cannot make two files that have the same one.
pub(super) struct Numbers(pub(super) DomainKeys);

impl Numbers {
    /// The inode number of a folder or alias.
    pub(super) fn of_path(&self, path: &str) -> u64 {
        self.number(&[b"folder", path.as_bytes()])
    }

    /// The inode number of an entry. `entry` is none for a directory without an entry of its own.
    pub(super) fn of_entry(&self, tree: &Tree, path: &TreePath, entry: Option<&Entry>) -> u64 {
        let snapshot = tree.snapshot.as_bytes();
        match entry.and_then(|entry| Some((entry.extras.hardlink?, entry))) {
            None => self.number(&[b"path", snapshot, path.as_bytes()]),
            // A name in the same group with other content is another file.
            Some((group, entry)) => {
                let mut file = Bytes(Vec::new());
                describe(entry, &mut file);
                self.number(&[b"file", snapshot, &group.to_be_bytes(), &file.0])
            }
        }
    }

    fn number(&self, parts: &[&[u8]]) -> u64 {
        let bytes = parts.join(&0);
        let id = self.0.chunk_id(&bytes);
        let first = id.as_bytes().first_chunk().copied().unwrap_or_default();
        // 63 bits, since offsets in directories are signed. 1 is the top of a file system.
        (u64::from_be_bytes(first) >> 1).max(2)
    }
}

/// Collects what is hashed.
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

impl Attributes {
    /// The attributes that a restore on this machine would give an entry.
    pub(super) fn of(inode: u64, tree: &Tree, entry: &Entry, owner: &Owner, (uid, gid): (u32, u32)) -> Self {
        let kind = entry.kind();
        let mut permissions = entry.mode.permissions() & !tree.cut_mode;
        if kind != EntryKind::Directory && tree.leaves_out_powers() {
            permissions &= !SET_IDS;
        }
        let no_owner = tree.options.no_owner;
        let target = entry.extras.link_target.as_ref().map_or(0, Vec::len) as u64;
        Self {
            inode,
            kind,
            permissions,
            uid: if no_owner { uid } else { owner.uid },
            gid: if no_owner { gid } else { owner.gid },
            size: if kind == EntryKind::Symlink { target } else { entry.size },
            content_bytes: entry.content_bytes(),
            mtime: entry.mtime,
            ctime: entry.ctime,
            birth: entry.birth,
            is_hardlinked: entry.extras.hardlink.is_some(),
            device: entry.extras.device,
        }
    }

    /// The attributes of a directory or link that no client has saved.
    pub(super) fn made(inode: u64, kind: EntryKind, size: u64, time: Time, (uid, gid): (u32, u32)) -> Self {
        Self {
            inode,
            kind,
            permissions: if kind == EntryKind::Symlink { 0o777 } else { 0o555 },
            uid,
            gid,
            size,
            content_bytes: 0,
            mtime: time,
            ctime: time,
            birth: None,
            is_hardlinked: false,
            device: None,
        }
    }
}

/// Set-user-id and set-group-id.
const SET_IDS: u16 = 0o6000;
