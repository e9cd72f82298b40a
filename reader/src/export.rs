//! Export: the places of objects in an export, which is a tar archive of a whole repository.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use tar::EntryType;

/// The objects of an export.
#[derive(Debug, Default)]
pub struct Index {
    /// The byte range of each object, and its creation time in seconds since 1970, by name.
    pub objects: BTreeMap<String, (Range<u64>, u64)>,
    /// Where the next object would begin.
    pub end: u64,
}

/// Why a file is not read as an export.
#[derive(Debug, thiserror::Error)]
pub enum NotExport {
    /// It does not begin as an export does.
    #[error("it is no export")]
    Other,
    /// It has no end mark: its writer was interrupted, or it is an incomplete copy.
    #[error("the export is cut off after {0} bytes")]
    CutOff(u64),
    /// A header in it is not one that an export has.
    #[error("the export has no header at byte {0}")]
    Damaged(u64),
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Index {
    /// Reads the headers of an export.
    pub fn read(mut file: &File) -> Result<Self, NotExport> {
        let length = file.seek(SeekFrom::End(0))?;
        let mut index = Self::default();
        loop {
            let at = index.end;
            if length < at + BLOCK as u64 {
                return Err(if at == 0 { NotExport::Other } else { NotExport::CutOff(length) });
            }
            let mut header = tar::Header::new_ustar();
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(header.as_mut_bytes())?;
            if header.as_bytes() == &[0; BLOCK] && at > 0 {
                // A file may be cut off and end with zeros, as after a crash.
                return if length - at <= PADDING && is_zero(file, length - at - BLOCK as u64)? {
                    Ok(index)
                } else {
                    Err(NotExport::CutOff(at))
                };
            }
            let odd = if at == 0 { NotExport::Other } else { NotExport::Damaged(at) };
            let Some((name, size, time)) = member(&header) else { return Err(odd) };
            if at == 0 && name != README {
                return Err(odd);
            }
            let start = at + BLOCK as u64;
            let end = start.checked_add(size).filter(|end| *end <= length).ok_or(NotExport::CutOff(length))?;
            if at > 0 && index.objects.insert(name, (start..end, time)).is_some() {
                return Err(odd);
            }
            index.end = end.next_multiple_of(BLOCK as u64);
        }
    }
}

/// Whether exactly `length` bytes follow, at least a block, and all are zero.
fn is_zero(file: &File, length: u64) -> io::Result<bool> {
    let mut rest = Vec::new();
    file.take(PADDING).read_to_end(&mut rest)?;
    Ok(rest.len() as u64 == length && rest.len() >= BLOCK && rest.iter().all(|byte| *byte == 0))
}

/// The most zeros at the end of an archive: tar fills up to 10 KiB, after the two blocks that end it.
const PADDING: u64 = 11 << 10;

/// The name, size and time of a regular file whose checksum is right.
fn member(header: &tar::Header) -> Option<(String, u64, u64)> {
    let mut expected = header.clone();
    expected.set_cksum();
    let is_whole = expected.cksum().ok()? == header.cksum().ok()?;
    let is_file = header.entry_type() == EntryType::Regular;
    let name = String::from_utf8(header.path_bytes().into_owned()).ok()?;
    (is_whole && is_file).then_some(())?;
    Some((name, header.entry_size().ok()?, header.mtime().ok()?))
}

/// The header of a file in an export.
pub fn header(name: &str, size: u64, time: u64) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(EntryType::Regular);
    header.set_path(name).expect("names of objects are short");
    header.set_mode(0o600);
    header.set_size(size);
    header.set_mtime(time);
    header.set_uid(0);
    header.set_gid(0);
    header.set_cksum();
    header
}

/// Bytes of a block: each object begins at one.
pub const BLOCK: usize = 512;

/// The first file of every export.
pub const README: &str = "README-copal-export.txt";

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn export(objects: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, content) in [&[(README, &b"read"[..])], objects].concat() {
            bytes.extend_from_slice(header(name, content.len() as u64, 7).as_bytes());
            bytes.extend_from_slice(content);
            bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        }
        bytes.resize(bytes.len() + 2 * BLOCK, 0);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Index, NotExport> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Index::read(&file)
    }

    #[test]
    fn objects_are_found_where_they_lie() {
        let bytes = export(&[("packs/ab", b"first"), ("keys/k", &[1; 600])]);
        let index = read(&bytes).unwrap();
        let content = |name: &str| {
            let (range, time) = &index.objects[name];
            assert_eq!(*time, 7);
            &bytes[range.start as usize..range.end as usize]
        };
        assert_eq!((content("packs/ab"), content("keys/k")), (&b"first"[..], &[1; 600][..]));
        assert_eq!((index.objects.len(), index.end), (2, bytes.len() as u64 - 1024));
    }

    #[test]
    fn whatever_is_cut_off_or_changed_is_told_and_nothing_panics() {
        let whole = export(&[("packs/ab", b"first"), ("keys/k", &[1; 600])]);
        for length in (0..whole.len() - 1024).step_by(61) {
            assert!(read(&whole[..length]).is_err(), "{length}");
        }
        assert!(matches!(read(&whole[..1500]), Err(NotExport::CutOff(1500))));
        assert!(matches!(read(&[0; 2048]), Err(NotExport::Other)));
        for at in (0..whole.len() - 1024).step_by(7) {
            let mut changed = whole.clone();
            changed[at] ^= 0x21;
            let _ = read(&changed);
        }
        let mut changed = whole.clone();
        changed[1030] ^= 1;
        assert!(matches!(read(&changed), Err(NotExport::Damaged(1024))));
        assert!(matches!(read(&export(&[("a", b"1"), ("a", b"2")])), Err(NotExport::Damaged(2048))));
    }
}
