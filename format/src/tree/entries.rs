//! Pages of entries as bytes: fifteen columns, which are written and read in parallel.

use super::columns::{self, Column, PathReader, PathWriter, ReferenceReader, ReferenceWriter};
use super::entry::{Content, Entry, EntryKind, LIST_AFTER, Mode, Piece};
use super::extras::{ExtrasReader, ExtrasWriter};
use super::level::{Naming, PageWriter, REFERENCE_ROOM, Room};
use super::owners::{OwnersReader, OwnersWriter};
use super::page::{Child, Kind, Page, PageError};
use super::times::Times;
use crate::id::ChunkId;
use crate::wire::cursor::Cursor;
use crate::wire::varint;

#[derive(Clone, Debug, Default)]
pub(super) struct EntriesWriter {
    count: u64,
    logical_bytes: u64,
    last_inode: u64,
    last_times: Times,
    references: ReferenceWriter,
    paths: PathWriter,
    owners: OwnersWriter,
    extras: ExtrasWriter,
    columns: [Vec<u8>; 15],
}

impl PageWriter for EntriesWriter {
    type Item = Entry;
    type Link = Child;

    fn key(entry: &Entry) -> &[u8] {
        entry.path.as_bytes()
    }

    fn room(entry: &Entry) -> Room {
        let Entry { path, owner, content, extras, .. } = entry;
        let content = match content {
            Content::None | Content::List { .. } => REFERENCE_ROOM,
            Content::Inline(content) => content.bytes().len(),
            Content::Chunks(pieces) => pieces.len() * REFERENCE_ROOM,
        };
        let target = extras.link_target.as_ref().map_or(0, Vec::len);
        let xattrs: usize = extras.xattrs.iter().map(|(name, value)| name.len() + value.len() + 20).sum();
        let names = owner.user.len() + owner.group.len();
        let extras = target + xattrs + extras.holes.len() * 20 + extras.later.length();
        let paths = path.as_bytes().len();
        Room { bytes: NUMBERS_ROOM + paths + names + content + extras, paths }
    }

    fn push(&mut self, entry: &Entry) -> usize {
        let columns = &mut self.columns;
        let [lengths, bytes, modes, owners, owner_table, times @ .., inodes, sizes, contents, inline, extras] = columns;
        let path = self.paths.put([lengths, bytes], &entry.path);
        varint::put(modes, u64::from(entry.mode.bits()));
        self.owners.put([owners, owner_table], &entry.owner);
        let now = Times { ctime: entry.ctime, mtime: entry.mtime, birth: entry.birth };
        now.put(&self.last_times, times);
        self.last_times = now;
        varint::put_signed(inodes, entry.inode.wrapping_sub(self.last_inode) as i64);
        self.last_inode = entry.inode;
        let content = match entry.kind() {
            EntryKind::File => put_content(&mut self.references, [sizes, contents, inline], entry),
            _ => 0,
        };
        let extras = self.extras.put(extras, &entry.extras);
        self.count += 1;
        self.logical_bytes = self.logical_bytes.saturating_add(entry.size);
        path + content + extras + ITEM_WEIGHT
    }

    fn close(&mut self, naming: Naming<'_>) -> (Page, Child) {
        let plaintext = columns::join(Kind::Entries, self.count, &self.columns);
        let page = naming.page(self.references.take(), plaintext);
        let last_path = self.paths.last();
        let child = Child { last_path, id: page.id, entries: self.count, bytes: self.logical_bytes };
        self.clear();
        (page, child)
    }
}

impl EntriesWriter {
    /// Starts the next page in the memory of the last one: growing fifteen new columns takes a tenth of a page's time.
    fn clear(&mut self) {
        // Naming every field makes the compiler report one that is forgotten here.
        let Self { count, logical_bytes, last_inode, last_times, references, paths, owners, extras, columns } = self;
        (*count, *logical_bytes, *last_inode, *last_times) = (0, 0, 0, Times::default());
        references.clear();
        paths.clear();
        owners.clear();
        *extras = ExtrasWriter::default();
        columns.iter_mut().for_each(Vec::clear);
    }
}

fn put_content(references: &mut ReferenceWriter, [sizes, out, inline]: [&mut Vec<u8>; 3], entry: &Entry) -> usize {
    varint::put(sizes, entry.size);
    match &entry.content {
        Content::None => {
            out.push(0);
            0
        }
        Content::Inline(content) => {
            out.push(1);
            inline.extend_from_slice(content.bytes());
            content.bytes().len()
        }
        Content::Chunks(pieces) => {
            out.push(2);
            varint::put(out, pieces.len() as u64);
            for piece in pieces {
                references.put(out, piece.id);
                varint::put(out, u64::from(piece.length));
            }
            pieces.len() * ChunkId::LEN
        }
        Content::List { root, height } => {
            out.push(3);
            references.put(out, *root);
            out.push(*height);
            ChunkId::LEN
        }
    }
}

pub(super) fn decode(
    height: u8,
    references: &[ChunkId],
    count: u64,
    body: Cursor<'_>,
) -> Result<Vec<Entry>, PageError> {
    let mut columns: [Column<'_>; 15] = columns::split(body)?;
    let [.., extras] = &mut columns;
    let mut reader = EntriesReader {
        last_inode: 0,
        last_times: Times::default(),
        references: ReferenceReader::new(references),
        paths: PathReader::default(),
        owners: OwnersReader::default(),
        extras: ExtrasReader::new(extras)?,
        columns,
        height: 1,
    };
    // The count is not believed: an entry takes 256 bytes here.
    let mut entries = Vec::with_capacity(count.min(1024) as usize);
    for _ in 0..count {
        entries.push(reader.take()?);
    }
    let needed = reader.height;
    reader.finish()?;
    if needed == height { Ok(entries) } else { Err(PageError::Height(height)) }
}

#[derive(Debug)]
struct EntriesReader<'a> {
    last_inode: u64,
    last_times: Times,
    references: ReferenceReader<'a>,
    paths: PathReader,
    owners: OwnersReader,
    extras: ExtrasReader,
    columns: [Column<'a>; 15],
    height: u8,
}

impl EntriesReader<'_> {
    fn take(&mut self) -> Result<Entry, PageError> {
        let columns = &mut self.columns;
        let [lengths, bytes, modes, owners, owner_table, times @ .., inodes, sizes, contents, inline, extras] = columns;
        let path = self.paths.take([lengths, bytes])?;
        let mode = Mode::from_bits(modes.narrow()?).ok_or_else(|| modes.error("a mode of unknown type"))?;
        let owner = self.owners.take([owners, owner_table])?;
        self.last_times = Times::take(&self.last_times, times)?;
        let Times { ctime, mtime, birth } = self.last_times;
        let inode = self.last_inode.wrapping_add(inodes.signed()? as u64);
        self.last_inode = inode;
        let extras = self.extras.take(extras)?;
        let mut entry =
            Entry { path, mode, owner, mtime, ctime, birth, inode, size: 0, content: Content::None, extras };
        if entry.kind() == EntryKind::File {
            entry.size = sizes.varint()?;
            let height = &mut self.height;
            entry.content = take_content(&mut self.references, [contents, inline], entry.content_bytes(), height)?;
        }
        match entry.check() {
            Ok(()) => Ok(entry),
            Err(source) => Err(PageError::Entry { path: entry.path, source }),
        }
    }

    fn finish(self) -> Result<(), PageError> {
        let [.., extras] = &self.columns;
        self.extras.finish(extras)?;
        self.columns.iter().try_for_each(Column::finish)?;
        self.references.finish()
    }
}

/// Reads a content. Raises the page's height above that of a list.
fn take_content(
    references: &mut ReferenceReader<'_>,
    [contents, inline]: [&mut Column<'_>; 2],
    bytes: u64,
    page_height: &mut u8,
) -> Result<Content, PageError> {
    let code = contents.varint()?;
    Ok(match code {
        0 => Content::None,
        1 => {
            let length = usize::try_from(bytes).map_err(|_| inline.error("an inline content is too long"))?;
            Content::Inline(inline.take(length)?.to_vec().into())
        }
        2 => {
            let count: usize = contents.narrow()?;
            if count > LIST_AFTER {
                return Err(contents.error("a content of more chunks than a page may list"));
            }
            let mut pieces = Vec::with_capacity(count);
            for _ in 0..count {
                let id = references.take(contents)?;
                pieces.push(Piece { id, length: contents.narrow()? });
            }
            Content::Chunks(pieces)
        }
        3 => {
            let root = references.take(contents)?;
            let height = contents.u8()?;
            *page_height = (*page_height).max(height.saturating_add(1));
            Content::List { root, height }
        }
        _ => return Err(contents.error("an unknown code of a content")),
    })
}

/// More bytes than the numbers of an entry and the framing of its extras can take in all columns together.
const NUMBERS_ROOM: usize = 192;

/// An entry's or link's weight in addition to its bytes and references.
pub(super) const ITEM_WEIGHT: usize = 16;
