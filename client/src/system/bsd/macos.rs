//! Attributes: what macOS knows of an entry beside `stat`, and calls that FreeBSD does not have. No call follows a link.

use std::ffi::{CStr, CString};
use std::fs::{File, FileTimes};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::macos::fs::FileTimesExt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use copal_format::snapshot::MetadataSeen;
use copal_format::time::Time;
use nix::libc;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, XattrFlags, fcntl_fullfsync, fcntl_nocache, fgetxattr, flistxattr, fremovexattr,
    fsetxattr, getpath, openat, statat,
};
use rustix::io::{Errno, Result};

use crate::system::extras::Extras;
use crate::system::unix::extras::collect;
use crate::system::{Call, Place, list, open};

/// What a backup here sees of its entries: everything but ACLs and holes.
pub(crate) const SEEN: MetadataSeen = MetadataSeen(255 - 16 - 32);

/// How to open a directory to find entries in it: without the right to list it.
pub(crate) const PATH: OFlags = OFlags::from_bits_retain(libc::O_SEARCH as u32);

/// When an entry was made.
#[derive(Debug, Copy, Clone, Default)]
pub struct Birth(Option<Time>);

impl From<Option<Time>> for Birth {
    fn from(birth: Option<Time>) -> Self {
        Self(birth)
    }
}

impl Birth {
    /// Sets it, if it is known and the file system keeps it.
    pub(crate) fn set(self, file: BorrowedFd<'_>) -> Result<()> {
        let Some(birth) = self.0 else { return Ok(()) };
        let (seconds, nanoseconds) = birth.to_unix();
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let at = match seconds {
            0.. => SystemTime::UNIX_EPOCH.checked_add(whole),
            _ => SystemTime::UNIX_EPOCH.checked_sub(whole),
        };
        let at = at.and_then(|at| at.checked_add(Duration::from_nanos(nanoseconds.into()))).ok_or(Errno::INVAL)?;
        let file = File::from(file.try_clone_to_owned().map_err(errno)?);
        match file.set_times(FileTimes::new().set_created(at)).map_err(errno) {
            Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
            set => set,
        }
    }
}

impl Extras {
    /// Reads the attributes of an entry by path: a directory, link or device. Does not follow a final link.
    pub fn read(path: &Path) -> Self {
        let opened = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => open::absolute(parent, PATH).and_then(|parent| {
                let name = CString::new(name.as_bytes())?;
                Ok(looked_at(Place { directory: parent.as_fd(), name: &name })?)
            }),
            _ => open::absolute(path, OFlags::RDONLY).map(Some),
        };
        match opened {
            Ok(entry) => entry.map_or_else(Self::default, Self::of_file),
            Err(error) => Self { xattrs: Vec::new(), unreadable: vec![(Vec::new(), error)] },
        }
    }

    /// Reads the attributes of an open file: Finder's information and the resource fork are among them.
    pub fn of_file(file: impl AsFd) -> Self {
        collect(|buffer| flistxattr(&file, buffer), |name, buffer| fgetxattr(&file, name, buffer), is_ours)
    }
}

/// Whether a backup contains this attribute. The system makes the others, and lets nobody change them.
pub(crate) fn is_ours(name: &[u8]) -> bool {
    const OF_THE_SYSTEM: [&[u8]; 4] =
        [b"com.apple.provenance", b"com.apple.macl", b"com.apple.rootless", b"com.apple.root.installed"];
    !name.is_empty() && !OF_THE_SYSTEM.contains(&name)
}

/// Whether setting it needs the right to write, which an entry's mode may not give: always so, also for an open file.
pub(crate) fn needs_writing(_: &[u8]) -> bool {
    true
}

pub(crate) fn set(object: Call<'_>, name: &CStr, value: &[u8]) -> Result<()> {
    // They mean nothing here, but would take effect on a Linux where they are restored later.
    const OF_LINUX: [&[u8]; 3] = [b"system.", b"security.", b"trusted."];
    if OF_LINUX.iter().any(|space| name.to_bytes().starts_with(space)) {
        return Err(Errno::NOTSUP);
    }
    with(object, |file| {
        // Writing over a longer one would leave its end.
        if name == c"com.apple.ResourceFork" {
            let _ = fremovexattr(file, name);
        }
        fsetxattr(file, name, value, XattrFlags::empty())
    })
}

pub(crate) fn remove(object: Call<'_>, name: &CStr) -> Result<()> {
    with(object, |file| fremovexattr(file, name))
}

/// The names of the attributes, each with a zero byte after it.
pub(crate) fn names(object: Call<'_>) -> Result<Vec<u8>> {
    with(object, |file| whole(|buffer| flistxattr(file, buffer)))
}

fn with<T>(object: Call<'_>, act: impl FnOnce(BorrowedFd<'_>) -> Result<T>) -> Result<T> {
    match object {
        Call::File(file) => act(file),
        Call::Name(named) => act(looked_at(named.0)?.ok_or(Errno::NOTSUP)?.as_fd()),
    }
}

/// The result of a call that gives the length for an empty buffer. A resource fork does not say if its buffer is too small,
/// so the length is asked first.
pub(crate) fn whole(call: impl Fn(&mut [u8]) -> Result<usize>) -> Result<Vec<u8>> {
    loop {
        let length = call(&mut [])?;
        if length > LONGEST {
            return Err(Errno::FBIG);
        }
        let mut buffer = vec![0; length];
        match call(&mut buffer) {
            // It has become longer meanwhile.
            Err(Errno::RANGE) => {}
            read => {
                buffer.truncate(read?);
                return Ok(buffer);
            }
        }
    }
}

/// Makes a FIFO with mode 0600. Only a path can name it: this takes the directory's own path, and then looks for the
/// FIFO in the open directory. Devices are made by the system alone.
pub(crate) fn mknodat(directory: impl AsFd, name: &CStr, kind: FileType, _: (u32, u32)) -> Result<()> {
    if kind != FileType::Fifo {
        return Err(Errno::PERM);
    }
    let path = path_of(&directory)?.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
    let mode = nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR;
    nix::unistd::mkfifo(&path, mode).map_err(|error| Errno::from_raw_os_error(error as i32))?;
    statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW).map(drop)
}

/// Whether the entry that a name leads to has exactly this name: most file systems find `a` by `A`.
pub(crate) fn has_this_name(directory: impl AsFd, name: &CStr) -> io::Result<bool> {
    if name == c"." {
        return Ok(true);
    }
    let found = looked_at(Place { directory: directory.as_fd(), name })?.map(path_of).transpose()?;
    if found.is_some_and(|path| path.file_name().is_some_and(|found| found.as_bytes() == name.to_bytes())) {
        return Ok(true);
    }
    // Asking an open file may give another of its names, and not everything can be opened.
    let mut is_there = false;
    list(
        openat(&directory, c".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?,
        |entry, _| {
            is_there = entry == name.to_bytes();
            !is_there
        },
    )?;
    Ok(is_there)
}

/// Makes reads of a file go to the disk, except for what is in memory already. Only advice, so a failure does not
/// matter.
pub(crate) fn forget_cached(file: &File) {
    let _ = fcntl_nocache(file, true);
}

/// Writes everything on a directory's file system to the disk.
pub(crate) fn write_back(directory: impl AsFd) -> io::Result<()> {
    rustix::fs::sync();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(directory, c".", flags, Mode::empty()).and_then(fcntl_fullfsync)?)
}

/// Opens a file, directory or link itself; none for other kinds. These have no attributes, and opening a FIFO or a
/// device is an act upon it.
fn looked_at(at: Place<'_>) -> Result<Option<OwnedFd>> {
    let kind = FileType::from_raw_mode(statat(at.directory, at.name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode);
    match kind {
        FileType::RegularFile | FileType::Directory | FileType::Symlink => {
            openat(at.directory, at.name, LOOKING, Mode::empty()).map(Some)
        }
        _ => Ok(None),
    }
}

fn path_of(file: impl AsFd) -> Result<PathBuf> {
    Ok(Path::new(std::ffi::OsStr::from_bytes(getpath(file)?.to_bytes())).to_owned())
}

fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// How to open an entry itself, without holding its volume.
const LOOKING: OFlags =
    OFlags::from_bits_retain((libc::O_EVTONLY | libc::O_SYMLINK | libc::O_NONBLOCK | libc::O_CLOEXEC) as u32);
/// The error of a call that reads or removes an attribute which the entry does not have.
pub(crate) const ABSENT: Errno = Errno::NOATTR;
/// A longer attribute is reported as unreadable: all metadata of an entry has to fit a page of the tree, of 2 MiB.
const LONGEST: usize = 1 << 20;
