//! Header: a tar header: a block of fixed fields, and pax records before it for values that do not fit.

use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::{Entry, EntryKind};
use tar::EntryType;

use super::{BLOCK, padding};

/// The header of one entry.
pub struct Header {
    fixed: tar::Header,
    /// The pax records, which take precedence over the fixed fields.
    records: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Header {
    /// The header of an entry under a name; a hard link if `first` is an earlier name. None for a socket: tar has none.
    pub fn of(entry: &Entry, name: &TreePath, first: Option<&TreePath>) -> Option<Self> {
        let name = name.as_bytes();
        if let Some(first) = first {
            return Some(Self::new(entry, EntryType::Link, name, Some(first.as_bytes()), 0));
        }
        let (kind, size) = match entry.kind() {
            EntryKind::Socket => return None,
            EntryKind::File => (EntryType::Regular, entry.size),
            EntryKind::Directory => (EntryType::Directory, 0),
            EntryKind::Symlink => (EntryType::Symlink, 0),
            EntryKind::Fifo => (EntryType::Fifo, 0),
            EntryKind::CharDevice => (EntryType::Char, 0),
            EntryKind::BlockDevice => (EntryType::Block, 0),
        };
        let path = match (kind, name) {
            (EntryType::Directory, []) => b"./".to_vec(),
            (EntryType::Directory, name) => [name, b"/"].concat(),
            (_, name) => name.to_vec(),
        };
        Some(Self::new(entry, kind, &path, entry.extras.link_target.as_deref(), size))
    }

    fn new(entry: &Entry, kind: EntryType, path: &[u8], link: Option<&[u8]>, size: u64) -> Self {
        let mut header = Self { fixed: tar::Header::new_ustar(), records: Vec::new() };
        header.fixed.set_entry_type(kind);
        header.fixed.set_mode(entry.mode.permissions().into());
        header.text("path", path, |fixed| &mut fixed.name);
        if let Some(link) = link {
            header.text("linkpath", link, |fixed| &mut fixed.linkname);
        }
        header.number("size", size, MOST_SIZE, tar::Header::set_size);
        header.number("uid", entry.owner.uid.into(), MOST_ID, tar::Header::set_uid);
        header.number("gid", entry.owner.gid.into(), MOST_ID, tar::Header::set_gid);
        header.text("uname", &entry.owner.user, |fixed| &mut fixed.uname);
        header.text("gname", &entry.owner.group, |fixed| &mut fixed.gname);
        header.time(entry.mtime);
        if let Some((major, minor)) = entry.extras.device {
            let fields = header.fixed.set_device_major(major).and_then(|()| header.fixed.set_device_minor(minor));
            fields.expect("a header of this form has the fields");
        }
        if kind != EntryType::Link {
            for (name, value) in &entry.extras.xattrs {
                header.records.push(([b"SCHILY.xattr.", keyword(name).as_slice()].concat(), value.clone()));
            }
        }
        header.declare_charset();
        header.fixed.set_cksum();
        header
    }

    /// The header's bytes, with its records first.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BLOCK);
        if !self.records.is_empty() {
            let records: Vec<u8> = self.records.iter().flat_map(|(key, value)| record(key, value)).collect();
            let mut extended = tar::Header::new_ustar();
            extended.set_entry_type(EntryType::XHeader);
            extended.set_mode(0o644);
            extended.set_size(records.len() as u64);
            put(&mut ustar(&mut extended).name, b"PaxHeader");
            for set in [tar::Header::set_uid, tar::Header::set_gid, tar::Header::set_mtime] {
                set(&mut extended, 0);
            }
            extended.set_cksum();
            bytes.extend_from_slice(extended.as_bytes());
            bytes.extend_from_slice(&records);
            bytes.resize(bytes.len() + padding(records.len() as u64), 0);
        }
        bytes.extend_from_slice(self.fixed.as_bytes());
        bytes
    }

    /// Sets a text field. Adds a record if the text does not fit, or if programs could mistake its character set.
    fn text<const N: usize>(
        &mut self,
        key: &str,
        text: &[u8],
        field: impl FnOnce(&mut tar::UstarHeader) -> &mut [u8; N],
    ) {
        let fits = put(field(ustar(&mut self.fixed)), text);
        let is_plain = text.is_ascii() || core::str::from_utf8(text).is_err();
        if !fits || !is_plain {
            self.records.push((key.into(), text.to_vec()));
        }
    }

    fn number(&mut self, key: &str, number: u64, most: u64, set: fn(&mut tar::Header, u64)) {
        set(&mut self.fixed, if number <= most { number } else { 0 });
        if number > most {
            self.records.push((key.into(), number.to_string().into_bytes()));
        }
    }

    fn time(&mut self, time: Time) {
        let (seconds, nanoseconds) = time.to_unix();
        let whole = u64::try_from(seconds).ok().filter(|seconds| *seconds <= MOST_SIZE);
        self.fixed.set_mtime(whole.unwrap_or(0));
        if whole.is_none() || nanoseconds > 0 {
            let total = i128::from(time.0).unsigned_abs();
            let sign = if time.0 < 0 { "-" } else { "" };
            let text = format!("{sign}{}.{:09}", total / 1_000_000_000, total % 1_000_000_000);
            self.records.push((b"mtime".to_vec(), text.into_bytes()));
        }
    }

    /// Records are UTF-8 unless the first one says otherwise.
    fn declare_charset(&mut self) {
        let texts = ["path", "linkpath", "uname", "gname"];
        let is_odd = |(key, value): &(Vec<u8>, Vec<u8>)| {
            texts.iter().any(|text| text.as_bytes() == key) && core::str::from_utf8(value).is_err()
        };
        if self.records.iter().any(is_odd) {
            self.records.insert(0, (b"hdrcharset".to_vec(), b"BINARY".to_vec()));
        }
    }
}

fn ustar(header: &mut tar::Header) -> &mut tar::UstarHeader {
    header.as_ustar_mut().expect("it was made in this form")
}

/// Copies a text into a field, cut off at the field's end; returns whether it fits.
fn put(field: &mut [u8], text: &[u8]) -> bool {
    let length = text.len().min(field.len());
    field[..length].copy_from_slice(&text[..length]);
    length == text.len()
}

/// `length key=value`; the length includes its own digits.
fn record(key: &[u8], value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    [length.to_string().as_bytes(), b" ", key, b"=", value, b"\n"].concat()
}

/// An attribute's name with `=` escaped, as GNU tar writes it.
fn keyword(name: &[u8]) -> Vec<u8> {
    let mut keyword = Vec::with_capacity(name.len());
    for &byte in name {
        match byte {
            b'%' => keyword.extend_from_slice(b"%25"),
            b'=' => keyword.extend_from_slice(b"%3D"),
            byte => keyword.push(byte),
        }
    }
    keyword
}

/// The largest number in a field of 11 octal digits.
const MOST_SIZE: u64 = 0o77_777_777_777;
/// The largest number in a field of 7 octal digits.
const MOST_ID: u64 = 0o7_777_777;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_records_length_counts_itself() {
        for value in [1, 80, 90, 91, 92, 93, 94, 95, 980, 990, 9_990] {
            let record = record(b"path", &vec![b'x'; value]);
            let (length, _) = record.split_at(record.iter().position(|&byte| byte == b' ').unwrap());
            assert_eq!(core::str::from_utf8(length).unwrap().parse(), Ok(record.len()), "{value}");
        }
    }

    #[test]
    fn times_before_the_epoch_and_parts_of_seconds_are_told_exactly() {
        let told = |time| {
            let mut header = Header { fixed: tar::Header::new_ustar(), records: Vec::new() };
            header.time(Time(time));
            let record = header.records.first().map(|(_, value)| String::from_utf8(value.clone()).unwrap());
            (header.fixed.mtime().unwrap(), record.unwrap_or_default())
        };
        assert_eq!(told(5_000_000_000), (5, String::new()));
        assert_eq!(told(5_000_000_001), (5, "5.000000001".into()));
        assert_eq!(told(-500_000_000), (0, "-0.500000000".into()));
        assert_eq!(told(-1_000_000_000), (0, "-1.000000000".into()));
    }

    #[test]
    fn attribute_names_cannot_end_their_keyword() {
        assert_eq!(keyword(b"user.a=b%"), b"user.a%3Db%25");
    }
}
