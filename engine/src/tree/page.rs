//! Page: a node of the tree, named by its height, its references and its plaintext.

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

/// A page as it is stored: what goes in the clear, and what is sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Names height, references and plaintext.
    pub id: ChunkId,
    /// One more than the largest height of the references; chunks have 0.
    pub height: u8,
    /// The chunks and pages it refers to, each once.
    pub references: Vec<ChunkId>,
    /// The sealed part; it names references by their position.
    pub plaintext: Vec<u8>,
    /// The page it takes the place of, a hint for ingest. Builders leave it out.
    pub replaces: Option<ChunkId>,
}

/// What a page holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageContent {
    /// Entries of a snapshot, ascending.
    Entries(Vec<Entry>),
    /// Pages of entries or of other pages, ascending.
    Directory(Vec<Child>),
    /// Pieces of a huge file.
    List(Vec<Piece>),
    /// Pages of pieces or of other such pages.
    Lists(Vec<ListChild>),
}

/// What a page says of one below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// The last path below.
    pub last_path: TreePath,
    /// The page.
    pub id: ChunkId,
    /// Entries below.
    pub entries: u64,
    /// Sizes of the files below; stays at the largest number if the sum exceeds it.
    pub bytes: u64,
}

/// What a list's page says of one below it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ListChild {
    /// The page.
    pub id: ChunkId,
    /// Bytes of all pieces below.
    pub bytes: u64,
}

/// Why bytes are not a page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// The id does not follow from what was read: damage or forgery.
    #[error("page {id} is not what its id says")]
    Id {
        /// The id asked for.
        id: ChunkId,
    },
    /// More bytes or references than the format allows.
    #[error("a page of {bytes} bytes and {references} references exceeds the limits")]
    Large {
        /// Bytes of the plaintext.
        bytes: usize,
        /// References in the clear.
        references: usize,
    },
    /// More items than the format allows.
    #[error("a page of {0} items exceeds the limit of {PAGE_ITEMS}")]
    Items(u64),
    /// The plaintext does not start as it should, or its columns do not fill it.
    #[error("a page's head is malformed")]
    Head(#[source] DecodeError),
    /// A layout this program does not know.
    #[error("a page has version {0}, this program knows version {VERSION}")]
    Version(u8),
    /// A kind this program does not know.
    #[error("a page of unknown kind {0}")]
    Kind(u8),
    /// A column does not hold what it should.
    #[error("column {column} of a page is malformed")]
    Column {
        /// Which column.
        column: u8,
        /// What is wrong, and where in the column.
        #[source]
        source: DecodeError,
    },
    /// An entry contradicts itself.
    #[error("entry {path:?} is unsound")]
    Entry {
        /// Which entry.
        path: TreePath,
        /// What is wrong with it.
        #[source]
        source: BadEntry,
    },
    /// The page keeps references alive that it does not use.
    #[error("a page uses {used} of its {given} references")]
    UnusedReferences {
        /// Used by its items.
        used: usize,
        /// Given in the clear.
        given: usize,
    },
    /// The height does not follow from what the page holds.
    #[error("a page's height {0} does not fit what it holds")]
    Height(u8),
}

/// A page whose id was recomputed and whose content was read: what walks take. May be made on any thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedPage {
    id: ChunkId,
    height: u8,
    content: PageContent,
}

impl VerifiedPage {
    /// Verifies and decodes what was read for an id.
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

    /// What it holds.
    pub fn content(&self) -> &PageContent {
        &self.content
    }

    /// What it holds, taken out.
    pub fn into_content(self) -> PageContent {
        self.content
    }
}

/// Recomputes a page's id.
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

/// Reads what a page holds.
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

/// The second byte of a plaintext.
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
