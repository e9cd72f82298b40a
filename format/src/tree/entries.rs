//! Pages of entries as bytes: fifteen columns, which are written and read in parallel.

use super::columns::{self, Column, PathReader, PathWriter, ReferenceReader, ReferenceWriter};
use super::entry::{Content, Entry, EntryKind, LIST_AFTER, Mode, Piece};
use super::extras::{ExtrasReader, ExtrasWriter};
use super::level::{Naming, PageWriter, REFERENCE_ROOM, Room};
use super::owners::{OwnersReader, OwnersWriter};
use super::page::{Child, Kind, Page, PageError};
use super::times::{Times, TimesReader, TimesWriter};
use crate::id::ChunkId;
use crate::wire::cursor::Cursor;
use crate::wire::varint;

#[derive(Clone, Debug, Default)]
pub(super) struct EntriesWriter {
    count: u64,
    logical_bytes: u64,
    last_inode: u64,
    references: ReferenceWriter,
    paths: PathWriter,
    modes: Vec<u8>,
    owners: OwnersWriter,
    times: TimesWriter,
    inodes: Vec<u8>,
    sizes: Vec<u8>,
    contents: Vec<u8>,
    inline: Vec<u8>,
    extras: ExtrasWriter,
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
        let path = self.paths.put(&entry.path);
        varint::put(&mut self.modes, u64::from(entry.mode.bits()));
        self.owners.put(&entry.owner);
        self.times.put(Times { ctime: entry.ctime, mtime: entry.mtime, birth: entry.birth });
        varint::put_signed(&mut self.inodes, entry.inode.wrapping_sub(self.last_inode) as i64);
        self.last_inode = entry.inode;
        let content = if entry.kind() == EntryKind::File { self.put_content(entry) } else { 0 };
        let extras = self.extras.put(&entry.extras);
        self.count += 1;
        self.logical_bytes = self.logical_bytes.saturating_add(entry.size);
        path + content + extras + ITEM_WEIGHT
    }

    fn close(&mut self, naming: Naming<'_>) -> (Page, Child) {
        let [lengths, bytes] = self.paths.columns();
        let [owners, owner_table] = self.owners.columns();
        let [ctimes, mtime_codes, mtimes, birth_codes, births] = self.times.columns();
        let columns = [
            lengths,
            bytes,
            &self.modes,
            owners,
            owner_table,
            ctimes,
            mtime_codes,
            mtimes,
            birth_codes,
            births,
            &self.inodes,
            &self.sizes,
            &self.contents,
            &self.inline,
            self.extras.column(),
        ];
        let plaintext = columns::join(Kind::Entries, self.count, &columns);
        let page = naming.page(self.references.take(), plaintext);
        let last_path = self.paths.last();
        let child = Child { last_path, id: page.id, entries: self.count, bytes: self.logical_bytes };
        self.clear();
        (page, child)
    }
}

impl EntriesWriter {
    /// Starts the next page in the memory of the last one: to grow fifteen columns anew takes a tenth of a page's time.
    fn clear(&mut self) {
        // Naming every field makes the compiler report one that is forgotten here.
        let Self {
            count,
            logical_bytes,
            last_inode,
            references,
            paths,
            modes,
            owners,
            times,
            inodes,
            sizes,
            contents,
            inline,
            extras,
        } = self;
        (*count, *logical_bytes, *last_inode) = (0, 0, 0);
        references.clear();
        paths.clear();
        owners.clear();
        times.clear();
        extras.clear();
        [modes, inodes, sizes, contents, inline].into_iter().for_each(Vec::clear);
    }

    fn put_content(&mut self, entry: &Entry) -> usize {
        varint::put(&mut self.sizes, entry.size);
        let out = &mut self.contents;
        match &entry.content {
            Content::None => {
                out.push(0);
                0
            }
            Content::Inline(content) => {
                out.push(1);
                self.inline.extend_from_slice(content.bytes());
                content.bytes().len()
            }
            Content::Chunks(pieces) => {
                out.push(2);
                varint::put(out, pieces.len() as u64);
                for piece in pieces {
                    self.references.put(out, piece.id);
                    varint::put(out, u64::from(piece.length));
                }
                pieces.len() * ChunkId::LEN
            }
            Content::List { root, height } => {
                out.push(3);
                self.references.put(out, *root);
                out.push(*height);
                ChunkId::LEN
            }
        }
    }
}

pub(super) fn decode(
    height: u8,
    references: &[ChunkId],
    count: u64,
    body: Cursor<'_>,
) -> Result<Vec<Entry>, PageError> {
    let [
        path_lengths,
        path_bytes,
        modes,
        owners,
        owner_table,
        ctimes,
        mtime_codes,
        mtimes,
        birth_codes,
        births,
        inodes,
        sizes,
        contents,
        inline,
        extras,
    ] = columns::split(body)?;
    let mut reader = EntriesReader {
        last_inode: 0,
        references: ReferenceReader::new(references),
        paths: PathReader::new(path_lengths, path_bytes),
        modes,
        owners: OwnersReader::new([owners, owner_table]),
        times: TimesReader::new([ctimes, mtime_codes, mtimes, birth_codes, births]),
        inodes,
        sizes,
        contents,
        inline,
        extras: ExtrasReader::new(extras)?,
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
    references: ReferenceReader<'a>,
    paths: PathReader<'a>,
    modes: Column<'a>,
    owners: OwnersReader<'a>,
    times: TimesReader<'a>,
    inodes: Column<'a>,
    sizes: Column<'a>,
    contents: Column<'a>,
    inline: Column<'a>,
    extras: ExtrasReader<'a>,
    height: u8,
}

impl EntriesReader<'_> {
    fn take(&mut self) -> Result<Entry, PageError> {
        let path = self.paths.take()?;
        let mode = Mode::from_bits(self.modes.narrow()?).ok_or_else(|| self.modes.error("a mode of unknown type"))?;
        let owner = self.owners.take()?;
        let Times { ctime, mtime, birth } = self.times.take()?;
        let inode = self.last_inode.wrapping_add(self.inodes.signed()? as u64);
        self.last_inode = inode;
        let extras = self.extras.take()?;
        let mut entry =
            Entry { path, mode, owner, mtime, ctime, birth, inode, size: 0, content: Content::None, extras };
        if entry.kind() == EntryKind::File {
            entry.size = self.sizes.varint()?;
            entry.content = self.take_content(entry.content_bytes())?;
        }
        match entry.check() {
            Ok(()) => Ok(entry),
            Err(source) => Err(PageError::Entry { path: entry.path, source }),
        }
    }

    fn take_content(&mut self, bytes: u64) -> Result<Content, PageError> {
        let code = self.contents.varint()?;
        Ok(match code {
            0 => Content::None,
            1 => {
                let length = usize::try_from(bytes).map_err(|_| self.inline.error("an inline content is too long"))?;
                Content::Inline(self.inline.take(length)?.to_vec().into())
            }
            2 => {
                let count: usize = self.contents.narrow()?;
                if count > LIST_AFTER {
                    return Err(self.contents.error("a content of more chunks than a page may list"));
                }
                let mut pieces = Vec::with_capacity(count);
                for _ in 0..count {
                    let id = self.references.take(&mut self.contents)?;
                    pieces.push(Piece { id, length: self.contents.narrow()? });
                }
                Content::Chunks(pieces)
            }
            3 => {
                let root = self.references.take(&mut self.contents)?;
                let height = self.contents.u8()?;
                self.height = self.height.max(height.saturating_add(1));
                Content::List { root, height }
            }
            _ => return Err(self.contents.error("an unknown code of a content")),
        })
    }

    fn finish(self) -> Result<(), PageError> {
        self.paths.finish()?;
        self.owners.finish()?;
        self.times.finish()?;
        let columns = [self.modes, self.inodes, self.sizes, self.contents, self.inline];
        columns.iter().try_for_each(Column::finish)?;
        self.extras.finish()?;
        self.references.finish()
    }
}

/// More bytes than the numbers of an entry and the framing of its extras can take in all columns together.
const NUMBERS_ROOM: usize = 192;

/// An entry's or link's weight in addition to its bytes and references.
pub(super) const ITEM_WEIGHT: usize = 16;
