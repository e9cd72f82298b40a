//! Calls: the calls of Windows that std lacks, each behind a safe function. All unsafe code of this crate is here.
//!
//! Every call gets memory that lives as long as the call, with its true length, and handles that are borrowed from their
//! owners. What Windows writes are numbers, of which every bit pattern is valid.
#![allow(unsafe_code)]

use std::os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::ptr::{null, null_mut};

use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Win32::Foundation::{GetLastError, OBJ_CASE_INSENSITIVE, RtlNtStatusToDosError, UNICODE_STRING};
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::IO::{DeviceIoControl, IO_STATUS_BLOCK};
use windows_sys::Win32::System::SystemInformation::{ComputerNamePhysicalDnsHostname, GetComputerNameExW};
use windows_sys::core::BOOL;

use crate::errno::Errno;

/// How to open or make an entry.
#[derive(Copy, Clone)]
pub(crate) struct Creation {
    pub(crate) access: u32,
    pub(crate) disposition: u32,
    pub(crate) options: u32,
}

/// Opens or makes an entry: by a name in a directory, or by a whole native path. Others may read, write and delete it
/// meanwhile, as on other systems.
pub(crate) fn create(
    directory: Option<BorrowedHandle<'_>>,
    name: &[u16],
    creation: Creation,
) -> Result<OwnedHandle, Errno> {
    let bytes = u16::try_from(name.len() * 2).map_err(|_| Errno::NAMETOOLONG)?;
    let mut name = name.to_vec();
    let text = UNICODE_STRING { Length: bytes, MaximumLength: bytes, Buffer: name.as_mut_ptr() };
    let attributes = OBJECT_ATTRIBUTES {
        Length: size_of::<OBJECT_ATTRIBUTES>() as u32,
        RootDirectory: directory.map_or(null_mut(), |directory| directory.as_raw_handle()),
        ObjectName: &text,
        Attributes: OBJ_CASE_INSENSITIVE,
        SecurityDescriptor: null(),
        SecurityQualityOfService: null(),
    };
    let (mut handle, mut status) = (null_mut(), IO_STATUS_BLOCK::default());
    // SAFETY: all pointers are to values above, which live until the call returns; there are no extended attributes.
    let result = unsafe {
        nt::NtCreateFile(
            &mut handle,
            creation.access,
            &attributes,
            &mut status,
            null(),
            fs::FILE_ATTRIBUTE_NORMAL,
            fs::FILE_SHARE_READ | fs::FILE_SHARE_WRITE | fs::FILE_SHARE_DELETE,
            creation.disposition,
            creation.options | nt::FILE_SYNCHRONOUS_IO_NONALERT | nt::FILE_OPEN_FOR_BACKUP_INTENT,
            null(),
            0,
        )
    };
    match result.cast_unsigned() {
        // SAFETY: the call made this handle, and nobody else has it.
        0..0x8000_0000 => Ok(unsafe { OwnedHandle::from_raw_handle(handle) }),
        STATUS_FILE_IS_A_DIRECTORY => Err(Errno::ISDIR),
        STATUS_DELETE_PENDING => Err(Errno::BUSY),
        // SAFETY: translates a number.
        _ => Err(Errno::from_code(unsafe { RtlNtStatusToDosError(result) })),
    }
}

/// A record that Windows fills for an open file.
///
/// # Safety
/// The type is made of numbers only, and is the one that the class stands for.
pub(crate) unsafe trait Info: Default + Copy {
    const CLASS: i32;
}

// SAFETY: numbers only (and booleans as u8), of the class by Microsoft's reference of FILE_INFO_BY_HANDLE_CLASS.
unsafe impl Info for fs::FILE_BASIC_INFO {
    const CLASS: i32 = fs::FileBasicInfo;
}

// SAFETY: as above.
unsafe impl Info for fs::FILE_STANDARD_INFO {
    const CLASS: i32 = fs::FileStandardInfo;
}

// SAFETY: as above.
unsafe impl Info for fs::FILE_ATTRIBUTE_TAG_INFO {
    const CLASS: i32 = fs::FileAttributeTagInfo;
}

// SAFETY: as above.
unsafe impl Info for fs::FILE_DISPOSITION_INFO {
    const CLASS: i32 = fs::FileDispositionInfo;
}

// SAFETY: as above.
unsafe impl Info for fs::FILE_DISPOSITION_INFO_EX {
    const CLASS: i32 = fs::FileDispositionInfoEx;
}

pub(crate) fn query<I: Info>(handle: BorrowedHandle<'_>) -> Result<I, Errno> {
    let mut info = I::default();
    // SAFETY: the class writes at most one such record.
    checked(unsafe {
        let into = (&raw mut info).cast();
        fs::GetFileInformationByHandleEx(handle.as_raw_handle(), I::CLASS, into, size_of::<I>() as u32)
    })?;
    Ok(info)
}

pub(crate) fn set<I: Info>(handle: BorrowedHandle<'_>, info: I) -> Result<(), Errno> {
    // SAFETY: the class reads one such record.
    checked(unsafe {
        let from = (&raw const info).cast();
        fs::SetFileInformationByHandle(handle.as_raw_handle(), I::CLASS, from, size_of::<I>() as u32)
    })
}

/// Number, volume, links, times and size of an open file.
pub(crate) fn by_handle(handle: BorrowedHandle<'_>) -> Result<fs::BY_HANDLE_FILE_INFORMATION, Errno> {
    let mut information = fs::BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the call writes one such record.
    checked(unsafe { fs::GetFileInformationByHandle(handle.as_raw_handle(), &mut information) })?;
    Ok(information)
}

/// Whether an open file is a reparse point, and one that leads to another name, as symbolic links and junctions do. The top
/// of a drive never does; wine says so of one.
pub(crate) fn reparse(handle: BorrowedHandle<'_>) -> Result<Option<Reparse>, Errno> {
    let tag: fs::FILE_ATTRIBUTE_TAG_INFO = match query(handle) {
        // File systems without such points, as FAT.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(None),
        tag => tag?,
    };
    if tag.FileAttributes & fs::FILE_ATTRIBUTE_REPARSE_POINT == 0 {
        return Ok(None);
    }
    let is_top = || final_path(handle).is_ok_and(|path| path.ends_with(&[b':'.into(), b'\\'.into()]));
    match tag.ReparseTag & NAME_SURROGATE != 0 {
        true if is_top() => Ok(None),
        true => Ok(Some(Reparse::Link)),
        false => Ok(Some(Reparse::Other)),
    }
}

/// What a reparse point is.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Reparse {
    /// It leads to another name.
    Link,
    /// Its content is kept by a driver between the file and its reader.
    Other,
}

/// More records of an open directory, as [`crate::list`] reads them; false if there are none.
pub(crate) fn more_names(handle: BorrowedHandle<'_>, buffer: &mut [u64]) -> Result<bool, Errno> {
    // SAFETY: the buffer is as long as said, and aligned as the records want it.
    let listed = checked(unsafe {
        let (into, bytes) = (buffer.as_mut_ptr().cast(), size_of_val(buffer) as u32);
        fs::GetFileInformationByHandleEx(handle.as_raw_handle(), fs::FileIdBothDirectoryInfo, into, bytes)
    });
    match listed {
        Ok(()) => Ok(true),
        Err(errno) if errno.raw_os_error() == NO_MORE_FILES => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Sends a control code; returns the bytes that came back, and whether more did not fit.
pub(crate) fn control(
    handle: BorrowedHandle<'_>,
    code: u32,
    input: &[u8],
    output: &mut [u8],
) -> Result<(usize, bool), Errno> {
    let mut bytes = 0;
    // SAFETY: both buffers are as long as said; the file was opened for calls that wait.
    let done = checked(unsafe {
        let (from, into) = (input.as_ptr().cast(), output.as_mut_ptr().cast());
        let lengths = (input.len() as u32, output.len() as u32);
        DeviceIoControl(handle.as_raw_handle(), code, from, lengths.0, into, lengths.1, &mut bytes, null_mut())
    });
    match done {
        Ok(()) => Ok((bytes as usize, false)),
        Err(Errno::RANGE) => Ok((bytes as usize, true)),
        Err(errno) => Err(errno),
    }
}

/// The path of an open file, with `\\?\`.
pub(crate) fn final_path(handle: BorrowedHandle<'_>) -> Result<Vec<u16>, Errno> {
    let mut path = vec![0; 512];
    loop {
        // SAFETY: the buffer is as long as said.
        let length = unsafe {
            let (into, units) = (path.as_mut_ptr(), path.len() as u32);
            fs::GetFinalPathNameByHandleW(handle.as_raw_handle(), into, units, fs::VOLUME_NAME_DOS)
        } as usize;
        match length {
            0 => return Err(last_error()),
            length if length < path.len() => {
                path.truncate(length);
                return Ok(path);
            }
            length => path.resize(length + 1, 0),
        }
    }
}

/// Renames a file durably, unless the new name exists. Both paths end in a zero.
pub(crate) fn rename_new(from: &[u16], to: &[u16]) -> Result<(), Errno> {
    assert!(from.last() == Some(&0) && to.last() == Some(&0), "a path ends in a zero");
    // SAFETY: both texts end in a zero. Without MOVEFILE_REPLACE_EXISTING the call fails if the name exists.
    checked(unsafe { fs::MoveFileExW(from.as_ptr(), to.as_ptr(), fs::MOVEFILE_WRITE_THROUGH) })
}

/// The bytes that this user may still write where a directory lies. The path ends in a zero.
pub(crate) fn free_bytes(path: &[u16]) -> Result<u64, Errno> {
    assert!(path.last() == Some(&0), "a path ends in a zero");
    let mut free = 0;
    // SAFETY: the text ends in a zero, and the call writes one number.
    checked(unsafe { fs::GetDiskFreeSpaceExW(path.as_ptr(), &mut free, null_mut(), null_mut()) })?;
    Ok(free)
}

/// The name of this machine.
pub(crate) fn host_name() -> Result<Vec<u16>, Errno> {
    let mut name = [0; 256];
    let mut length = name.len() as u32;
    // SAFETY: the buffer is as long as said.
    checked(unsafe { GetComputerNameExW(ComputerNamePhysicalDnsHostname, name.as_mut_ptr(), &mut length) })?;
    Ok(name[..length as usize].to_vec())
}

fn checked(done: BOOL) -> Result<(), Errno> {
    if done != 0 { Ok(()) } else { Err(last_error()) }
}

fn last_error() -> Errno {
    // SAFETY: reads a number of this thread.
    Errno::from_code(unsafe { GetLastError() })
}

const STATUS_FILE_IS_A_DIRECTORY: u32 = 0xC000_00BA;
const STATUS_DELETE_PENDING: u32 = 0xC000_0056;
const NO_MORE_FILES: i32 = 18;
/// The bit of tags that stand for another name (IsReparseTagNameSurrogate).
const NAME_SURROGATE: u32 = 0x2000_0000;
