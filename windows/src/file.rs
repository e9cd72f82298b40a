//! File: what is known of an entry, and what can be done with one.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::os::windows::fs::{symlink_dir, symlink_file};
use std::os::windows::io::AsHandle;
use std::path::{Component, Path, PathBuf};

use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::Ioctl::{FSCTL_QUERY_ALLOCATED_RANGES, FSCTL_SET_SPARSE};

use crate::calls::{self, Creation, Reparse};
use crate::errno::Errno;
use crate::flags::{FileType, OFlags};
use crate::handle::{AsFd, BorrowedFd, Name, open_path, units};
use crate::{names, places};

/// Reading and writing at an offset, to the end of what is asked.
pub trait FileExt {
    /// Fills the buffer.
    fn read_exact_at(&self, into: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all bytes.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
}

impl FileExt for File {
    fn read_exact_at(&self, mut into: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !into.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(self, into, offset)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                got => {
                    into = &mut into[got..];
                    offset += got as u64;
                }
            }
        }
        Ok(())
    }

    fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match std::os::windows::fs::FileExt::seek_write(self, bytes, offset)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                put => {
                    bytes = &bytes[put..];
                    offset += put as u64;
                }
            }
        }
        Ok(())
    }
}

/// What Windows knows of an entry. Times are in units of 100 ns since 1601.
#[derive(Debug, Copy, Clone)]
pub struct Stat {
    /// A file, a directory, or what leads to another name.
    pub kind: FileType,
    /// The attribute bits.
    pub attributes: u32,
    /// Bytes of a file.
    pub size: u64,
    /// Bytes that its content takes.
    pub allocated: u64,
    /// When it was made.
    pub creation: i64,
    /// When its content last changed.
    pub write: i64,
    /// When content or attributes last changed.
    pub change: i64,
    /// Its names.
    pub links: u32,
    /// Its number on the volume.
    pub number: u64,
    /// The volume.
    pub volume: u32,
}

/// Reads what is known of an open entry.
pub fn stat(fd: impl AsFd) -> Result<Stat, Errno> {
    let BorrowedFd::Open(handle) = fd.as_fd() else { return Ok(ABOVE) };
    let known = calls::by_handle(handle)?;
    let basic: fs::FILE_BASIC_INFO = calls::query(handle)?;
    let join = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let is_directory = known.dwFileAttributes & fs::FILE_ATTRIBUTE_DIRECTORY != 0;
    let kind = match calls::reparse(handle)? {
        Some(Reparse::Link) => FileType::Symlink,
        _ if is_directory => FileType::Directory,
        _ => FileType::RegularFile,
    };
    let size = join(known.nFileSizeHigh, known.nFileSizeLow);
    let is_sparse = known.dwFileAttributes & fs::FILE_ATTRIBUTE_SPARSE_FILE != 0;
    let standard = is_sparse.then(|| calls::query::<fs::FILE_STANDARD_INFO>(handle)).transpose()?;
    Ok(Stat {
        kind,
        attributes: known.dwFileAttributes,
        size: if kind == FileType::RegularFile { size } else { 0 },
        allocated: standard.map_or(size, |standard| standard.AllocationSize.cast_unsigned()),
        creation: basic.CreationTime,
        write: basic.LastWriteTime,
        // Some file systems do not keep it.
        change: if basic.ChangeTime == 0 { basic.LastWriteTime } else { basic.ChangeTime },
        links: known.nNumberOfLinks,
        number: join(known.nFileIndexHigh, known.nFileIndexLow),
        volume: known.dwVolumeSerialNumber,
    })
}

/// What stands for the entries above drives and shares.
const ABOVE: Stat = Stat {
    kind: FileType::Directory,
    attributes: fs::FILE_ATTRIBUTE_DIRECTORY,
    size: 0,
    allocated: 0,
    creation: 0,
    write: UNIX_EPOCH,
    change: UNIX_EPOCH,
    links: 1,
    number: 0,
    volume: 0,
};

/// 1970 in the times of Windows.
const UNIX_EPOCH: i64 = 116_444_736_000_000_000;

/// The time of Windows nearest before a time of POSIX: seconds and nanoseconds.
pub fn ticks((seconds, nanoseconds): (i64, u32)) -> i64 {
    let ticks = seconds.saturating_mul(TICKS).saturating_add(i64::from(nanoseconds) / 100);
    // Zero would mean "leave it".
    ticks.saturating_add(UNIX_EPOCH).max(1)
}

/// The time of POSIX that a time of Windows is: seconds and nanoseconds.
pub fn posix_time(ticks: i64) -> (i64, u32) {
    let since = ticks.saturating_sub(UNIX_EPOCH);
    (since.div_euclid(TICKS), (since.rem_euclid(TICKS) * 100) as u32)
}

/// A name of a directory.
#[derive(Debug)]
pub struct Listed {
    /// As the tree holds it.
    pub name: Vec<u8>,
    /// None if only the entry itself can tell.
    pub kind: Option<FileType>,
}

/// Gives each name of an open directory to a function, until that returns false.
pub fn list(fd: impl AsFd, mut take: impl FnMut(Listed) -> bool) -> Result<(), Errno> {
    let handle = fd.as_fd().handle()?;
    let mut buffer = vec![0u64; LISTING_BYTES / 8];
    while calls::more_names(handle, &mut buffer)? {
        let bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut record = bytes.as_slice();
        loop {
            let Some((name, attributes, next)) = read_record(record) else { return Err(Errno::INVAL) };
            let is = |attribute| attributes & attribute != 0;
            let kind = match () {
                () if is(fs::FILE_ATTRIBUTE_REPARSE_POINT) => None,
                () if is(fs::FILE_ATTRIBUTE_DIRECTORY) => Some(FileType::Directory),
                () => Some(FileType::RegularFile),
            };
            let name = names::from_disk(&name);
            if name != b"." && name != b".." && !take(Listed { name, kind }) {
                return Ok(());
            }
            if next == 0 {
                break;
            }
            record = record.get(next..).ok_or(Errno::INVAL)?;
        }
    }
    Ok(())
}

/// Name, attributes and length of a FILE_ID_BOTH_DIR_INFO.
fn read_record(record: &[u8]) -> Option<(Vec<u16>, u32, usize)> {
    let number = |at: usize| Some(u32::from_le_bytes(record.get(at..at + 4)?.try_into().ok()?));
    let (next, attributes, length) = (number(0)?, number(56)?, number(60)?);
    let name = record.get(104..104 + length as usize)?;
    let units = name.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
    Some((units, attributes, next as usize))
}

/// Removes the entry of a name; a directory only if asked for one, and if it is empty.
pub fn delete(directory: impl AsFd, name: impl Name, is_directory: bool) -> Result<(), Errno> {
    let handle = directory.as_fd().handle()?;
    let access = fs::DELETE | fs::FILE_READ_ATTRIBUTES | fs::FILE_WRITE_ATTRIBUTES | fs::SYNCHRONIZE;
    let creation = Creation { access, disposition: nt::FILE_OPEN, options: nt::FILE_OPEN_REPARSE_POINT };
    let opened = calls::create(Some(handle), &units(&name.bytes())?, creation)?;
    let known = stat(BorrowedFd::Open(opened.as_handle()))?;
    match (known.kind == FileType::Directory, is_directory) {
        (true, false) => return Err(Errno::ISDIR),
        (false, true) => return Err(Errno::NOTDIR),
        _ => {}
    }
    let flags = fs::FILE_DISPOSITION_FLAG_DELETE
        | fs::FILE_DISPOSITION_FLAG_POSIX_SEMANTICS
        | fs::FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE;
    match calls::set(opened.as_handle(), fs::FILE_DISPOSITION_INFO_EX { Flags: flags }) {
        // File systems other than NTFS, and old systems, know only the older call: the name goes with the last handle.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => {
            if known.attributes & fs::FILE_ATTRIBUTE_READONLY != 0 {
                put_attributes(BorrowedFd::Open(opened.as_handle()), 0)?;
            }
            calls::set(opened.as_handle(), fs::FILE_DISPOSITION_INFO { DeleteFile: true })
        }
        deleted => deleted,
    }
}

/// Sets the attributes of an open entry that may be set: read-only, hidden, system, archive, temporary, offline, not
/// indexed.
pub fn put_attributes(fd: impl AsFd, attributes: u32) -> Result<(), Errno> {
    let kept = match attributes & SETTABLE {
        // Zero would mean "leave them".
        0 => fs::FILE_ATTRIBUTE_NORMAL,
        some => some,
    };
    calls::set(fd.as_fd().handle()?, fs::FILE_BASIC_INFO { FileAttributes: kept, ..Default::default() })
}

/// Sets when the content of an open entry last changed, and when it was made if that is known.
pub fn put_times(fd: impl AsFd, write: i64, creation: Option<i64>) -> Result<(), Errno> {
    let info =
        fs::FILE_BASIC_INFO { LastWriteTime: write, CreationTime: creation.unwrap_or_default(), ..Default::default() };
    calls::set(fd.as_fd().handle()?, info)
}

/// Makes an open file sparse: what is not written takes no space.
pub fn make_sparse(fd: impl AsFd) -> Result<(), Errno> {
    calls::control(fd.as_fd().handle()?, FSCTL_SET_SPARSE, &[], &mut []).map(drop)
}

/// The ranges of an open sparse file that take space, ascending; at most `most`.
pub fn allocated(fd: impl AsFd, size: u64, most: usize) -> Result<Vec<Range<u64>>, Errno> {
    let handle = fd.as_fd().handle()?;
    let (mut ranges, mut at): (Vec<Range<u64>>, u64) = (Vec::new(), 0);
    loop {
        let input = [at.to_le_bytes(), (size - at).to_le_bytes()].concat();
        let mut output = vec![0; RANGES * 16];
        let (bytes, has_more) = calls::control(handle, FSCTL_QUERY_ALLOCATED_RANGES, &input, &mut output)?;
        let before = at;
        for range in output[..bytes].as_chunks::<16>().0 {
            let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| range[at + byte]));
            let start = number(0);
            ranges.push(start..start.saturating_add(number(8)).min(size));
            at = ranges.last().map_or(at, |range| range.end);
        }
        if !has_more || at >= size || ranges.len() >= most {
            return Ok(ranges);
        }
        // Taken for the end, the rest of the file would become a hole.
        if at <= before {
            return Err(Errno::INVAL);
        }
    }
}

/// Whether an open file's content may lie somewhere else: with a service that fetches it, or with what deduplicates it.
pub fn is_elsewhere(stat: &Stat) -> bool {
    let elsewhere = fs::FILE_ATTRIBUTE_REPARSE_POINT
        | fs::FILE_ATTRIBUTE_OFFLINE
        | fs::FILE_ATTRIBUTE_RECALL_ON_OPEN
        | fs::FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS;
    stat.attributes & elsewhere != 0
}

/// Writes a directory's names to the disk, where the file system does that: NTFS writes its log up to them.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    let flags = OFlags::DIRECTORY | OFlags::RDWR;
    let synced = || -> io::Result<()> { File::from(open_path(&path.canonicalize()?, flags)?).sync_all() };
    match synced() {
        // Servers and FAT do not; there is no other way.
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::ACCESS | Errno::INVAL | Errno::OPNOTSUPP)) => {
            Ok(())
        }
        synced => synced,
    }
}

/// The path of an open directory.
pub fn final_path(fd: impl AsFd) -> Result<PathBuf, Errno> {
    Ok(OsString::from_wide(&calls::final_path(fd.as_fd().handle()?)?).into())
}

/// Whether the entry of a name has exactly this name: not one that differs in the case of its letters, or a longer one that
/// Windows has given this short name, too.
pub fn is_named(fd: impl AsFd, name: &[u8]) -> Result<bool, Errno> {
    let path = match calls::final_path(fd.as_fd().handle()?) {
        // Wine tells no path of more than 260 units.
        Err(Errno::RANGE) => return Ok(true),
        path => path?,
    };
    let last = path.rsplit(|unit| *unit == u16::from(b'\\')).next().unwrap_or_default();
    // Wine tells names without the dots and spaces at their ends.
    let is_end = |unit: &u16| [u16::from(b'.'), u16::from(b' ')].contains(unit);
    let trimmed = |name: &[u16]| name.iter().rposition(|unit| !is_end(unit)).map_or(0, |last| last + 1);
    let name = units(name)?;
    Ok(last[..trimmed(last)] == name[..trimmed(&name)])
}

/// Where a link points, as the tree holds it (see [`places::link_in_tree`]).
pub fn link_target(directory: impl AsFd, name: impl Name) -> io::Result<Vec<u8>> {
    let target = std::fs::read_link(place(directory, name)?)?;
    Ok(places::link_in_tree(&target.as_os_str().encode_wide().collect::<Vec<_>>()))
}

/// Makes a symbolic link. Windows tells those to directories apart: `to_directory` decides, else whether a directory lies
/// there now. Only below the link itself is looked for one, and through no other link: whoever made the snapshot would
/// have this machine ask a server of his for it, with the user's name.
pub fn make_link(directory: impl AsFd, name: impl Name, target: &[u8], to_directory: bool) -> io::Result<()> {
    let target = OsString::from_wide(&places::link_on_windows(target).ok_or(Errno::ILSEQ)?);
    let place = place(directory, name)?;
    let lies_there = || {
        let mut at = place.parent()?.to_owned();
        for part in Path::new(&target).components() {
            let Component::Normal(name) = part else { return None };
            at.push(name);
            std::fs::symlink_metadata(&at).ok().filter(|found| found.is_dir())?;
        }
        Some(())
    };
    if to_directory || lies_there().is_some() { symlink_dir(&target, &place) } else { symlink_file(&target, &place) }
}

/// Makes another name for a file.
pub fn make_hard_link(from: (impl AsFd, impl Name), to: (impl AsFd, impl Name)) -> io::Result<()> {
    std::fs::hard_link(place(from.0, from.1)?, place(to.0, to.1)?)
}

/// Renames a file durably, unless the new name exists.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    Ok(calls::rename_new(&with_zero(from), &with_zero(to))?)
}

/// The bytes that this user may still write where a directory lies.
pub fn free_bytes(directory: &Path) -> io::Result<u64> {
    Ok(calls::free_bytes(&with_zero(directory))?)
}

/// The name of this machine.
pub fn host_name() -> io::Result<OsString> {
    Ok(OsString::from_wide(&calls::host_name()?))
}

/// The path of the entry of a name, for calls that take no directory. It goes through the path of the open one.
fn place(directory: impl AsFd, name: impl Name) -> Result<PathBuf, Errno> {
    Ok(final_path(directory)?.join(OsString::from_wide(&units(&name.bytes())?)))
}

fn with_zero(path: &Path) -> Vec<u16> {
    path.as_os_str().encode_wide().chain([0]).collect()
}

const SETTABLE: u32 = fs::FILE_ATTRIBUTE_READONLY
    | fs::FILE_ATTRIBUTE_HIDDEN
    | fs::FILE_ATTRIBUTE_SYSTEM
    | fs::FILE_ATTRIBUTE_ARCHIVE
    | fs::FILE_ATTRIBUTE_TEMPORARY
    | fs::FILE_ATTRIBUTE_OFFLINE
    | fs::FILE_ATTRIBUTE_NOT_CONTENT_INDEXED;
const LISTING_BYTES: usize = 32 << 10;
/// Units of time in a second.
const TICKS: i64 = 10_000_000;
/// Ranges asked for at once.
const RANGES: usize = 1024;
