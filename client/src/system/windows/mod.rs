//! Windows, in the words of POSIX.

pub(crate) mod extras;
mod object;
pub mod open;
mod stat;

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout};

use copal_format::path::TreePath;
use copal_format::snapshot::MetadataSeen;
use copal_format::time::Time;
use copal_windows::{places, text};

use crate::system::HOLES_MAX;

pub(crate) use copal_windows::{AsFd, FileType, OFlags, OwnedFd};
pub(crate) use copal_windows::{AtFlags, BorrowedFd, Errno, Mode, openat};
pub(crate) use extras as attributes;
pub use extras::link_target;
pub(crate) use object::Object;

/// How to open a directory to find entries in it.
pub(crate) const PATH: OFlags = OFlags::PATH;

/// The kinds of metadata that a backup on Windows saves. A tree has no place for the owners and ACLs of Windows; the
/// attributes are saved as an extended attribute.
pub(crate) const SEEN: MetadataSeen = MetadataSeen(
    MetadataSeen::CTIME_AND_INODE.0
        | MetadataSeen::XATTRS.0
        | MetadataSeen::HOLES.0
        | MetadataSeen::BIRTH_TIME.0
        | MetadataSeen::HARDLINKS.0,
);

/// Whether a file has the mode that it was made with.
pub(crate) const KEEPS_MODES: bool = false;

/// When an entry was made, for a restore that can set that.
#[derive(Debug, Copy, Clone, Default)]
pub struct Birth(Option<Time>);

impl From<Option<Time>> for Birth {
    fn from(birth: Option<Time>) -> Self {
        Self(birth)
    }
}

/// The path to open an entry of a tree by.
pub fn source_of(path: &TreePath) -> PathBuf {
    OsString::from_wide(&places::on_windows(path.as_bytes())).into()
}

/// The prefix of every path that the tree leaves out: none, since places in the tree begin with their drive or share.
pub(crate) const TOP: &[u8] = b"";

/// The bytes of an absolute path's place in the tree; none for a path that begins with neither a drive nor a share.
pub fn tree_bytes(absolute: &Path) -> Option<Cow<'_, [u8]>> {
    let units: Vec<u16> = absolute.as_os_str().encode_wide().collect();
    Some(places::in_tree(&units)?.into())
}

/// The bytes of a word of the system, without loss.
pub fn bytes_of(word: &OsStr) -> Cow<'_, [u8]> {
    text::bytes(word).into()
}

/// A path below some directory, as a path of the system for code that compares paths.
pub fn path_of(bytes: &[u8]) -> Cow<'_, Path> {
    PathBuf::from(text::os_string(bytes)).into()
}

/// A word of the system with these bytes.
pub fn os_string(bytes: Vec<u8>) -> OsString {
    text::os_string(&bytes)
}

/// Gives each name of an open directory to a function, until that returns false.
pub(crate) fn list(directory: impl AsFd, mut take: impl FnMut(&[u8], FileType) -> bool) -> io::Result<()> {
    Ok(copal_windows::list(directory, |listed| take(&listed.name, listed.kind.unwrap_or(FileType::Unknown)))?)
}

/// Opens a directory that the user chose: links are followed.
pub(crate) fn open_directory(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    Ok(copal_windows::open_path(&path.canonicalize()?, flags)?)
}

/// The permissions of some bits of a mode.
pub(crate) fn mode_of(bits: u32) -> Mode {
    Mode::from_bits_truncate(bits & 0o7777)
}

/// The kind that the type bits of a mode name.
pub(crate) fn kind_of(mode: u32) -> FileType {
    FileType::from_raw_mode(mode)
}

pub(crate) fn mkdirat(directory: impl AsFd, name: &CStr, mode: Mode) -> Result<(), Errno> {
    openat(directory, name, OFlags::PATH | OFlags::DIRECTORY | OFlags::CREATE | OFlags::EXCL, mode).map(drop)
}

/// Windows has neither.
pub(crate) fn mknodat(_: impl AsFd, _: &CStr, _: FileType, _: (u32, u32)) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Removes the entry of a name.
pub(crate) fn unlinkat(directory: impl AsFd, name: &CStr, flags: AtFlags) -> Result<(), Errno> {
    copal_windows::delete(directory, name, flags.contains(AtFlags::REMOVEDIR))
}

/// Where a link points. A relative one has `/` between names, so that it leads to the same entry elsewhere.
pub(crate) fn link_target_at(directory: impl AsFd, name: &CStr) -> io::Result<Vec<u8>> {
    copal_windows::link_target(directory, name)
}

pub(crate) fn symlinkat(target: &[u8], directory: impl AsFd, name: &CStr) -> Result<(), Errno> {
    copal_windows::make_link(directory, name, target, false).map_err(|error| errno(&error))
}

/// Makes another name for a file.
pub(crate) fn linkat(from: impl AsFd, old: &CString, to: impl AsFd, new: &CString, _: AtFlags) -> Result<(), Errno> {
    copal_windows::make_hard_link((from, old), (to, new)).map_err(|error| errno(&error))
}

/// Whether the entry that a name leads to has exactly this name: Windows finds `A` under the name `a`, too.
pub(crate) fn has_this_name(directory: impl AsFd, name: &CStr) -> io::Result<bool> {
    let opened = openat(directory, name, OFlags::PATH, Mode::empty())?;
    Ok(name == c"." || copal_windows::is_named(&opened, name.to_bytes())?)
}

/// Appends at most `wanted` bytes of a file to a buffer, without growing it.
pub(crate) fn append_at(file: &File, buffer: &mut Vec<u8>, wanted: usize, offset: u64) -> Result<usize, Errno> {
    let filled = buffer.len();
    buffer.resize(filled + wanted.min(buffer.capacity() - filled), 0);
    let got = std::os::windows::fs::FileExt::seek_read(file, &mut buffer[filled..], offset);
    buffer.truncate(filled + *got.as_ref().unwrap_or(&0));
    got.map_err(|error| errno(&error))
}

/// The holes of an open file of `size` bytes: ranges that read as zeros and take no space, ascending. At most `HOLES_MAX`:
/// later holes are read as content.
pub fn holes_of(file: impl AsFd, size: u64) -> io::Result<Vec<Range<u64>>> {
    // The file system tells nothing of content that lies elsewhere, so the whole file is read.
    if copal_windows::is_elsewhere(&copal_windows::stat(&file)?) {
        return Ok(Vec::new());
    }
    let data = match copal_windows::allocated(file, size, HOLES_MAX) {
        // Not every file system tells.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Vec::new()),
        data => data?,
    };
    let ends = data.iter().map(|range| range.start);
    let starts = std::iter::once(0).chain(data.iter().map(|range| range.end));
    let last = if data.len() < HOLES_MAX { Some(size) } else { None };
    let holes = starts.zip(ends.chain(last)).map(|(start, end)| start..end);
    Ok(holes.filter(|hole| !hole.is_empty()).take(HOLES_MAX).collect())
}

/// Windows has no inherited ACL that a restore would have to take away: it sets none.
pub(crate) fn has_default_acl(_: BorrowedFd<'_>) -> bool {
    false
}

/// Whether the kernel makes the files there when they are read; only Linux is asked.
pub(crate) fn is_of_kernel(_: &Path) -> bool {
    false
}

/// Whether the file system may give a file another number once nobody has it open: FAT and some servers do.
pub(crate) fn renumbers_files(_: impl AsFd) -> bool {
    true
}

/// A volume mounted in a folder is a reparse point, and those are never entered.
pub(crate) fn is_mount_point(_: impl AsFd) -> io::Result<bool> {
    Ok(false)
}

/// Windows takes such advice only when a file is opened.
pub(crate) fn expect_sequential(_: &File) {}

/// Windows reads a file anew only if it is opened without its cache.
pub(crate) fn forget_cached(_: &File) {}

/// Only whole volumes can be written back, with the rights of an administrator.
pub(crate) fn write_back(_: impl AsFd) -> io::Result<()> {
    Ok(())
}

/// Windows has no umask: a restore sets no permissions.
pub(crate) fn umask_told() -> Option<u32> {
    Some(0)
}

/// See [`umask_told`].
pub(crate) fn umask_asked() -> u32 {
    0
}

/// Lets parts of a file that are not written take no space; where the file system cannot, they are zeros.
pub(crate) fn keep_holes(file: &File) -> io::Result<()> {
    match copal_windows::make_sparse(file) {
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(()),
        made => Ok(made?),
    }
}

/// Options for a file of this user. Who may read it is inherited from its directory: a user's own profile is closed to
/// others.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    options
}

/// Makes a directory, and its parents. Who may enter is inherited, as for [`private_file`].
pub(crate) fn private_directory() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    builder
}

pub(crate) use copal_windows::FileExt;

/// Nobody gives entries away here.
pub(crate) fn is_root() -> bool {
    false
}

/// Users have no numbers here. An entry without an owner has this one.
pub(crate) fn user() -> u32 {
    0
}

/// See [`user`].
pub(crate) fn group() -> u32 {
    0
}

pub(crate) fn user_name(_: u32) -> Option<String> {
    None
}

pub(crate) fn group_name(_: u32) -> Option<String> {
    None
}

pub(crate) fn user_named(_: &str) -> Option<u32> {
    None
}

pub(crate) fn group_named(_: &str) -> Option<u32> {
    None
}

pub(crate) fn host_name() -> Option<OsString> {
    copal_windows::host_name().ok()
}

/// Both ends of the pipes to a process, for the runtime.
pub(crate) fn ends_of(
    output: ChildStdout,
    input: ChildStdin,
) -> io::Result<(tokio::process::ChildStdout, tokio::process::ChildStdin)> {
    Ok((tokio::process::ChildStdout::from_std(output)?, tokio::process::ChildStdin::from_std(input)?))
}

/// A user's directory for one kind of files, of all programs.
pub(crate) fn home_of(below_home: &str, absolute: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let kind = if below_home == ".cache" { "cache" } else { "state" };
    absolute("LOCALAPPDATA").map(|local| local.join("copal").join(kind))
}

/// Whether a text begins with a drive, as in `C:\` or `C:/`.
pub(crate) fn has_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.get(1) == Some(&b':')
        && bytes.get(2).is_none_or(|byte| b"/\\".contains(byte))
        && !text[2..].starts_with("//")
}

/// Whether a path ends so that a final link is followed.
pub(crate) fn ends_in_separator(path: &Path) -> bool {
    let bytes = text::bytes(path.as_os_str());
    let ends = |end: &[u8]| bytes.ends_with(end);
    ends(b"/") || ends(b"\\") || ends(b"/.") || ends(b"\\.") || path.file_name().is_none()
}

/// The system's error in an error of std; `INVAL` for an error that std has made itself.
fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::INVAL)
}
