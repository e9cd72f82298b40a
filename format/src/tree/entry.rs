//! Entry: one file, directory, link or device of a snapshot, with all its POSIX metadata.

use core::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use crate::id::ChunkId;
use crate::limits::{CHUNK_BYTES, HEIGHT};
use crate::path::TreePath;
use crate::shown;
use crate::time::Time;
use crate::wire::cbor::Ignored;

/// A file with more pieces than this gets a content list.
pub const LIST_AFTER: usize = 64;

/// One file, directory, link or device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its path below the top directory.
    pub path: TreePath,
    /// Its type and permissions.
    #[serde(flatten)]
    pub mode: Mode,
    /// Its owner and group; the value is shared between entries.
    #[serde(flatten)]
    pub owner: Arc<Owner>,
    /// The last change of the content.
    pub mtime: Time,
    /// The last change of content or metadata, by the source system's clock.
    pub ctime: Time,
    /// The time of creation, if the file system knows it.
    pub birth: Option<Time>,
    /// Inode number.
    pub inode: u64,
    /// The size of a regular file in bytes, including holes; 0 for everything else.
    pub size: u64,
    /// A regular file's content.
    pub content: Content,
    /// Properties that only some entries have.
    #[serde(flatten)]
    pub extras: Extras,
}

/// The type of an entry; the values are the type bits of `st_mode`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum EntryKind {
    Fifo = 0o010_000,
    #[serde(rename = "chardev")]
    CharDevice = 0o020_000,
    #[serde(rename = "dir")]
    Directory = 0o040_000,
    #[serde(rename = "blockdev")]
    BlockDevice = 0o060_000,
    File = 0o100_000,
    Symlink = 0o120_000,
    Socket = 0o140_000,
}

/// `st_mode`: a known type, and the twelve permission bits.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Mode {
    #[serde(rename = "type")]
    kind: EntryKind,
    #[serde(rename = "mode")]
    permissions: u16,
}

/// The ids and names of an owner and a group. Names are raw bytes, empty if unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize)]
pub struct Owner {
    /// The user id.
    pub uid: u32,
    /// The group id.
    pub gid: u32,
    /// The user's name.
    #[serde(serialize_with = "shown::name")]
    pub user: Vec<u8>,
    /// The group's name.
    #[serde(serialize_with = "shown::name")]
    pub group: Vec<u8>,
}

/// Where a regular file's bytes are, not counting its holes.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// There are no bytes.
    #[default]
    None,
    /// In the page itself.
    Inline(Inline),
    /// In chunks, at most [`LIST_AFTER`].
    Chunks(Vec<Piece>),
    /// In the chunks of a content list.
    List {
        /// The list's root page.
        root: ChunkId,
        /// The height of that page.
        height: u8,
    },
}

/// Content stored in the page itself. Only [`super::Extents`] gives out its bytes, with their offsets in the
/// file, so that no host can mistake them for the whole file and forget the holes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize)]
pub struct Inline(#[serde(serialize_with = "shown::hex")] Vec<u8>);

/// One chunk of a file's content.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Piece {
    /// The chunk.
    pub id: ChunkId,
    /// The length in bytes.
    pub length: u32,
}

/// Properties that only some entries have.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Extras {
    /// The target of a symbolic link; none for other types.
    #[serde(serialize_with = "shown::name_if_any")]
    pub link_target: Option<Vec<u8>>,
    /// The number shared by all hard links to one file: its inode number.
    pub hardlink: Option<u64>,
    /// The major and minor number of a device; none for other types.
    pub device: Option<(u32, u32)>,
    /// Extended attributes, ascending by name, including ACLs.
    #[serde(serialize_with = "shown::attributes")]
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    /// The holes of a regular file: ranges that were never written, ascending.
    pub holes: Vec<Range<u64>>,
    /// Fields of a later version that this one may ignore. Code that copies the entry must write them again.
    #[serde(skip)]
    pub later: Ignored,
}

/// Why an entry cannot be part of a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadEntry {
    /// An entry that is no regular file has a size, content or holes.
    #[error("only a regular file can have a size, content or holes")]
    NotAFile,
    /// A symbolic link without a target, or another entry with one.
    #[error("a link target belongs to symbolic links, and they have one")]
    LinkTarget,
    /// A device without numbers, or another entry with them.
    #[error("device numbers belong to devices, and they have them")]
    Device,
    /// A directory in a hardlink group.
    #[error("a directory cannot be hardlinked")]
    Hardlink,
    /// Extended attributes without a name, out of order or twice.
    #[error("extended attributes have no name or do not ascend")]
    Xattrs,
    /// Holes that are empty, overlap, are out of order or exceed the size.
    #[error("holes do not ascend within the file's size")]
    Holes,
    /// The lengths of content and holes do not add up to the size.
    #[error("content and holes do not add up to the file's size")]
    Size,
    /// A piece is empty or longer than a chunk may be, or there are too many pieces.
    #[error("a content that is not made of 1 to {LIST_AFTER} chunks of allowed length")]
    Pieces,
    /// A content list with a height that no list has.
    #[error("a content list cannot have height {0}")]
    ListHeight(u8),
}

impl Entry {
    /// An entry of which nothing else is known: no owner, no times, no content.
    pub fn new(path: TreePath, mode: Mode) -> Self {
        let (mtime, ctime, owner, extras) = (Time(0), Time(0), Arc::default(), Extras::default());
        Self { path, mode, owner, mtime, ctime, birth: None, inode: 0, size: 0, content: Content::None, extras }
    }

    /// The entry's type.
    pub fn kind(&self) -> EntryKind {
        self.mode.kind
    }

    /// The length of the content: the size without the holes.
    pub fn content_bytes(&self) -> u64 {
        let holes = self.extras.holes.iter().map(|hole| hole.end.saturating_sub(hole.start));
        self.size.saturating_sub(holes.fold(0, u64::saturating_add))
    }

    /// Checks the properties that every entry of a tree must have.
    pub fn check(&self) -> Result<(), BadEntry> {
        let (kind, extras) = (self.kind(), &self.extras);
        let is_device = matches!(kind, EntryKind::CharDevice | EntryKind::BlockDevice);
        if extras.link_target.is_some() != (kind == EntryKind::Symlink) {
            return Err(BadEntry::LinkTarget);
        }
        if extras.device.is_some() != is_device {
            return Err(BadEntry::Device);
        }
        if extras.hardlink.is_some() && kind == EntryKind::Directory {
            return Err(BadEntry::Hardlink);
        }
        let names = extras.xattrs.iter().map(|(name, _)| name);
        if !names.clone().zip(names.skip(1)).all(|(a, b)| a < b) || extras.xattrs.iter().any(|x| x.0.is_empty()) {
            return Err(BadEntry::Xattrs);
        }
        match kind {
            EntryKind::File => self.check_file(),
            _ if self.size == 0 && self.content == Content::None && extras.holes.is_empty() => Ok(()),
            _ => Err(BadEntry::NotAFile),
        }
    }

    fn check_file(&self) -> Result<(), BadEntry> {
        let mut end = 0;
        for hole in &self.extras.holes {
            if hole.start < end || hole.is_empty() || hole.end > self.size {
                return Err(BadEntry::Holes);
            }
            end = hole.end;
        }
        let bytes = self.content_bytes();
        let adds_up = match &self.content {
            Content::None => bytes == 0,
            Content::Inline(content) => bytes > 0 && bytes == content.bytes().len() as u64,
            Content::Chunks(pieces) => {
                if pieces.is_empty() || pieces.len() > LIST_AFTER || !pieces.iter().all(Piece::is_sound) {
                    return Err(BadEntry::Pieces);
                }
                bytes == pieces.iter().map(|piece| u64::from(piece.length)).sum::<u64>()
            }
            Content::List { height, .. } => {
                if !(1..HEIGHT).contains(height) {
                    return Err(BadEntry::ListHeight(*height));
                }
                bytes > 0
            }
        };
        if adds_up { Ok(()) } else { Err(BadEntry::Size) }
    }
}

impl Mode {
    /// A mode of this type and of the lower twelve bits of `permissions`.
    pub fn new(kind: EntryKind, permissions: u16) -> Self {
        Self { kind, permissions: permissions & 0o7777 }
    }

    /// Reads `st_mode`; none for a type that trees do not hold.
    pub fn from_bits(bits: u32) -> Option<Self> {
        let kinds = [
            EntryKind::File,
            EntryKind::Directory,
            EntryKind::Symlink,
            EntryKind::Fifo,
            EntryKind::CharDevice,
            EntryKind::BlockDevice,
            EntryKind::Socket,
        ];
        let kind = kinds.into_iter().find(|&kind| kind as u32 == bits & !0o7777)?;
        Some(Self::new(kind, bits as u16))
    }

    /// `st_mode`, with the type bits.
    pub fn bits(self) -> u32 {
        self.kind as u32 | u32::from(self.permissions)
    }

    /// The type.
    pub fn kind(self) -> EntryKind {
        self.kind
    }

    /// The permissions: the lower twelve bits.
    pub fn permissions(self) -> u16 {
        self.permissions
    }
}

impl From<Vec<u8>> for Inline {
    /// Takes a file's bytes without its holes.
    fn from(content: Vec<u8>) -> Self {
        Self(content)
    }
}

impl Inline {
    /// The file's bytes without its holes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Piece {
    /// Whether the length is one that a chunk may have.
    pub(super) fn is_sound(&self) -> bool {
        (1..=CHUNK_BYTES).contains(&self.length)
    }
}

impl Extras {
    /// Whether no property is set.
    pub fn is_empty(&self) -> bool {
        self.link_target.is_none()
            && self.hardlink.is_none()
            && self.device.is_none()
            && self.xattrs.is_empty()
            && self.holes.is_empty()
            && self.later.count() == 0
    }
}
