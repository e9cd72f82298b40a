//! Zip: writes a part of a snapshot as a zip archive in one stream: large files and many of them (zip64), modes, owners' numbers,
//! and times in UTC. The same snapshot gives the same bytes.

use std::io::{self, Write};

use copal_engine::restore::leaves::Leaves;
use copal_format::id::ChunkId;
use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::{Entry, EntryKind};
use copal_reader::civil;
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use super::{DumpError, write_file};
use crate::reader::{ChunkReader, PageReader};
use crate::restore::Scope;

/// Writes a part of a snapshot as a zip archive. Returns the entries that a zip cannot hold, with the reason. Further names of a
/// file become files of their own. As in a tar archive, an entry that cannot be read ends the archive early.
pub fn dump_zip(
    pages: &PageReader,
    root: ChunkId,
    scope: &Scope,
    out: &mut dyn Write,
) -> Result<Vec<(TreePath, &'static str)>, DumpError> {
    let mut chunks = ChunkReader::new(pages);
    let mut zip = Zip { out: Counted { out, at: 0 }, directory: Vec::new(), count: 0 };
    let (mut stream, mut leaves, mut left_out) = (scope.entries(pages, root), Leaves::default(), Vec::new());
    while let Some(entry) = stream.next()?
        && scope.holds(&entry.path)
    {
        if !leaves.admits(&entry) {
            return Err(DumpError::Misplaced { path: entry.path });
        }
        let name = scope.inside(&entry.path);
        let why = match entry.kind() {
            EntryKind::Directory if name.is_top() => continue,
            _ if leads_out(name.as_bytes()) => Some("some programs would unpack it elsewhere"),
            // A directory's name gets a slash, and the length of a name has 16 bits.
            _ if name.as_bytes().len() > 65_534 => Some("its path is too long for a zip archive"),
            EntryKind::Directory | EntryKind::File | EntryKind::Symlink => None,
            _ => Some("a zip archive holds no devices, pipes and sockets"),
        };
        match why {
            Some(why) => left_out.push((entry.path, why)),
            None => zip.add(&entry, &name, |out| write_file(pages, &mut chunks, &entry, out))?,
        }
    }
    zip.finish()?;
    Ok(left_out)
}

/// Whether programs that take `\` for a separator, or `C:` for a drive, would unpack a name elsewhere.
fn leads_out(name: &[u8]) -> bool {
    let mut parts = name.split(|byte| b"/\\".contains(byte));
    name.starts_with(b"\\") || name.get(1) == Some(&b':') || parts.any(|part| part == b"..")
}

struct Zip<'a> {
    out: Counted<'a>,
    /// The central directory: some 100 bytes for each entry, and its name.
    directory: Vec<u8>,
    count: u64,
}

/// Counts what is written.
struct Counted<'a> {
    out: &'a mut dyn Write,
    at: u64,
}

/// A file that is being compressed.
struct Packing<'z, 'a> {
    out: DeflateEncoder<&'z mut Counted<'a>>,
    crc: Crc,
    size: u64,
}

/// Checksum and lengths of an entry, known once it is written.
#[derive(Default)]
struct Sums {
    crc: u32,
    size: u64,
    packed: u64,
}

impl Zip<'_> {
    fn add(
        &mut self,
        entry: &Entry,
        name: &TreePath,
        write: impl FnOnce(&mut dyn Write) -> Result<(), DumpError>,
    ) -> Result<(), DumpError> {
        let mut name = name.as_bytes().to_vec();
        if entry.kind() == EntryKind::Directory {
            name.push(b'/');
        }
        let target = entry.extras.link_target.as_deref().filter(|_| entry.kind() == EntryKind::Symlink);
        let is_packed = entry.kind() == EntryKind::File;
        // Noise grows a little when it is compressed.
        let is_large = is_packed && entry.size >= FAR - (FAR >> 8);
        let mut sums = Sums::default();
        if let Some(target) = target {
            let mut crc = Crc::new();
            crc.update(target);
            sums = Sums { crc: crc.sum(), size: target.len() as u64, packed: target.len() as u64 };
        }
        let start = self.out.at;
        let common = common(entry, &name, is_packed, is_large);
        let mut head = fields(&[(4, 0x0403_4b50)]);
        head.extend(&common);
        let told = if is_large { FAR } else { sums.size };
        head.extend(fields(&[(4, sums.crc.into()), (4, told), (4, told), (2, name.len() as u64)]));
        let large = if is_large { fields(&[(2, 1), (2, 16), (8, 0), (8, 0)]) } else { Vec::new() };
        let extra = [large, extra(entry)].concat();
        head.extend(fields(&[(2, extra.len() as u64)]));
        self.out.write_all(&[head, name.clone(), extra, target.unwrap_or_default().to_vec()].concat())?;
        if is_packed {
            let begun = self.out.at;
            let (crc, size) = Packing::of(&mut self.out).take(write)?;
            sums = Sums { crc, size, packed: self.out.at - begun };
            let width = if is_large { 8 } else { 4 };
            let told = [(4, 0x0807_4b50), (4, sums.crc.into()), (width, sums.packed), (width, sums.size)];
            self.out.write_all(&fields(&told))?;
        }
        self.list(entry, &name, &common, start, &sums);
        Ok(())
    }

    /// Adds an entry to the central directory.
    fn list(&mut self, entry: &Entry, name: &[u8], common: &[u8], start: u64, sums: &Sums) {
        let mut large = Vec::new();
        let mut told = |number: u64| {
            if number >= FAR {
                large.extend(number.to_le_bytes());
            }
            number.min(FAR)
        };
        let (size, packed, start) = (told(sums.size), told(sums.packed), told(start));
        if !large.is_empty() {
            large = [fields(&[(2, 1), (2, large.len() as u64)]), large].concat();
        }
        let extra = [large, extra(entry)].concat();
        let is_directory = entry.kind() == EntryKind::Directory;
        let mode = u64::from(entry.mode.bits()) << 16 | if is_directory { 0x10 } else { 0 };
        self.directory.extend(fields(&[(4, 0x0201_4b50), (1, 45), (1, UNIX)]));
        self.directory.extend(common);
        self.directory.extend(fields(&[(4, sums.crc.into()), (4, packed), (4, size), (2, name.len() as u64)]));
        self.directory.extend(fields(&[(2, extra.len() as u64), (2, 0), (2, 0), (2, 0), (4, mode), (4, start)]));
        self.directory.extend(name);
        self.directory.extend(extra);
        self.count += 1;
    }

    fn finish(mut self) -> io::Result<()> {
        let (start, length, count) = (self.out.at, self.directory.len() as u64, self.count);
        self.out.write_all(&self.directory)?;
        let end = self.out.at;
        if count >= 0xffff || start >= FAR || length >= FAR {
            let sizes = [(8, count), (8, count), (8, length), (8, start)];
            let head = [(4, 0x0606_4b50), (8, 44), (1, 45), (1, UNIX), (2, 45), (4, 0), (4, 0)];
            self.out.write_all(&fields(&[&head[..], &sizes].concat()))?;
            self.out.write_all(&fields(&[(4, 0x0706_4b50), (4, 0), (8, end), (4, 1)]))?;
        }
        let count = count.min(0xffff);
        let sizes = [(2, count), (2, count), (4, length.min(FAR)), (4, start.min(FAR)), (2, 0)];
        self.out.write_all(&fields(&[&[(4, 0x0605_4b50), (2, 0), (2, 0)], &sizes[..]].concat()))?;
        self.out.out.flush()
    }
}

/// Version, flags, method and time, which both headers of an entry have.
fn common(entry: &Entry, name: &[u8], is_packed: bool, is_large: bool) -> Vec<u8> {
    let is_text = core::str::from_utf8(name).is_ok();
    let flags = if is_text { 1 << 11 } else { 0 } | if is_packed { 1 << 3 } else { 0 };
    let (time, date) = dos_time(entry.mtime);
    let version = if is_large { 45 } else { 20 };
    fields(&[(2, version), (2, flags), (2, if is_packed { 8 } else { 0 }), (2, time), (2, date)])
}

/// The exact second of the last change, and the numbers of owner and group.
fn extra(entry: &Entry) -> Vec<u8> {
    let (seconds, _) = entry.mtime.to_unix();
    let time = i32::try_from(seconds).map_or(Vec::new(), |seconds| {
        [fields(&[(2, 0x5455), (2, 5), (1, 1)]), seconds.to_le_bytes().to_vec()].concat()
    });
    let (uid, gid) = (entry.owner.uid.into(), entry.owner.gid.into());
    [time, fields(&[(2, 0x7875), (2, 11), (1, 1), (1, 4), (4, uid), (1, 4), (4, gid)])].concat()
}

/// Numbers in these many bytes, the lowest byte first.
fn fields(fields: &[(usize, u64)]) -> Vec<u8> {
    fields.iter().flat_map(|(bytes, number)| number.to_le_bytes().into_iter().take(*bytes)).collect()
}

/// The time and date of MS-DOS, which knows the years from 1980 to 2107 and two seconds.
fn dos_time(time: Time) -> (u64, u64) {
    let (seconds, _) = time.to_unix();
    let seconds = seconds.clamp(FIRST, LAST);
    let (year, month, day) = civil(seconds / 86_400);
    let seconds = seconds % 86_400;
    let time = (seconds / 3_600) << 11 | (seconds / 60 % 60) << 5 | (seconds % 60 / 2);
    (time as u64, ((year - 1_980) << 9 | month << 5 | day) as u64)
}

impl<'z, 'a> Packing<'z, 'a> {
    fn of(out: &'z mut Counted<'a>) -> Self {
        Self { out: DeflateEncoder::new(out, Compression::default()), crc: Crc::new(), size: 0 }
    }

    /// Takes all bytes; returns their checksum and number.
    fn take(mut self, write: impl FnOnce(&mut dyn Write) -> Result<(), DumpError>) -> Result<(u32, u64), DumpError> {
        write(&mut self)?;
        self.out.finish()?;
        Ok((self.crc.sum(), self.size))
    }
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Write for Packing<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.crc.update(&bytes[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The least number that does not fit into four bytes of a zip, which then hold this.
const FAR: u64 = 0xffff_ffff;
/// Modes are those of Unix.
const UNIX: u64 = 3;
/// 1980-01-01 and 2107-12-31 23:59:58.
const FIRST: i64 = 315_532_800;
const LAST: i64 = 4_354_819_198;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        let told = |seconds| {
            let (time, date) = dos_time(Time::from_unix(seconds, 0));
            (1_980 + (date >> 9), date >> 5 & 15, date & 31, time >> 11, time >> 5 & 63, time & 31)
        };
        assert_eq!(told(-5), (1980, 1, 1, 0, 0, 0));
        assert_eq!(told(951_827_696), (2000, 2, 29, 12, 34, 28));
        assert_eq!(told(1_764_149_535), (2025, 11, 26, 9, 32, 7));
        assert_eq!(told(i64::MAX / 2_000_000_000), (2107, 12, 31, 23, 59, 29));
    }

    #[test]
    fn names_that_lead_elsewhere_on_another_system_are_known() {
        for name in ["..\\x", "a\\..\\b", "\\etc", "C:x"] {
            assert!(leads_out(name.as_bytes()), "{name}");
        }
        for name in ["a..b", "a\\x2db", "ab:c", "...", "a/..b"] {
            assert!(!leads_out(name.as_bytes()), "{name}");
        }
    }
}
