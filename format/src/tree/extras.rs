//! Extras: encodes, as CBOR in one column, the properties that only some entries have.

use super::columns::Column;
use super::entry::Extras;
use super::page::PageError;
use crate::limits::PAGE_BYTES;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};
use crate::wire::varint;

#[derive(Clone, Debug, Default)]
pub(super) struct ExtrasWriter {
    passed_over: u64,
}

impl ExtrasWriter {
    /// Adds an entry's extras; returns their weight.
    pub(super) fn put(&mut self, column: &mut Vec<u8>, extras: &Extras) -> usize {
        if extras.is_empty() {
            self.passed_over += 1;
            return 0;
        }
        varint::put(column, core::mem::take(&mut self.passed_over));
        let encoded = encode(extras);
        varint::put(column, encoded.len() as u64);
        column.extend_from_slice(&encoded);
        let xattrs: usize = extras.xattrs.iter().map(|(name, value)| name.len() + value.len()).sum();
        xattrs + extras.link_target.as_ref().map_or(0, Vec::len)
    }
}

#[derive(Debug)]
pub(super) struct ExtrasReader {
    /// The number of entries before the next one with extras; none if no more have extras.
    passing: Option<u64>,
}

impl ExtrasReader {
    pub(super) fn new(column: &mut Column<'_>) -> Result<Self, PageError> {
        Ok(Self { passing: next(column)? })
    }

    pub(super) fn take(&mut self, column: &mut Column<'_>) -> Result<Extras, PageError> {
        match &mut self.passing {
            None => Ok(Extras::default()),
            Some(0) => {
                let bytes = column.bytes()?;
                let extras = decode(bytes).map_err(|source| column.wrap(source))?;
                self.passing = next(column)?;
                Ok(extras)
            }
            Some(left) => {
                *left -= 1;
                Ok(Extras::default())
            }
        }
    }

    pub(super) fn finish(&self, column: &Column<'_>) -> Result<(), PageError> {
        if self.passing.is_none() { Ok(()) } else { Err(column.error("extras of an entry that is not there")) }
    }
}

fn next(column: &mut Column<'_>) -> Result<Option<u64>, PageError> {
    if column.is_at_end() { Ok(None) } else { column.varint().map(Some) }
}

const LINK_TARGET: u64 = 1;
const HARDLINK: u64 = 2;
const DEVICE: u64 = 3;
const XATTRS: u64 = 4;
const HOLES: u64 = 5;

/// Encodes the fields that are set.
fn encode(extras: &Extras) -> Vec<u8> {
    let Extras { link_target, hardlink, device, xattrs, holes, later } = extras;
    let present = [link_target.is_some(), hardlink.is_some(), device.is_some(), !xattrs.is_empty(), !holes.is_empty()];
    let mut writer = Writer::new();
    writer.map(present.into_iter().filter(|&is_present| is_present).count() as u64 + later.count());
    if let Some(target) = link_target {
        writer.key(LINK_TARGET).bytes(target);
    }
    if let Some(group) = hardlink {
        writer.key(HARDLINK).uint(*group);
    }
    if let Some((major, minor)) = device {
        writer.key(DEVICE).array(2).uint(u64::from(*major)).uint(u64::from(*minor));
    }
    if !xattrs.is_empty() {
        writer.key(XATTRS).array(xattrs.len());
        for (name, value) in xattrs {
            writer.array(2).bytes(name).bytes(value);
        }
    }
    if !holes.is_empty() {
        writer.key(HOLES).array(holes.len());
        for hole in holes {
            writer.array(2).uint(hole.start).uint(hole.end - hole.start);
        }
    }
    writer.ignored(later);
    writer.finish()
}

/// Decodes extras; at least one field must be set.
fn decode(bytes: &[u8]) -> Result<Extras, DecodeError> {
    let mut reader = Reader::new(bytes)?;
    let mut fields = reader.map()?;
    let mut extras = Extras::default();
    if let Some(value) = fields.optional(LINK_TARGET)? {
        extras.link_target = Some(value.bytes(PAGE_BYTES)?.to_vec());
    }
    if let Some(value) = fields.optional(HARDLINK)? {
        extras.hardlink = Some(value.wide()?);
    }
    if let Some(value) = fields.optional(DEVICE)? {
        value.tuple(2)?;
        extras.device = Some((value.narrow()?, value.narrow()?));
    }
    if let Some(value) = fields.optional(XATTRS)? {
        extras.xattrs =
            non_empty(value, |pair| Ok((pair.bytes(PAGE_BYTES)?.to_vec(), pair.bytes(PAGE_BYTES)?.to_vec())))?;
    }
    if let Some(value) = fields.optional(HOLES)? {
        extras.holes = non_empty(value, |pair| {
            let error = pair.error("a hole ends beyond any file");
            let (start, length) = (pair.wide()?, pair.wide()?);
            Ok(start..start.checked_add(length).ok_or(error)?)
        })?;
    }
    extras.later = fields.rest()?;
    if extras.is_empty() { Err(DecodeError::new(0, "extras without any field")) } else { Ok(extras) }
}

/// Reads an array of pairs, which may not be empty: an empty one must be left out.
fn non_empty<T>(
    reader: &mut Reader<'_>,
    mut pair: impl FnMut(&mut Reader<'_>) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let error = reader.error("a list that is empty should be absent");
    let list = reader.list(PAGE_BYTES, |item| {
        item.tuple(2)?;
        pair(item)
    })?;
    if list.is_empty() { Err(error) } else { Ok(list) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_later_version_says_of_an_entry_is_written_again_as_it_was() {
        let mut writer = Writer::new();
        writer.map(2).key(LINK_TARGET).bytes(b"there").key(64).array(1).text("later");
        let bytes = writer.finish();
        let extras = decode(&bytes).unwrap();
        assert_eq!((extras.link_target.as_deref(), extras.later.count()), (Some(&b"there"[..]), 1));
        assert_eq!(encode(&extras), bytes);
    }
}
