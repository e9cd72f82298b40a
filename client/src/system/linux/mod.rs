//! Linux: what it has beside the rest of Unix.

pub(crate) mod attributes;
mod extras;
mod holes;
mod named;
pub mod open;
mod stat;
mod watch;

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

use copal_format::snapshot::MetadataSeen;
use rustix::fs::{
    Advice, AtFlags, FileType, Mode, OFlags, RawDir, StatxAttributes, StatxFlags, fadvise, getxattr, openat, statx,
};
use rustix::io::Errno;

pub use crate::system::unix::common::Birth;
pub(crate) use crate::system::unix::common::{forget_cached, has_this_name, mknodat};
pub use extras::link_target;
pub use holes::holes_of;
pub(crate) use named::Named;
pub(crate) use watch::{Watches, clocks, mount_table, mounts};

/// What a backup here sees of its entries: everything.
pub(crate) const SEEN: MetadataSeen = MetadataSeen(255);

/// How to open a directory to find entries in it: without the right to list it.
pub(crate) const PATH: OFlags = OFlags::PATH;

/// Gives each name of an open directory to a function, until that returns false. After an error the names so far stand.
pub(crate) fn list(directory: impl AsFd, mut take: impl FnMut(&[u8], FileType) -> bool) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(LISTING_BYTES);
    let mut listing = RawDir::new(directory, buffer.spare_capacity_mut());
    loop {
        match listing.next() {
            // The directory was removed while it was open.
            None | Some(Err(Errno::NOENT)) => return Ok(()),
            Some(Err(error)) => return Err(error.into()),
            Some(Ok(entry)) if !take(entry.file_name().to_bytes(), entry.file_type()) => return Ok(()),
            Some(Ok(_)) => {}
        }
    }
}

/// Whether new entries of a directory inherit an ACL.
pub(crate) fn has_default_acl(directory: BorrowedFd<'_>) -> bool {
    let through = format!("/proc/self/fd/{}", directory.as_raw_fd());
    getxattr(through, c"system.posix_acl_default", &mut [0; 0]).is_ok()
}

/// Whether the directory is a mount point; bind mounts count.
pub(crate) fn is_mount_point(directory: impl AsFd) -> io::Result<bool> {
    let stat = statx(directory, c"", AtFlags::EMPTY_PATH, StatxFlags::empty())?;
    Ok(stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Whether the files there are made by the kernel when they are read: some have no end, some wait for ever.
pub(crate) fn is_of_kernel(directory: &Path) -> bool {
    rustix::fs::statfs(directory).is_ok_and(|stat| OF_KERNEL.contains(&(stat.f_type as u32)))
}

/// Magic numbers of proc, sysfs, cgroup, cgroup2, debugfs, tracefs, securityfs, selinuxfs, devpts, pstore, bpf, configfs,
/// mqueue, binfmt_misc, fusectl, rpc_pipefs and nsfs (linux/magic.h).
const OF_KERNEL: [u32; 17] = [
    0x9fa0,
    0x6265_6572,
    0x0027_e0eb,
    0x6367_7270,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0xf97c_ff8c,
    0x1cd1,
    0x6165_676c,
    0xcafe_4a11,
    0x6265_6570,
    0x1980_0202,
    0x4249_4e4d,
    0x6573_5543,
    0x6759_6969,
    0x6e73_6673,
];

/// Whether the file system may give a file another inode number once nobody has it open: it keeps none itself.
pub(crate) fn renumbers_files(file: impl AsFd) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|stat| RENUMBERING.contains(&(stat.f_type as u32)))
}

/// Magic numbers of FUSE, FAT, exFAT, SMB (three of them), 9p and the shared folders of VirtualBox (linux/magic.h).
const RENUMBERING: [u32; 8] =
    [0x6573_5546, 0x4d44, 0x2011_bab0, 0xff53_4d42, 0xfe53_4d42, 0x517b, 0x0102_1997, 0x786f_4256];

/// Whether nobody may change an entry, root neither: it is immutable or grows only.
pub(crate) fn is_locked(directory: impl AsFd, name: &CStr) -> bool {
    let locks = StatxAttributes::IMMUTABLE | StatxAttributes::APPEND;
    let stat = statx(directory, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty());
    stat.is_ok_and(|stat| stat.stx_attributes.intersects(locks))
}

/// Advises the system that a file will be read from its start to its end. Only advice, so a failure does not matter.
pub(crate) fn expect_sequential(file: &File) {
    let _ = fadvise(file, 0, None, Advice::Sequential);
}

/// Writes everything on a directory's file system to the disk.
pub(crate) fn write_back(directory: impl AsFd) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(directory, c".", flags, Mode::empty()).and_then(rustix::fs::syncfs)?)
}

/// The permissions that new files do not get, where the system tells them.
pub(crate) fn umask_told() -> Option<u32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let told = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    told.and_then(|digits| u32::from_str_radix(digits.trim(), 8).ok())
}

/// Bytes of a listing asked of the kernel at once.
const LISTING_BYTES: usize = 32 << 10;
