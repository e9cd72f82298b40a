//! Page: a node of the tree. Its id covers height, references and plaintext.

use serde::Serialize;

use super::entry::{BadEntry, Entry, Piece};
use crate::id::ChunkId;
use crate::limits::PAGE_ITEMS;
use crate::path::TreePath;
use crate::wire::DecodeError;

/// A page as stored: its part in the clear, and its sealed part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The digest of height, references and plaintext.
    pub id: ChunkId,
    /// One more than the greatest height of its references; chunks have height 0.
    pub height: u8,
    /// The chunks and pages it refers to, each once.
    pub references: Vec<ChunkId>,
    /// The sealed part; refers to `references` by position.
    pub plaintext: Vec<u8>,
    /// The page that this one replaces: a hint. Builders leave it empty.
    pub replaces: Option<ChunkId>,
}

/// The content of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageContent {
    /// Entries of a snapshot, in path order.
    Entries(Vec<Entry>),
    /// Links to pages of entries or to other directories, in path order.
    Directory(Vec<Child>),
    /// Pieces of a large file.
    List(Vec<Piece>),
    /// Links to lists of pieces or to other lists of lists.
    Lists(Vec<ListChild>),
}

/// A directory's link to a page below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Child {
    /// The last path in the page and below it.
    pub last_path: TreePath,
    /// The page.
    pub id: ChunkId,
    /// The number of entries below.
    pub entries: u64,
    /// The total size of the files below; saturates at the largest number.
    pub bytes: u64,
}

/// A list's link to a page below it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListChild {
    /// The page.
    pub id: ChunkId,
    /// The total length of the pieces below.
    pub bytes: u64,
}

/// Why bytes are not a page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum PageError {
    /// The id is not that of the bytes: damage or forgery.
    #[error("page {id} is not what its id says")]
    Id { id: ChunkId },
    /// More bytes or references than allowed.
    #[error("a page of {bytes} bytes and {references} references exceeds the limits")]
    Large { bytes: usize, references: usize },
    /// More items than allowed.
    #[error("a page of {0} items exceeds the limit of {PAGE_ITEMS}")]
    Items(u64),
    /// The plaintext's head is malformed, or the columns do not fill the plaintext.
    #[error("a page's head is malformed")]
    Head(#[source] DecodeError),
    /// A version that this program does not know.
    #[error("a page has version {0}, this program knows version {VERSION}")]
    Version(u8),
    /// A kind that this program does not know.
    #[error("a page of unknown kind {0}")]
    Kind(u8),
    /// A column is malformed.
    #[error("column {column} of a page is malformed")]
    Column { column: u8, source: DecodeError },
    /// An entry is inconsistent.
    #[error("entry {path:?} is unsound")]
    Entry { path: TreePath, source: BadEntry },
    /// The page has references that it does not use, which would keep data alive.
    #[error("a page uses {used} of its {given} references")]
    UnusedReferences { used: usize, given: usize },
    /// The height is not that of the page's content.
    #[error("a page's height {0} does not fit what it holds")]
    Height(u8),
}

/// The kind of a page: the second byte of its plaintext.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Entries = 0,
    Directory = 1,
    List = 2,
    Lists = 3,
}

impl Kind {
    pub(super) fn read(byte: u8) -> Result<Self, PageError> {
        let kinds = [Kind::Entries, Kind::Directory, Kind::List, Kind::Lists];
        kinds.get(usize::from(byte)).copied().ok_or(PageError::Kind(byte))
    }
}

/// The version of a page's plaintext: its first byte.
pub(super) const VERSION: u8 = 1;
