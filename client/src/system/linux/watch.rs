//! Watch: what the kernel tells of changes in directories, by inotify(7).

use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;

use crate::system::event::Event;

/// Directories whose entries are watched.
pub(crate) struct Watches {
    kernel: OwnedFd,
}

impl Watches {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { kernel: init(CreateFlags::CLOEXEC)? })
    }

    /// Watches a directory, and gives the number by which its events name it; none if it is no directory that can be
    /// watched. Watching a directory twice gives the same number.
    pub(crate) fn add(&self, directory: &Path) -> io::Result<Option<i32>> {
        match add_watch(&self.kernel, directory, WATCHED) {
            Ok(number) => Ok(Some(number)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::PERM) => Ok(None),
            Err(Errno::NOSPC) => Err(io::Error::other(TOO_FEW)),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives each event to a function, in order, until that returns an error.
    pub(crate) fn follow<E: From<io::Error>>(&self, mut take: impl FnMut(Event) -> Result<(), E>) -> Result<(), E> {
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER_BYTES];
        let mut events = Reader::new(&self.kernel, &mut buffer);
        loop {
            let event = match events.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(io::Error::from(error).into()),
            };
            let flags = event.events();
            let directory = event.wd();
            take(if flags.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
                Event::Lost
            } else if flags.contains(ReadFlags::IGNORED) {
                Event::Ended { directory }
            } else {
                let name = event.file_name().map(|name| PathBuf::from(OsStr::from_bytes(name.to_bytes())));
                Event::Changed {
                    directory,
                    name,
                    is_directory: flags.contains(ReadFlags::ISDIR),
                    is_new: flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO),
                    is_gone: flags.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM),
                }
            })?;
        }
    }
}

/// Reads the kernel's table of mounts: each mount point, with the fields that differ if something else is mounted there.
pub(crate) fn mounts() -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let text = std::fs::read("/proc/self/mountinfo")?;
    let mount = |line: &[u8]| {
        let mut fields = line.splitn(6, |byte| *byte == b' ');
        let which: Vec<&[u8]> = fields.by_ref().take(4).collect();
        fields.next().map(|point| (unescaped(point), which.join(&b' ')))
    };
    Ok(text.split(|byte| *byte == b'\n').filter_map(mount).collect())
}

/// Each mount point, and whether its times may come from another machine, or from a program that talks to one. Empty if
/// the table cannot be read.
pub(crate) fn clocks() -> Vec<(PathBuf, bool)> {
    clocks_in(&std::fs::read("/proc/self/mountinfo").unwrap_or_default())
}

fn clocks_in(table: &[u8]) -> Vec<(PathBuf, bool)> {
    let mount = |line: &[u8]| {
        let point = unescaped(line.split(|byte| *byte == b' ').nth(4)?);
        let kind = line.windows(3).position(|three| three == b" - ").map(|at| &line[at + 3..])?;
        let is_local = [&b"fusectl "[..], b"fuseblk "].iter().any(|local| kind.starts_with(local));
        Some((point, !is_local && SERVED.split(' ').any(|served| kind.starts_with(served.as_bytes()))))
    };
    table.split(|byte| *byte == b'\n').filter_map(mount).collect()
}

/// The name of this process's mount namespace. Processes with the same name see the same mounts.
pub(crate) fn mount_table() -> PathBuf {
    std::fs::read_link("/proc/self/ns/mnt").unwrap_or_default()
}

/// A path of the table of mounts, which writes some bytes as a backslash and three octal digits.
fn unescaped(written: &[u8]) -> PathBuf {
    let mut path = Vec::with_capacity(written.len());
    let mut rest = written;
    while let [byte, after @ ..] = rest {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| *byte == b'\\').and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(escaped) => (path.push(escaped), rest = &after[3..]).1,
            None => (path.push(*byte), rest = after).1,
        }
    }
    OsStr::from_bytes(&path).into()
}

/// An entry is written, gets other metadata, appears, vanishes or is renamed. The kernel tells of a write through a memory
/// mapping only when the file is closed.
const WATCHED: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);
/// Beginnings of the names of file systems whose times do not come from this machine's clock.
const SERVED: &str =
    "nfs cifs smb fuse 9p ceph afs lustre virtiofs vboxsf beegfs gpfs autofs vmhgfs prl_fs orangefs ocfs2 gfs2";
const TOO_FEW: &str =
    "the system watches no more directories for this user: raise fs.inotify.max_user_watches with sysctl";
const BUFFER_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_mounts_writes_blanks_in_octal_digits() {
        assert_eq!(unescaped(br"/mnt/a\040b\134c\01"), PathBuf::from(r"/mnt/a b\c\01"));
        assert!(mounts().unwrap().iter().any(|(path, _)| path == Path::new("/")));
    }

    #[test]
    fn times_of_servers_are_told_from_those_of_this_machine() {
        let table = b"22 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n\
            40 22 0:50 / /mnt/a\\040b rw,relatime shared:2 master:3 - nfs4 server:/srv rw\n\
            42 22 8:2 / /mnt/disk rw - fuseblk /dev/sdb1 rw\n\
            41 22 0:51 / /mnt/ssh rw - fuse.sshfs host:/ rw\n";
        let found = [("/", false), ("/mnt/a b", true), ("/mnt/disk", false), ("/mnt/ssh", true)];
        let found = found.map(|(at, is_served)| (Path::new(at), is_served));
        assert!(clocks_in(table).iter().map(|(at, is_served)| (at.as_path(), *is_served)).eq(found));
        assert!(!clocks().is_empty());
    }
}
