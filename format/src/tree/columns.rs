//! Columns: the layout of a page's plaintext, for every kind of page. Each column holds one property of all items.

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry as Slot};
use std::hash::BuildHasherDefault;

use super::page::{Kind, PageError, VERSION};
use crate::id::ChunkId;
use crate::limits::{PAGE_PATH_BYTES, PATH_BYTES};
use crate::path::TreePath;
use crate::wire::DecodeError;
use crate::wire::cursor::Cursor;
use crate::wire::varint;

/// The most bytes of a plaintext apart from its items.
pub(super) const HEAD_ROOM: usize = 128;

pub(super) fn join(kind: Kind, count: u64, columns: &[Vec<u8>]) -> Vec<u8> {
    let bytes: usize = columns.iter().map(Vec::len).sum();
    let mut plaintext = Vec::with_capacity(HEAD_ROOM + bytes);
    plaintext.extend_from_slice(&[VERSION, kind as u8]);
    varint::put(&mut plaintext, count);
    for column in columns {
        varint::put(&mut plaintext, column.len() as u64);
        plaintext.extend_from_slice(column);
    }
    plaintext
}

/// Splits a plaintext into columns. No bytes may follow them.
pub(super) fn split<'a, const N: usize>(mut rest: Cursor<'a>) -> Result<[Column<'a>; N], PageError> {
    let mut columns = core::array::from_fn(|i| Column { number: i as u8, cursor: Cursor::new(&[]) });
    for column in &mut columns {
        let length = varint::take(&mut rest).map_err(PageError::Head)?;
        let length = usize::try_from(length).map_err(|_| PageError::Head(rest.error("a column is too long")))?;
        column.cursor = Cursor::new(rest.take(length).map_err(PageError::Head)?);
    }
    rest.finish().map_err(PageError::Head)?;
    Ok(columns)
}

#[derive(Debug)]
pub(super) struct Column<'a> {
    number: u8,
    cursor: Cursor<'a>,
}

impl<'a> Column<'a> {
    pub(super) fn varint(&mut self) -> Result<u64, PageError> {
        let taken = varint::take(&mut self.cursor);
        taken.map_err(|source| self.wrap(source))
    }

    pub(super) fn signed(&mut self) -> Result<i64, PageError> {
        let taken = varint::take_signed(&mut self.cursor);
        taken.map_err(|source| self.wrap(source))
    }

    /// Reads a varint that fits a narrower type.
    pub(super) fn narrow<T: TryFrom<u64>>(&mut self) -> Result<T, PageError> {
        let before = self.cursor.clone();
        T::try_from(self.varint()?).map_err(|_| self.wrap(before.error("a number is too large")))
    }

    pub(super) fn u8(&mut self) -> Result<u8, PageError> {
        let taken = self.cursor.u8();
        taken.map_err(|source| self.wrap(source))
    }

    pub(super) fn u32(&mut self) -> Result<u32, PageError> {
        let taken = self.cursor.u32();
        taken.map_err(|source| self.wrap(source))
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], PageError> {
        let taken = self.cursor.take(length);
        taken.map_err(|source| self.wrap(source))
    }

    /// Reads a length and a byte string of that length.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], PageError> {
        let length = self.narrow()?;
        self.take(length)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.cursor.remaining() == 0
    }

    pub(super) fn finish(&self) -> Result<(), PageError> {
        self.cursor.finish().map_err(|source| self.wrap(source))
    }

    pub(super) fn error(&self, what: &'static str) -> PageError {
        self.wrap(self.cursor.error(what))
    }

    pub(super) fn wrap(&self, source: DecodeError) -> PageError {
        PageError::Column { column: self.number, source }
    }
}

/// Collects a page's references, each id once, in order of first use.
#[derive(Clone, Debug, Default)]
pub(super) struct ReferenceWriter {
    ids: Vec<ChunkId>,
    positions: HashMap<ChunkId, u32, BuildHasherDefault<DefaultHasher>>,
}

impl ReferenceWriter {
    pub(super) fn put(&mut self, column: &mut Vec<u8>, id: ChunkId) {
        match self.positions.entry(id) {
            Slot::Occupied(slot) => varint::put(column, u64::from(*slot.get()) + 1),
            Slot::Vacant(slot) => {
                slot.insert(self.ids.len() as u32);
                self.ids.push(id);
                column.push(0);
            }
        }
    }

    pub(super) fn take(&mut self) -> Vec<ChunkId> {
        core::mem::take(&mut self.ids)
    }

    pub(super) fn clear(&mut self) {
        self.ids.clear();
        self.positions.clear();
    }
}

/// Resolves positions to references.
#[derive(Debug)]
pub(super) struct ReferenceReader<'a> {
    ids: &'a [ChunkId],
    used: usize,
}

impl<'a> ReferenceReader<'a> {
    pub(super) fn new(ids: &'a [ChunkId]) -> Self {
        Self { ids, used: 0 }
    }

    pub(super) fn take(&mut self, column: &mut Column<'_>) -> Result<ChunkId, PageError> {
        let code: usize = column.narrow()?;
        let position = code.checked_sub(1).unwrap_or(self.used);
        let is_next = code == 0;
        if !is_next && position >= self.used {
            return Err(column.error("a reference is used before its turn"));
        }
        let id = *self.ids.get(position).ok_or_else(|| column.error("a page uses more references than it has"))?;
        self.used += usize::from(is_next);
        Ok(id)
    }

    /// Fails unless every reference was used.
    pub(super) fn finish(self) -> Result<(), PageError> {
        let (used, given) = (self.used, self.ids.len());
        if used == given { Ok(()) } else { Err(PageError::UnusedReferences { used, given }) }
    }
}

/// Encodes ascending paths in two columns.
#[derive(Clone, Debug, Default)]
pub(super) struct PathWriter {
    last: Vec<u8>,
}

impl PathWriter {
    /// Adds a path; returns how many of its bytes are not shared with the previous path.
    pub(super) fn put(&mut self, [lengths, bytes]: [&mut Vec<u8>; 2], path: &TreePath) -> usize {
        let path = path.as_bytes();
        let shared = TreePath::shared(path, &self.last);
        let rest = &path[shared..];
        varint::put(lengths, shared as u64);
        varint::put(lengths, rest.len() as u64);
        bytes.extend_from_slice(rest);
        self.last.truncate(shared);
        self.last.extend_from_slice(rest);
        rest.len()
    }

    pub(super) fn last(&self) -> TreePath {
        TreePath::new(self.last.as_slice()).expect("these are the bytes of a path")
    }

    pub(super) fn clear(&mut self) {
        self.last.clear();
    }
}

/// Decodes the two columns of paths, which must strictly ascend.
#[derive(Debug, Default)]
pub(super) struct PathReader {
    last: Option<Vec<u8>>,
    /// The total length of the paths read.
    expanded: usize,
}

impl PathReader {
    pub(super) fn take(&mut self, [lengths, bytes]: [&mut Column<'_>; 2]) -> Result<TreePath, PageError> {
        let shared: usize = lengths.narrow()?;
        let rest = lengths.narrow()?;
        let rest = bytes.take(rest)?;
        let error = |what| Err(bytes.error(what));
        let is_first = self.last.is_none();
        let path = self.last.get_or_insert_default();
        if shared > path.len() || rest.len() > PATH_BYTES {
            return error("a path is longer than allowed or shares more than there is");
        }
        self.expanded += shared + rest.len();
        if self.expanded > PAGE_PATH_BYTES {
            return error("the paths of a page are longer in sum than allowed");
        }
        // Writers share as many bytes as possible, so the first byte not shared decides the order.
        let ascends = match (path.get(shared), rest.first()) {
            (Some(&old), Some(&new)) => TreePath::compare(&[old], &[new]).is_lt(),
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if !ascends && !is_first {
            return error("paths do not ascend");
        }
        path.truncate(shared);
        path.extend_from_slice(rest);
        TreePath::new(path.as_slice()).or_else(|_| error("a path that no tree can hold"))
    }
}
