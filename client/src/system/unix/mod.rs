//! Unix: what POSIX has.

#[cfg(not(target_os = "macos"))]
pub(crate) mod common;
#[cfg(not(target_os = "freebsd"))]
pub(crate) mod extras;
pub(crate) mod object;
pub(crate) mod open;

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout};

use copal_format::path::TreePath;
use nix::unistd::{Gid, Group, Uid, User};
use rustix::buffer::spare_capacity;
pub(crate) use rustix::fs::{AtFlags, Mode, mkdirat, openat, unlinkat};
use rustix::fs::{CWD, RawMode, readlinkat};
pub(crate) use rustix::fs::{FileType, OFlags};
pub(crate) use rustix::io::Errno;
use tokio::net::unix::pipe::{Receiver, Sender};

pub(crate) use std::os::fd::BorrowedFd;
pub(crate) use std::os::fd::{AsFd, OwnedFd};
pub(crate) use std::os::unix::fs::FileExt;

pub(crate) use object::{Call, Object};

/// Whether a file has the mode that it was made with.
pub(crate) const KEEPS_MODES: bool = true;

/// The path to open an entry of a tree by.
pub fn source_of(path: &TreePath) -> PathBuf {
    Path::new("/").join(OsStr::from_bytes(path.as_bytes()))
}

/// The prefix of every path that the tree leaves out.
pub(crate) const TOP: &[u8] = b"/";

/// The bytes of an absolute path's place in the tree.
pub fn tree_bytes(absolute: &Path) -> Option<Cow<'_, [u8]>> {
    let bytes = absolute.as_os_str().as_bytes();
    Some(bytes.strip_prefix(b"/").unwrap_or(bytes).into())
}

/// The bytes of a word of the system.
pub fn bytes_of(text: &OsStr) -> Cow<'_, [u8]> {
    text.as_bytes().into()
}

/// A path below some directory, as a path of the system for code that compares paths.
pub fn path_of(bytes: &[u8]) -> Cow<'_, Path> {
    Path::new(OsStr::from_bytes(bytes)).into()
}

/// A word of the system with these bytes.
pub fn os_string(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}

/// Opens a directory that the user chose: links are followed.
pub(crate) fn open_directory(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, flags, Mode::empty())?)
}

/// Where a link points.
pub(crate) fn link_target_at(directory: impl AsFd, name: &CStr) -> io::Result<Vec<u8>> {
    Ok(readlinkat(directory, name, Vec::new())?.into_bytes())
}

pub(crate) fn symlinkat(target: &[u8], directory: impl AsFd, name: &CStr) -> rustix::io::Result<()> {
    rustix::fs::symlinkat(OsStr::from_bytes(target), directory, name)
}

/// Makes another name for a file.
pub(crate) fn linkat(
    from: impl AsFd,
    old: &CString,
    to: impl AsFd,
    new: &CString,
    flags: AtFlags,
) -> rustix::io::Result<()> {
    rustix::fs::linkat(from, old, to, new, flags)
}

/// Appends at most `wanted` bytes of a file to a buffer, without growing it.
pub(crate) fn append_at(file: &File, buffer: &mut Vec<u8>, wanted: usize, offset: u64) -> Result<usize, Errno> {
    if wanted < buffer.capacity() - buffer.len() {
        let filled = buffer.len();
        buffer.resize(filled + wanted, 0);
        let got = rustix::io::pread(file, &mut buffer[filled..], offset);
        buffer.truncate(filled + got.unwrap_or(0));
        got
    } else {
        rustix::io::pread(file, spare_capacity(buffer), offset)
    }
}

/// Lets parts of a file that are not written take no space: always so here.
pub(crate) fn keep_holes(_: &File) -> io::Result<()> {
    Ok(())
}

/// Options for a file that this user alone may read and write.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// Makes a directory, and its parents, that only this user may enter.
pub(crate) fn private_directory() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder
}

/// Whether this process may give entries away.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The number of the user.
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The number of the user's group.
pub(crate) fn group() -> u32 {
    rustix::process::getegid().as_raw()
}

pub(crate) fn user_name(uid: u32) -> Option<String> {
    Some(User::from_uid(Uid::from_raw(uid)).ok()??.name)
}

pub(crate) fn group_name(gid: u32) -> Option<String> {
    Some(Group::from_gid(Gid::from_raw(gid)).ok()??.name)
}

pub(crate) fn user_named(name: &str) -> Option<u32> {
    Some(User::from_name(name).ok()??.uid.as_raw())
}

pub(crate) fn group_named(name: &str) -> Option<u32> {
    Some(Group::from_name(name).ok()??.gid.as_raw())
}

pub(crate) fn host_name() -> Option<OsString> {
    nix::unistd::gethostname().ok()
}

/// Both ends of the pipes to a process, for the runtime.
pub(crate) fn ends_of(output: ChildStdout, input: ChildStdin) -> io::Result<(Receiver, Sender)> {
    Ok((Receiver::from_owned_fd(OwnedFd::from(output))?, Sender::from_owned_fd(OwnedFd::from(input))?))
}

/// A user's directory for one kind of files, of all programs.
pub(crate) fn home_of(below_home: &str, absolute: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    absolute("HOME").map(|home| home.join(below_home).join("copal"))
}

/// Whether a text begins with a drive. There are none here.
pub(crate) fn has_drive(_: &str) -> bool {
    false
}

/// Whether a path ends so that a final link is followed.
pub(crate) fn ends_in_separator(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    bytes.ends_with(b"/") || bytes.ends_with(b"/.")
}

/// The permissions that new files do not get. To find out, the process has no umask for a moment.
#[allow(clippy::useless_conversion, reason = "a mode of macOS and FreeBSD has 16 bits")]
pub(crate) fn umask_asked() -> u32 {
    let mask = rustix::process::umask(Mode::empty());
    rustix::process::umask(mask);
    mask.bits().into()
}

/// The permissions of some bits of a mode.
pub(crate) fn mode_of(bits: u32) -> Mode {
    Mode::from_bits_truncate((bits & 0o7777) as RawMode)
}

/// The kind that the type bits of a mode name.
pub(crate) fn kind_of(mode: u32) -> FileType {
    FileType::from_raw_mode(mode as RawMode)
}
