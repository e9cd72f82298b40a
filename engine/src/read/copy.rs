//! Copy: one copy of a chunk or page, at the place that the index gives.

use copal_format::block::OpenBlock;
use copal_format::id::ChunkId;
use copal_format::index::Location;
use copal_format::keys::domain::DomainKeys;
use copal_format::pack::{BlockRow, PackTable, PageView};
use copal_format::tree::{PageError, VerifiedPage};

/// Why a copy cannot be used. Another copy may be good, because index and tables are only hints by their writers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyFault {
    /// The index names a block that the pack's table does not have.
    #[error("its table knows no block where the index says")]
    NoBlock,
    /// The table's row of the block names a session that the pack does not have.
    #[error("its table knows no such session")]
    NoSession,
    /// The block has no chunk of this number.
    #[error("its block holds fewer chunks")]
    FewerChunks,
    /// The chunk has another id.
    #[error("its bytes do not have its id")]
    OtherBytes,
    /// The block has no page of this number.
    #[error("its block holds fewer pages")]
    FewerPages,
    /// The pack's table has no row of the page.
    #[error("its table knows no such page")]
    NoPage,
    /// The page is malformed, or has another id.
    #[error(transparent)]
    Page(#[from] PageError),
}

/// The row of the block at an offset of a pack, and the record of the session that sealed it.
pub fn sealed_by(table: &PackTable, offset: u32) -> Result<(&BlockRow, &[u8]), CopyFault> {
    let at = table.blocks.binary_search_by_key(&offset, |row| row.offset);
    let row = &table.blocks[at.map_err(|_| CopyFault::NoBlock)?];
    let record = table.sessions.get(usize::from(row.session)).ok_or(CopyFault::NoSession)?;
    Ok((row, record))
}

/// A chunk of a block; its bytes have the id.
pub fn chunk<'a>(keys: &DomainKeys, id: &ChunkId, ordinal: u16, block: &'a OpenBlock) -> Result<&'a [u8], CopyFault> {
    let bytes = block.chunk(ordinal.into()).ok_or(CopyFault::FewerChunks)?;
    if keys.chunk_id(bytes) == *id { Ok(bytes) } else { Err(CopyFault::OtherBytes) }
}

/// The row of a page in a block.
pub fn page_row(table: &PackTable, offset: u32, ordinal: u16) -> Result<PageView<'_>, CopyFault> {
    let (row, _) = sealed_by(table, offset)?;
    table.page(row.entries.start as usize + usize::from(ordinal)).ok_or(CopyFault::NoPage)
}

/// The page at a location; its height, references and plaintext have the id.
pub fn page(
    keys: &DomainKeys,
    id: &ChunkId,
    location: &Location,
    table: &PackTable,
    block: &OpenBlock,
) -> Result<VerifiedPage, CopyFault> {
    let plaintext = block.chunk(location.ordinal.into()).ok_or(CopyFault::FewerPages)?;
    let row = page_row(table, location.offset, location.ordinal)?;
    Ok(VerifiedPage::open(keys, *id, row.height, row.references, plaintext)?)
}
