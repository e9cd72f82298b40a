//! CBOR: writes records field by field in the deterministic encoding (RFC 8949 §4.2.1), and reads no other form.
//!
//! Maps have ascending unsigned keys. A reader refuses unknown keys below `IGNORABLE` and may ignore others, so that
//! records can grow (`docs/format.md` §3). minicbor encodes and decodes the items. [`Reader::new`] first refuses what
//! minicbor would accept: longer heads, indefinite lengths, duplicate or unordered keys, floats, tags.

use minicbor::Decoder;

use super::DecodeError;
use crate::id::{ObjectHash, OfBytes};
use crate::limits::{CBOR_DEPTH, IGNORED_BYTES, NUMBER};
use crate::time::Time;

mod writer;

pub use writer::Writer;

/// Reads one CBOR item already checked to be in the deterministic form.
#[derive(Debug)]
pub struct Reader<'a>(Decoder<'a>);

impl<'a> Reader<'a> {
    /// Accepts exactly one item in the deterministic form, and nothing after it.
    pub fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let end = item_end(bytes, 0, 0)?;
        if end != bytes.len() {
            return Err(DecodeError::new(end, "bytes follow the record"));
        }
        Ok(Self(Decoder::new(bytes)))
    }

    /// The offset of the next item.
    pub fn offset(&self) -> usize {
        self.0.position()
    }

    /// An error at the current position.
    pub fn error(&self, what: &'static str) -> DecodeError {
        DecodeError::new(self.offset(), what)
    }

    /// Reads a record: one map, whose fields `fields` reads.
    pub fn record<T>(
        bytes: &'a [u8],
        fields: impl FnOnce(&mut Fields<'_, 'a>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        Self::new(bytes)?.fields(fields)
    }

    /// Reads a map with `read`; other fields in it are an error, unless they may be ignored.
    pub fn fields<T>(
        &mut self,
        read: impl FnOnce(&mut Fields<'_, 'a>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let mut fields = self.map()?;
        let value = read(&mut fields)?;
        fields.end()?;
        Ok(value)
    }

    /// Reads a value with `read` and checks it. The error names the value's offset.
    pub(crate) fn checked<T>(
        &mut self,
        wrong: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
        is_valid: impl FnOnce(&T) -> bool,
    ) -> Result<T, DecodeError> {
        let error = self.error(wrong);
        let value = read(self)?;
        if is_valid(&value) { Ok(value) } else { Err(error) }
    }

    /// Reads the number of an enum's variant.
    pub(crate) fn code<T>(
        &mut self,
        unknown: &'static str,
        meaning: impl FnOnce(u64) -> Option<T>,
    ) -> Result<T, DecodeError> {
        let error = self.error(unknown);
        meaning(self.uint()?).ok_or(error)
    }

    /// Reads the head of a map; returns its fields.
    pub fn map(&mut self) -> Result<Fields<'_, 'a>, DecodeError> {
        let error = self.error("a map was expected");
        let left = self.0.map().ok().flatten().ok_or(error)?;
        Ok(Fields { reader: self, left })
    }

    /// Reads the head of an array of at most `most` items; returns their number.
    pub fn array(&mut self, most: usize) -> Result<usize, DecodeError> {
        let error = self.error("an array was expected");
        let long = self.error("an array is longer than allowed");
        let count = self.0.array().ok().flatten().ok_or(error)?;
        usize::try_from(count).ok().filter(|&n| n <= most).ok_or(long)
    }

    /// Reads the head of an array of exactly `count` items.
    pub(crate) fn tuple(&mut self, count: usize) -> Result<(), DecodeError> {
        let error = self.error("an array has the wrong number of items");
        if self.array(count)? == count { Ok(()) } else { Err(error) }
    }

    /// Reads an array of at most `most` items, each with `item`.
    pub fn list<T>(
        &mut self,
        most: usize,
        mut item: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let count = self.array(most)?;
        let mut items = Vec::with_capacity(count.min(1024));
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Reads an unsigned number of at most [`NUMBER`], so that a sum of a few such numbers cannot overflow.
    pub fn uint(&mut self) -> Result<u64, DecodeError> {
        let large = self.error("a number is beyond what records may say");
        let value = self.wide()?;
        if value <= NUMBER { Ok(value) } else { Err(large) }
    }

    /// Reads any unsigned number, such as a size or offset from a file system. The caller must check sums for overflow.
    pub fn wide(&mut self) -> Result<u64, DecodeError> {
        let error = self.error("an unsigned number was expected");
        self.0.u64().map_err(|_| error)
    }

    /// Reads an unsigned number that fits a narrower type.
    pub fn narrow<T: TryFrom<u64>>(&mut self) -> Result<T, DecodeError> {
        let error = self.error("a number is too large");
        T::try_from(self.uint()?).map_err(|_| error)
    }

    /// Reads a signed number.
    pub fn int(&mut self) -> Result<i64, DecodeError> {
        let error = self.error("a signed number was expected");
        self.0.i64().map_err(|_| error)
    }

    /// Reads a time.
    pub fn time(&mut self) -> Result<Time, DecodeError> {
        self.int().map(Time)
    }

    /// Reads a truth value.
    pub fn bool(&mut self) -> Result<bool, DecodeError> {
        let error = self.error("a truth value was expected");
        self.0.bool().map_err(|_| error)
    }

    /// Reads a byte string of at most `most` bytes.
    pub fn bytes(&mut self, most: usize) -> Result<&'a [u8], DecodeError> {
        let error = self.error("a byte string was expected");
        let long = self.error("a byte string is longer than allowed");
        let bytes = self.0.bytes().map_err(|_| error)?;
        if bytes.len() <= most { Ok(bytes) } else { Err(long) }
    }

    /// Reads a byte string of exactly N bytes.
    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let error = self.error("a byte string has the wrong length");
        self.bytes(N)?.try_into().map_err(|_| error)
    }

    /// Reads an id.
    pub fn id<T: OfBytes<N>, const N: usize>(&mut self) -> Result<T, DecodeError> {
        self.fixed().map(T::of_bytes)
    }

    /// Reads an array of at most `most` ids.
    pub fn ids<T: OfBytes<N>, const N: usize>(&mut self, most: usize) -> Result<Vec<T>, DecodeError> {
        self.list(most, Self::id)
    }

    /// Reads the number and hash of a record.
    pub fn link(&mut self) -> Result<(u64, ObjectHash), DecodeError> {
        self.tuple(2)?;
        Ok((self.uint()?, self.id()?))
    }

    /// Reads a text of at most `most` bytes.
    pub fn text(&mut self, most: usize) -> Result<&'a str, DecodeError> {
        let error = self.error("a text was expected");
        let long = self.error("a text is longer than allowed");
        let text = self.0.str().map_err(|_| error)?;
        if text.len() <= most { Ok(text) } else { Err(long) }
    }
}

/// Fields of a map that this version ignored: keys and values as read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    count: u64,
    items: Vec<u8>,
}

impl Ignored {
    /// The number of fields.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The length of their keys and values in bytes.
    pub fn length(&self) -> usize {
        self.items.len()
    }
}

/// The fields of a map, read in ascending order of their keys.
#[derive(Debug)]
pub struct Fields<'r, 'a> {
    reader: &'r mut Reader<'a>,
    left: u64,
}

impl<'a> Fields<'_, 'a> {
    /// The reader at the value of `key`, which must be the next field.
    pub fn required(&mut self, key: u64) -> Result<&mut Reader<'a>, DecodeError> {
        let error = self.reader.error("a required field is missing");
        if self.has(key)? { Ok(&mut *self.reader) } else { Err(error) }
    }

    /// The reader at the value of `key`, if that is the next field.
    pub fn optional(&mut self, key: u64) -> Result<Option<&mut Reader<'a>>, DecodeError> {
        Ok(if self.has(key)? { Some(&mut *self.reader) } else { None })
    }

    /// Ends the map. Skips remaining fields that may be ignored; fails on others.
    pub fn end(self) -> Result<(), DecodeError> {
        self.pass_over().map(|_| ())
    }

    /// Like [`Fields::end`], but returns the skipped fields, for writing the map again.
    pub fn rest(self) -> Result<Ignored, DecodeError> {
        let count = self.left;
        Ok(Ignored { count, items: self.pass_over()?.to_vec() })
    }

    fn pass_over(self) -> Result<&'a [u8], DecodeError> {
        let (bytes, start) = (self.reader.0.input(), self.reader.offset());
        let mut end = start;
        for _ in 0..self.left {
            let unknown = self.reader.error("a record has a field this version does not know and may not ignore");
            if self.reader.uint()? < IGNORABLE {
                return Err(unknown);
            }
            // The form of the whole record is already checked.
            end = item_end(bytes, self.reader.offset(), 0)?;
            self.reader.0.set_position(end);
        }
        match end - start {
            length if length > IGNORED_BYTES => {
                Err(DecodeError::new(start, "a record has too much that may be ignored"))
            }
            _ => Ok(&bytes[start..end]),
        }
    }

    fn has(&mut self, key: u64) -> Result<bool, DecodeError> {
        if self.left == 0 {
            return Ok(false);
        }
        let before = self.reader.offset();
        if self.reader.uint()? == key {
            self.left -= 1;
            return Ok(true);
        }
        self.reader.0.set_position(before);
        Ok(false)
    }
}

/// Map keys from this number on may be ignored.
pub(crate) const IGNORABLE: u64 = 64;

/// Checks the form of the item at `at`; returns its end.
fn item_end(bytes: &[u8], at: usize, depth: u32) -> Result<usize, DecodeError> {
    let error = |what| DecodeError::new(at, what);
    if depth > CBOR_DEPTH {
        return Err(error("records are nested too deeply"));
    }
    let (major, value, mut end) = head(bytes, at)?;
    match major {
        0 | 1 => Ok(end),
        2 | 3 => {
            let rest = bytes.len() - end;
            let length = usize::try_from(value).ok().filter(|&n| n <= rest);
            let length = length.ok_or(error("a string ends after the record"))?;
            let string = &bytes[end..end + length];
            if major == 3 && core::str::from_utf8(string).is_err() {
                return Err(error("a text is not UTF-8"));
            }
            Ok(end + length)
        }
        4 => {
            for _ in 0..value {
                end = item_end(bytes, end, depth + 1)?;
            }
            Ok(end)
        }
        5 => {
            let mut before: Option<&[u8]> = None;
            for _ in 0..value {
                let key_at = end;
                if !matches!(bytes.get(key_at), Some(0..=0x1f)) {
                    return Err(DecodeError::new(key_at, "a map's key is not an unsigned number"));
                }
                end = item_end(bytes, key_at, depth + 1)?;
                let key = &bytes[key_at..end];
                if before.is_some_and(|b| b >= key) {
                    return Err(DecodeError::new(key_at, "a map's keys do not ascend"));
                }
                before = Some(key);
                end = item_end(bytes, end, depth + 1)?;
            }
            Ok(end)
        }
        7 if value == 20 || value == 21 => Ok(end),
        _ => Err(error("an item of a kind that records do not use")),
    }
}

/// Parses the head of an item: its major type, its argument, and the end of the head.
fn head(bytes: &[u8], at: usize) -> Result<(u8, u64, usize), DecodeError> {
    let short = DecodeError::new(at, "the record ends within an item");
    let first = *bytes.get(at).ok_or(short.clone())?;
    let (major, low) = (first >> 5, first & 0x1f);
    let (width, least) = match low {
        0..=23 => return Ok((major, u64::from(low), at + 1)),
        24 => (1, 24),
        25 => (2, 1 << 8),
        26 => (4, 1 << 16),
        27 => (8, 1 << 32),
        _ => return Err(DecodeError::new(at, "an item of indefinite length")),
    };
    let field = bytes.get(at + 1..at + 1 + width).ok_or(short)?;
    let value = field.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
    if value < least || major == 7 {
        return Err(DecodeError::new(at, "a number is not in its shortest form"));
    }
    Ok((major, value, at + 1 + width))
}

#[cfg(test)]
mod tests;
