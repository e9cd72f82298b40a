//! Handle: open files and directories, and how to open what lies in a directory.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle};
use std::path::Path;

use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Win32::Storage::FileSystem as fs;

use crate::calls::{self, Creation, Reparse};
use crate::errno::Errno;
use crate::flags::{Mode, OFlags};
use crate::{names, places};

/// An open file or directory. What lies above drives and shares is no directory of Windows: it has only a path.
#[derive(Debug)]
pub enum OwnedFd {
    /// Open.
    Open(OwnedHandle),
    /// Above drives and shares (see [`places::is_above`]).
    Above(Vec<u16>),
}

/// A borrowed [`OwnedFd`].
#[derive(Debug, Copy, Clone)]
pub enum BorrowedFd<'f> {
    /// Open.
    Open(BorrowedHandle<'f>),
    /// Above drives and shares.
    Above(&'f [u16]),
}

/// What is open.
pub trait AsFd {
    /// Borrows it.
    fn as_fd(&self) -> BorrowedFd<'_>;
}

impl AsFd for OwnedFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Open(handle) => BorrowedFd::Open(handle.as_handle()),
            Self::Above(path) => BorrowedFd::Above(path),
        }
    }
}

impl AsFd for BorrowedFd<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        *self
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        BorrowedFd::Open(self.as_handle())
    }
}

impl<T: AsFd + ?Sized> AsFd for &T {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}

impl<T: AsFd + ?Sized> AsFd for std::sync::Arc<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}

impl From<OwnedFd> for File {
    /// What lies above drives is never opened as a file: [`openat`] refuses that.
    fn from(fd: OwnedFd) -> Self {
        match fd {
            OwnedFd::Open(handle) => handle.into(),
            OwnedFd::Above(_) => unreachable!("only directories lie above drives"),
        }
    }
}

impl<'f> BorrowedFd<'f> {
    /// The handle; an error for what has none.
    pub(crate) fn handle(self) -> Result<BorrowedHandle<'f>, Errno> {
        match self {
            Self::Open(handle) => Ok(handle),
            Self::Above(_) => Err(Errno::OPNOTSUPP),
        }
    }
}

/// A name in a directory, as bytes of the tree. `.` is the directory itself.
pub trait Name {
    /// The bytes.
    fn bytes(&self) -> Vec<u8>;
}

impl Name for CStr {
    fn bytes(&self) -> Vec<u8> {
        self.to_bytes().to_vec()
    }
}

impl Name for CString {
    fn bytes(&self) -> Vec<u8> {
        self.to_bytes().to_vec()
    }
}

impl Name for OsStr {
    fn bytes(&self) -> Vec<u8> {
        names::from_disk(&self.encode_wide().collect::<Vec<_>>())
    }
}

impl Name for str {
    fn bytes(&self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }
}

impl<T: Name + ?Sized> Name for &T {
    fn bytes(&self) -> Vec<u8> {
        (**self).bytes()
    }
}

/// Opens the entry of a name; never through a link. A link itself is opened with `PATH` or `ATTRIBUTES`.
pub fn openat(directory: impl AsFd, name: impl Name, flags: OFlags, _: Mode) -> Result<OwnedFd, Errno> {
    let name = name.bytes();
    match directory.as_fd() {
        BorrowedFd::Open(handle) => open(Some(handle), &units(&name)?, flags),
        BorrowedFd::Above(path) if name == b"." => Ok(OwnedFd::Above(path.to_vec())),
        BorrowedFd::Above(path) => open_units(&places::child(path, &name).ok_or(Errno::NOENT)?, flags),
    }
}

/// Opens a path; an absolute one literally: a name may end in a dot or be that of a device. The last name is no link.
pub fn open_path(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let units = |path: &Path| path.as_os_str().encode_wide().collect::<Vec<_>>();
    let given = units(path);
    if places::is_above(&given) || places::native(&given).is_some() {
        return open_units(&given, flags);
    }
    open_units(&units(&std::path::absolute(path).map_err(|_| Errno::NOENT)?), flags)
}

/// The name of an entry as Windows keeps it; `.` is empty.
pub(crate) fn units(name: &[u8]) -> Result<Vec<u16>, Errno> {
    match name {
        b"." => Ok(Vec::new()),
        b".." | b"" => Err(Errno::INVAL),
        name => names::to_disk(name).ok_or(Errno::ILSEQ),
    }
}

fn open_units(path: &[u16], flags: OFlags) -> Result<OwnedFd, Errno> {
    if places::is_above(path) {
        return Ok(OwnedFd::Above(path.to_vec()));
    }
    open(None, &places::native(path).ok_or(Errno::NOENT)?, flags)
}

fn open(directory: Option<BorrowedHandle<'_>>, name: &[u16], flags: OFlags) -> Result<OwnedFd, Errno> {
    let look = fs::FILE_READ_ATTRIBUTES | fs::SYNCHRONIZE;
    let access = if flags.contains(OFlags::RDWR) {
        fs::FILE_GENERIC_READ | fs::FILE_GENERIC_WRITE
    } else if flags.contains(OFlags::WRONLY) {
        fs::FILE_GENERIC_WRITE | look
    } else if flags.contains(OFlags::ATTRIBUTES) {
        fs::FILE_WRITE_ATTRIBUTES | look
    } else if flags.contains(OFlags::PATH) {
        look
    } else {
        fs::FILE_GENERIC_READ
    };
    let disposition = match flags.contains(OFlags::CREATE) {
        true if flags.contains(OFlags::EXCL) => nt::FILE_CREATE,
        true => nt::FILE_OPEN_IF,
        false => nt::FILE_OPEN,
    };
    let kind = if flags.contains(OFlags::DIRECTORY) { nt::FILE_DIRECTORY_FILE } else { 0 };
    let creation = Creation { access, disposition, options: kind | nt::FILE_OPEN_REPARSE_POINT };
    let opened = calls::create(directory, name, creation)?;
    let reparse = calls::reparse(opened.as_handle())?;
    let opens_links = flags.intersects(OFlags::PATH | OFlags::ATTRIBUTES) && !flags.contains(OFlags::DIRECTORY);
    match reparse {
        None => Ok(OwnedFd::Open(opened)),
        Some(Reparse::Link) if !opens_links => Err(Errno::LOOP),
        Some(Reparse::Link) => Ok(OwnedFd::Open(opened)),
        Some(Reparse::Other) if flags.contains(OFlags::PATH) => Ok(OwnedFd::Open(opened)),
        // Something between the file and its reader keeps the content elsewhere, packed or in a cloud, and shows it to
        // those who open it plainly.
        Some(Reparse::Other) => {
            calls::create(directory, name, Creation { options: kind, ..creation }).map(OwnedFd::Open)
        }
    }
}
