//! Content: reads a range of a file, with zeros for its holes.

use std::ops::Range;
use std::sync::Arc;

use copal_format::tree::{Content, Entry, Extents, ListChild, PageContent, Piece};

use super::domain::Domain;
use super::page::{Claim, TreePage};
use crate::reader::ReadError;

/// Why a range of a file cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ContentError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("its content is not as long as it should be")]
    Length,
}

/// Up to `length` bytes of a file from an offset; fewer only at its end.
pub(super) fn read(domain: &Arc<Domain>, entry: &Entry, offset: u64, length: u32) -> Result<Vec<u8>, ContentError> {
    let end = offset.saturating_add(length.into()).min(entry.size);
    let mut range = FileRange { range: offset..end, bytes: vec![0; end.saturating_sub(offset) as usize] };
    if range.bytes.is_empty() {
        return Ok(range.bytes);
    }
    let extents = Extents::of(entry);
    let wanted = extents.content_before(offset)..extents.content_before(end);
    match &entry.content {
        Content::None => {}
        Content::Inline(content) => range.put(extents.inline(content)),
        Content::Chunks(pieces) => {
            read_pieces(domain, pieces, 0, &wanted, &extents, &mut range)?;
        }
        Content::List { root, height } => {
            let whole = ListChild { id: *root, bytes: entry.content_bytes() };
            let mut at = wanted.start;
            while at < wanted.end {
                let (page, start) = page_with(domain, whole, *height, at)?;
                let PageContent::List(pieces) = &page.content else { return Err(ContentError::Length) };
                let reached = read_pieces(domain, pieces, start, &wanted, &extents, &mut range)?;
                if reached <= at {
                    return Err(ContentError::Length);
                }
                at = reached;
            }
        }
    }
    Ok(range.bytes)
}

/// The page with the piece at an offset of the content, and the offset of its first piece.
fn page_with(
    domain: &Domain,
    mut child: ListChild,
    mut height: u8,
    offset: u64,
) -> Result<(Arc<TreePage>, u64), ContentError> {
    let mut start = 0;
    loop {
        let page = domain.page(&child.id, &Claim::List { child, height })?;
        let PageContent::Lists(children) = &page.content else { return Ok((page, start)) };
        let at = page.item_with(offset - start);
        start += page.before(at);
        child = *children.get(at).ok_or(ContentError::Length)?;
        height = height.checked_sub(1).ok_or(ContentError::Length)?;
    }
}

/// Reads the pieces that overlap the wanted part of the content; returns where it stopped.
fn read_pieces(
    domain: &Arc<Domain>,
    pieces: &[Piece],
    mut start: u64,
    wanted: &Range<u64>,
    extents: &Extents,
    range: &mut FileRange,
) -> Result<u64, ContentError> {
    for piece in pieces {
        let end = start + u64::from(piece.length);
        if end > wanted.start {
            if start >= wanted.end {
                break;
            }
            let is_whole = domain.chunk(&piece.id, |bytes| {
                range.put(extents.parts(start, bytes));
                bytes.len() == piece.length as usize
            })?;
            if !is_whole {
                return Err(ContentError::Length);
            }
        }
        start = end;
    }
    Ok(start)
}

/// A range of a file, filled part by part.
struct FileRange {
    range: Range<u64>,
    bytes: Vec<u8>,
}

impl FileRange {
    fn put<'b>(&mut self, parts: impl Iterator<Item = (u64, &'b [u8])>) {
        for (offset, part) in parts {
            let (start, end) = (offset.max(self.range.start), (offset + part.len() as u64).min(self.range.end));
            if start < end {
                let into = (start - self.range.start) as usize..(end - self.range.start) as usize;
                self.bytes[into].copy_from_slice(&part[(start - offset) as usize..(end - offset) as usize]);
            }
        }
    }
}
