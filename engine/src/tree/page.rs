//! Page: a node of the tree. Its id covers height, references and plaintext.

use super::columns::VERSION;
use super::entry::{BadEntry, Entry, Piece};
use super::{entries, links};
use crate::id::ChunkId;
use crate::keys::domain::DomainKeys;
use crate::limits::{HEIGHT, PAGE_BYTES, PAGE_ITEMS, PAGE_REFERENCES};
use crate::path::TreePath;
use crate::wire::DecodeError;
use crate::wire::cursor::Cursor;
use crate::wire::varint;

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
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ListChild {
    /// The page.
    pub id: ChunkId,
    /// The total length of the pieces below.
    pub bytes: u64,
}

/// Why bytes are not a page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// The id is not that of the bytes: damage or forgery.
    #[error("page {id} is not what its id says")]
    Id {
        /// The id asked for.
        id: ChunkId,
    },
    /// More bytes or references than allowed.
    #[error("a page of {bytes} bytes and {references} references exceeds the limits")]
    Large {
        /// The length of the plaintext.
        bytes: usize,
        /// The number of references.
        references: usize,
    },
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
    Column {
        /// The column's number.
        column: u8,
        /// What is wrong, and where in the column.
        #[source]
        source: DecodeError,
    },
    /// An entry is inconsistent.
    #[error("entry {path:?} is unsound")]
    Entry {
        /// The entry's path.
        path: TreePath,
        /// What is wrong with it.
        #[source]
        source: BadEntry,
    },
    /// The page has references that it does not use, which would keep data alive.
    #[error("a page uses {used} of its {given} references")]
    UnusedReferences {
        /// The number of references used.
        used: usize,
        /// The number of references of the page.
        given: usize,
    },
    /// The height is not that of the page's content.
    #[error("a page's height {0} does not fit what it holds")]
    Height(u8),
}

/// A decoded page whose id was verified, as walks need it. May be made on any thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedPage {
    id: ChunkId,
    height: u8,
    content: PageContent,
}

impl VerifiedPage {
    /// Verifies and decodes the bytes read for an id.
    pub fn open(
        keys: &DomainKeys,
        id: ChunkId,
        height: u8,
        references: &[ChunkId],
        plaintext: &[u8],
    ) -> Result<Self, PageError> {
        verify(keys, id, height, references, plaintext)?;
        Ok(Self { id, height, content: decode(height, references, plaintext)? })
    }

    /// The page's id.
    pub fn id(&self) -> ChunkId {
        self.id
    }

    /// The page's height.
    pub fn height(&self) -> u8 {
        self.height
    }

    /// The page's content.
    pub fn content(&self) -> &PageContent {
        &self.content
    }

    /// Moves the page's content out.
    pub fn into_content(self) -> PageContent {
        self.content
    }
}

/// Checks that the bytes have this id.
pub fn verify(
    keys: &DomainKeys,
    id: ChunkId,
    height: u8,
    references: &[ChunkId],
    plaintext: &[u8],
) -> Result<(), PageError> {
    check_limits(references, plaintext)?;
    if keys.page_id(height, references, plaintext) == id { Ok(()) } else { Err(PageError::Id { id }) }
}

/// Decodes a page's content, without verifying its id.
pub fn decode(height: u8, references: &[ChunkId], plaintext: &[u8]) -> Result<PageContent, PageError> {
    check_limits(references, plaintext)?;
    let mut cursor = Cursor::new(plaintext);
    let version = cursor.u8().map_err(PageError::Head)?;
    if version != VERSION {
        return Err(PageError::Version(version));
    }
    let kind = Kind::read(cursor.u8().map_err(PageError::Head)?)?;
    let fits = match kind {
        Kind::Entries => (1..=HEIGHT).contains(&height),
        Kind::Directory | Kind::Lists => (2..=HEIGHT).contains(&height),
        Kind::List => height == 1,
    };
    if !fits {
        return Err(PageError::Height(height));
    }
    let count = varint::take(&mut cursor).map_err(PageError::Head)?;
    if count > PAGE_ITEMS {
        return Err(PageError::Items(count));
    }
    match kind {
        Kind::Entries => entries::decode(height, references, count, cursor).map(PageContent::Entries),
        Kind::Directory => links::decode_directory(references, count, cursor).map(PageContent::Directory),
        Kind::List => links::decode_list(references, count, cursor).map(PageContent::List),
        Kind::Lists => links::decode_lists(references, count, cursor).map(PageContent::Lists),
    }
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
    fn read(byte: u8) -> Result<Self, PageError> {
        let kinds = [Kind::Entries, Kind::Directory, Kind::List, Kind::Lists];
        kinds.get(usize::from(byte)).copied().ok_or(PageError::Kind(byte))
    }
}

fn check_limits(references: &[ChunkId], plaintext: &[u8]) -> Result<(), PageError> {
    if plaintext.len() > PAGE_BYTES || references.len() > PAGE_REFERENCES as usize {
        return Err(PageError::Large { bytes: plaintext.len(), references: references.len() });
    }
    Ok(())
}
