//! Pages without entries as bytes: directories of pages, content lists, and lists of lists.

use super::columns::{self, Column, PathReader, PathWriter, ReferenceReader, ReferenceWriter};
use super::entries::ITEM_WEIGHT;
use super::entry::Piece;
use super::level::{Naming, PageWriter, REFERENCE_ROOM, Room};
use super::page::{Child, Kind, ListChild, Page, PageError};
use crate::id::ChunkId;
use crate::wire::cursor::Cursor;
use crate::wire::varint;

#[derive(Clone, Debug, Default)]
pub(super) struct DirectoryWriter {
    count: u64,
    entries_below: u64,
    bytes_below: u64,
    references: ReferenceWriter,
    paths: PathWriter,
    columns: [Vec<u8>; 5],
}

impl PageWriter for DirectoryWriter {
    type Item = Child;
    type Link = Child;

    fn key(child: &Child) -> &[u8] {
        child.last_path.as_bytes()
    }

    fn room(child: &Child) -> Room {
        let paths = child.last_path.as_bytes().len();
        Room { bytes: paths + REFERENCE_ROOM + 32, paths }
    }

    fn push(&mut self, child: &Child) -> usize {
        let [lengths, paths, pages, entries, bytes] = &mut self.columns;
        let path = self.paths.put([lengths, paths], &child.last_path);
        self.references.put(pages, child.id);
        varint::put(entries, child.entries);
        varint::put(bytes, child.bytes);
        self.count += 1;
        self.entries_below += child.entries;
        self.bytes_below = self.bytes_below.saturating_add(child.bytes);
        path + ChunkId::LEN + ITEM_WEIGHT
    }

    fn close(&mut self, naming: Naming<'_>) -> (Page, Child) {
        let mut full = core::mem::take(self);
        let plaintext = columns::join(Kind::Directory, full.count, &full.columns);
        let page = naming.page(full.references.take(), plaintext);
        let last_path = full.paths.last();
        let child = Child { last_path, id: page.id, entries: full.entries_below, bytes: full.bytes_below };
        (page, child)
    }
}

/// Decodes a directory, after the page's head.
pub(super) fn decode_directory(references: &[ChunkId], count: u64, body: Cursor<'_>) -> Result<Vec<Child>, PageError> {
    let mut references = ReferenceReader::new(references);
    let mut columns = columns::split(body)?;
    let [lengths, bytes, pages, entries_below, bytes_below] = &mut columns;
    let mut paths = PathReader::default();
    let mut children = Vec::with_capacity(count.min(4096) as usize);
    let mut sum = 0u64;
    for _ in 0..count {
        let last_path = paths.take([lengths, bytes])?;
        let id = references.take(pages)?;
        let entries = entries_below.varint()?;
        sum = sum
            .checked_add(entries)
            .filter(|_| entries > 0)
            .ok_or_else(|| entries_below.error("a number of entries is zero or exceeds 64 bits in sum"))?;
        children.push(Child { last_path, id, entries, bytes: bytes_below.varint()? });
    }
    if children.is_empty() {
        return Err(pages.error("a directory of no pages"));
    }
    columns.iter().try_for_each(Column::finish)?;
    references.finish()?;
    Ok(children)
}

#[derive(Clone, Debug, Default)]
pub(super) struct PiecesWriter {
    lists: ListsWriter,
}

impl PageWriter for PiecesWriter {
    type Item = Piece;
    type Link = ListChild;

    fn key(piece: &Piece) -> &[u8] {
        piece.id.as_bytes()
    }

    fn room(_: &Piece) -> Room {
        Room { bytes: REFERENCE_ROOM, paths: 0 }
    }

    fn push(&mut self, piece: &Piece) -> usize {
        self.lists.push(&ListChild { id: piece.id, bytes: u64::from(piece.length) })
    }

    fn close(&mut self, naming: Naming<'_>) -> (Page, ListChild) {
        self.lists.close_as(Kind::List, naming)
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct ListsWriter {
    count: u64,
    bytes_below: u64,
    references: ReferenceWriter,
    columns: [Vec<u8>; 2],
}

impl PageWriter for ListsWriter {
    type Item = ListChild;
    type Link = ListChild;

    fn key(child: &ListChild) -> &[u8] {
        child.id.as_bytes()
    }

    fn room(_: &ListChild) -> Room {
        Room { bytes: REFERENCE_ROOM, paths: 0 }
    }

    fn push(&mut self, child: &ListChild) -> usize {
        let [ids, bytes] = &mut self.columns;
        self.references.put(ids, child.id);
        varint::put(bytes, child.bytes);
        self.count += 1;
        self.bytes_below += child.bytes;
        ChunkId::LEN + ITEM_WEIGHT
    }

    fn close(&mut self, naming: Naming<'_>) -> (Page, ListChild) {
        self.close_as(Kind::Lists, naming)
    }
}

impl ListsWriter {
    fn close_as(&mut self, kind: Kind, naming: Naming<'_>) -> (Page, ListChild) {
        let mut full = core::mem::take(self);
        let plaintext = columns::join(kind, full.count, &full.columns);
        let page = naming.page(full.references.take(), plaintext);
        let child = ListChild { id: page.id, bytes: full.bytes_below };
        (page, child)
    }
}

/// Decodes a content list, after the page's head.
pub(super) fn decode_list(references: &[ChunkId], count: u64, body: Cursor<'_>) -> Result<Vec<Piece>, PageError> {
    decode_pairs(references, count, body, |id, bytes| {
        let piece = Piece { id, length: u32::try_from(bytes).ok()? };
        piece.is_sound().then_some(piece)
    })
}

/// Decodes a list of lists, after the page's head.
pub(super) fn decode_lists(references: &[ChunkId], count: u64, body: Cursor<'_>) -> Result<Vec<ListChild>, PageError> {
    let mut sum = 0u64;
    decode_pairs(references, count, body, |id, bytes| {
        sum = sum.checked_add(bytes).filter(|_| bytes > 0)?;
        Some(ListChild { id, bytes })
    })
}

fn decode_pairs<T>(
    references: &[ChunkId],
    count: u64,
    body: Cursor<'_>,
    mut item: impl FnMut(ChunkId, u64) -> Option<T>,
) -> Result<Vec<T>, PageError> {
    let mut references = ReferenceReader::new(references);
    let [mut ids, mut lengths] = columns::split(body)?;
    let mut items = Vec::with_capacity(count.min(4096) as usize);
    for _ in 0..count {
        let id = references.take(&mut ids)?;
        let bytes = lengths.varint()?;
        items.push(item(id, bytes).ok_or_else(|| lengths.error("a length is zero or too large"))?);
    }
    ids.finish()?;
    lengths.finish()?;
    references.finish()?;
    if items.is_empty() { Err(ids.error("a list of nothing")) } else { Ok(items) }
}
