//! Entry: one file, directory, link or device of a snapshot, with all that POSIX knows of it.

use core::ops::Range;
use std::sync::Arc;

use crate::id::ChunkId;
use crate::limits::{CHUNK_BYTES, HEIGHT};
use crate::path::TreePath;
use crate::time::Time;
use crate::wire::cbor::Ignored;

/// A file of more pieces than this has a content list.
pub const LIST_AFTER: usize = 64;

/// One file, directory, link or device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it lies below the top directory.
    pub path: TreePath,
    /// What it is, and who may do what with it.
    pub mode: Mode,
    /// Whose it is; shared between entries.
    pub owner: Arc<Owner>,
    /// When the content changed.
    pub mtime: Time,
    /// When content or metadata changed, by the system's own clock.
    pub ctime: Time,
    /// When it was made, where the file system knows.
    pub birth: Option<Time>,
    /// Inode number.
    pub inode: u64,
    /// Bytes of a regular file, holes included; 0 for everything else.
    pub size: u64,
    /// Where a regular file's bytes are.
    pub content: Content,
    /// What only some entries have.
    pub extras: Extras,
}

/// What an entry is; the values are the type bits of `st_mode`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum EntryKind {
    Fifo = 0o010_000,
    CharDevice = 0o020_000,
    Directory = 0o040_000,
    BlockDevice = 0o060_000,
    File = 0o100_000,
    Symlink = 0o120_000,
    Socket = 0o140_000,
}

/// `st_mode`: a known type, and the twelve permission bits.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    kind: EntryKind,
    permissions: u16,
}

/// The numbers and names of an owner and a group. Names are bytes, as systems keep them, and empty if unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Owner {
    /// The user's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
    /// The user's name.
    pub user: Vec<u8>,
    /// The group's name.
    pub group: Vec<u8>,
}

/// Where a regular file's bytes are, without its holes.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Content {
    /// Nowhere: there are none.
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

/// Content that lies in the page itself. Its bytes are given out by [`crate::restore::extents`] alone, each with its place in
/// the file: no host can take them for the file and forget its holes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Inline(Vec<u8>);

/// One chunk of a file's content.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// The chunk.
    pub id: ChunkId,
    /// Its bytes.
    pub length: u32,
}

/// What only some entries have.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Extras {
    /// What a symbolic link, and nothing else, points to.
    pub link_target: Option<Vec<u8>>,
    /// The group of entries that are one file; the inode number.
    pub hardlink: Option<u64>,
    /// Major and minor number of a device, and nothing else.
    pub device: Option<(u32, u32)>,
    /// Extended attributes, ascending by name; ACLs are among them.
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    /// Ranges of a regular file that were never written, ascending.
    pub holes: Vec<Range<u64>>,
    /// What a later version says of the entry and this one may ignore. Who takes the entry over writes it again.
    pub later: Ignored,
}

/// Why an entry cannot be part of a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadEntry {
    /// Something else than a regular file has a size, content or holes.
    #[error("only a regular file can have a size, content or holes")]
    NotAFile,
    /// A symbolic link without a target, or a target of something else.
    #[error("a link target belongs to symbolic links, and they have one")]
    LinkTarget,
    /// A device without numbers, or numbers of something else.
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
    /// The bytes of content and holes do not add up to the size.
    #[error("content and holes do not add up to the file's size")]
    Size,
    /// A piece is empty or larger than a chunk can be, or there are too many of them.
    #[error("a content that is not made of 1 to {LIST_AFTER} chunks of allowed length")]
    Pieces,
    /// A content list of a height no page has.
    #[error("a content list cannot have height {0}")]
    ListHeight(u8),
}

impl Entry {
    /// What it is.
    pub fn kind(&self) -> EntryKind {
        self.mode.kind
    }

    /// Bytes of the content: the size without the holes.
    pub fn content_bytes(&self) -> u64 {
        let holes = self.extras.holes.iter().map(|hole| hole.end.saturating_sub(hole.start));
        self.size.saturating_sub(holes.fold(0, u64::saturating_add))
    }

    /// Checks what a tree promises of every entry it holds.
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
    /// A kind with the lower twelve of these bits as permissions.
    pub fn new(kind: EntryKind, permissions: u16) -> Self {
        Self { kind, permissions: permissions & 0o7777 }
    }

    /// Reads `st_mode`; none for a type that no tree holds.
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

    /// What it is.
    pub fn kind(self) -> EntryKind {
        self.kind
    }

    /// Who may do what: the lower twelve bits.
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
    /// Whether a chunk can have this length.
    pub(super) fn is_sound(&self) -> bool {
        (1..=CHUNK_BYTES).contains(&self.length)
    }
}

impl Extras {
    /// Whether there is nothing to store.
    pub fn is_empty(&self) -> bool {
        self.link_target.is_none()
            && self.hardlink.is_none()
            && self.device.is_none()
            && self.xattrs.is_empty()
            && self.holes.is_empty()
            && self.later.count() == 0
    }
}
