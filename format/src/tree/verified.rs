//! Verified page: checks that bytes have the requested id, and decodes them as a page of any kind.

use serde::Serialize;

use super::page::{Kind, PageContent, PageError, VERSION};
use super::{entries, links};
use crate::id::ChunkId;
use crate::keys::domain::DomainKeys;
use crate::limits::{HEIGHT, PAGE_BYTES, PAGE_ITEMS, PAGE_REFERENCES};
use crate::wire::cursor::Cursor;
use crate::wire::varint;

/// A decoded page whose id was verified, as walks need it. May be made on any thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

fn check_limits(references: &[ChunkId], plaintext: &[u8]) -> Result<(), PageError> {
    if plaintext.len() > PAGE_BYTES || references.len() > PAGE_REFERENCES as usize {
        return Err(PageError::Large { bytes: plaintext.len(), references: references.len() });
    }
    Ok(())
}
