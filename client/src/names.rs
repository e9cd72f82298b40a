//! Names: the names in one directory, compact and sorted.

use std::ffi::CStr;
use std::io;

use crate::system::{AsFd, FileType, list};

/// Names in ascending order of their bytes, each with the type that the directory gives for it.
#[derive(Default)]
pub(crate) struct Names {
    /// The names, each with a zero byte after it.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// 8 bytes, since there may be millions in a directory.
struct Entry {
    start: u32,
    length: u16,
    kind: Kind,
}

/// The type of an entry, as far as the directory tells it.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Directory,
    Other,
    Unknown,
}

impl Names {
    /// Lists an open directory. After an error, the names so far are valid.
    pub(crate) fn read(directory: impl AsFd) -> (Self, io::Result<()>) {
        let mut names = Self::default();
        let mut is_full = false;
        let listed = list(directory, |name, kind| {
            let kind = match kind {
                FileType::Directory => Kind::Directory,
                FileType::Unknown => Kind::Unknown,
                _ => Kind::Other,
            };
            is_full = name != b"." && name != b".." && !names.push(name, kind);
            !is_full
        });
        let result = match is_full {
            true => Err(io::Error::other("the directory has more names than can be listed")),
            false => listed,
        };
        names.finish();
        (names, result)
    }

    /// Takes a few names from elsewhere; those with a zero byte are no names.
    pub(crate) fn from_few<'n>(few: impl IntoIterator<Item = &'n [u8]>) -> Self {
        let mut names = Self::default();
        for name in few.into_iter().filter(|name| !name.contains(&0)) {
            names.push(name, Kind::Unknown);
        }
        names.finish();
        names
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn at(&self, position: usize) -> (&CStr, Kind) {
        let entry = &self.entries[position];
        let end = entry.start as usize + usize::from(entry.length);
        let name = CStr::from_bytes_with_nul(&self.bytes[entry.start as usize..=end]);
        (name.expect("names are stored with one zero byte, at their end"), entry.kind)
    }

    pub(crate) fn contains(&self, name: &[u8]) -> bool {
        self.entries.binary_search_by(|entry| slice(&self.bytes, entry).cmp(name)).is_ok()
    }

    /// False if the names no longer fit 32-bit positions.
    fn push(&mut self, name: &[u8], kind: Kind) -> bool {
        let (Ok(start), Ok(length)) = (u32::try_from(self.bytes.len()), u16::try_from(name.len())) else {
            return false;
        };
        self.bytes.extend_from_slice(name);
        self.bytes.push(0);
        self.entries.push(Entry { start, length, kind });
        true
    }

    fn finish(&mut self) {
        let Self { bytes, entries } = self;
        entries.sort_unstable_by(|a, b| slice(bytes, a).cmp(slice(bytes, b)));
        // Some file systems list a name twice when the directory changes meanwhile.
        entries.dedup_by(|a, b| slice(bytes, a) == slice(bytes, b));
        bytes.shrink_to_fit();
        entries.shrink_to_fit();
    }
}

fn slice<'b>(bytes: &'b [u8], entry: &Entry) -> &'b [u8] {
    &bytes[entry.start as usize..entry.start as usize + usize::from(entry.length)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_sorted_by_bytes_and_once() {
        let names = Names::from_few([b"b".as_slice(), b"a-", b"\xff", b"a", b"b", b"a.b"]);
        let listed: Vec<_> = (0..names.len()).map(|at| names.at(at).0.to_bytes()).collect();
        assert_eq!(listed, [b"a".as_slice(), b"a-", b"a.b", b"b", b"\xff"]);
        assert!(names.contains(b"a.b") && !names.contains(b"a."));
    }
}
