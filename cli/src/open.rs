//! Open: paths opened without following a symbolic link at any place, however long the path.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

/// Opens an absolute path. Someone who swaps one of its directories for a link meanwhile gets an error out of us, not
/// another directory's content. (A kernel without `openat2` checks the last name only.)
pub fn absolute(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let bytes = path.as_os_str().as_bytes();
    let (first, rest) = split(bytes);
    let first_flags = if rest.is_empty() { flags } else { PASSING };
    let opened = if openat2_works() {
        openat2(CWD, first, first_flags | ALWAYS, Mode::empty(), NO_LINKS)
    } else {
        openat(CWD, first, first_flags | ALWAYS, Mode::empty())
    };
    let opened = opened?;
    if rest.is_empty() { Ok(opened) } else { beneath(opened.as_fd(), rest, flags) }
}

/// Opens a path below a directory; the path is relative, without `.` or `..`, or empty for the directory itself. Neither
/// links nor anything else lead out of the directory.
pub fn beneath(directory: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    let mut reached: Option<OwnedFd> = None;
    let mut rest = if path.is_empty() { b"." } else { path };
    while !rest.is_empty() {
        let from = reached.as_ref().map_or(directory, |fd| fd.as_fd());
        let (piece, after) = if openat2_works() { split(rest) } else { split_at_name(rest) };
        let flags = ALWAYS | if after.is_empty() { flags } else { PASSING };
        reached = Some(if openat2_works() {
            openat2(from, piece, flags, Mode::empty(), NO_LINKS | ResolveFlags::BENEATH)?
        } else {
            openat(from, piece, flags, Mode::empty())?
        });
        rest = after;
    }
    Ok(reached.expect("a path has at least one piece"))
}

/// Opens an absolute path for reading, leaving its access time alone where the owner of the process may.
pub fn quietly(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | flags;
    match absolute(path, flags | OFlags::NOATIME) {
        Err(error) if error.raw_os_error() == Some(Errno::PERM.raw_os_error()) => absolute(path, flags),
        opened => opened,
    }
}

/// Splits a path that is too long for the kernel into a piece that is not, and the rest.
fn split(path: &[u8]) -> (&OsStr, &[u8]) {
    if path.len() < PATH_MAX {
        return (OsStr::from_bytes(path), &[]);
    }
    // Names are at most a few hundred bytes; a piece without a slash fails in the kernel as it should.
    match path[..PATH_MAX - 1].iter().rposition(|&byte| byte == b'/').filter(|&at| at > 0) {
        Some(at) => (OsStr::from_bytes(&path[..at]), &path[at + 1..]),
        None => (OsStr::from_bytes(path), &[]),
    }
}

fn split_at_name(path: &[u8]) -> (&OsStr, &[u8]) {
    match path.iter().position(|&byte| byte == b'/') {
        Some(at) => (OsStr::from_bytes(&path[..at]), &path[at + 1..]),
        None => (OsStr::from_bytes(path), &[]),
    }
}

/// `openat2` came with Linux 5.6, and some sandboxes forbid it with other errors than ENOSYS.
fn openat2_works() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| openat2(CWD, "/", PASSING | ALWAYS, Mode::empty(), NO_LINKS).is_ok())
}

/// The longest path the kernel takes, with its zero byte.
const PATH_MAX: usize = 4096;
const ALWAYS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW);
const PASSING: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
const NO_LINKS: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_anywhere_in_the_path_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("real/below")).unwrap();
        symlink("real", top.join("link")).unwrap();
        assert!(absolute(&top.join("real/below"), OFlags::DIRECTORY).is_ok());
        for path in ["link", "link/below"] {
            let refused = absolute(&top.join(path), OFlags::DIRECTORY).unwrap_err();
            let expected = [Errno::LOOP, Errno::NOTDIR].map(|errno| Some(errno.raw_os_error()));
            assert!(expected.contains(&refused.raw_os_error()), "{path}: {refused}");
        }
    }

    #[test]
    fn nothing_leads_out_of_a_directory() {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(top.path().join("inside/below")).unwrap();
        symlink("/etc", top.path().join("inside/out")).unwrap();
        let inside = absolute(&top.path().join("inside"), OFlags::PATH).unwrap();
        assert!(beneath(inside.as_fd(), b"below", OFlags::PATH).is_ok());
        assert!(beneath(inside.as_fd(), b"", OFlags::PATH).is_ok());
        for path in ["out/passwd", "..", "../inside", "/etc"] {
            assert!(beneath(inside.as_fd(), path.as_bytes(), OFlags::PATH | OFlags::DIRECTORY).is_err(), "{path}");
        }
    }

    #[test]
    fn long_paths_are_split_at_names() {
        let long = [b"/".as_slice(), &vec![b"name".as_slice(); 2000].join(&b'/')].concat();
        let (mut pieces, mut rest) = (Vec::new(), long.as_slice());
        while !rest.is_empty() {
            let (piece, after) = split(rest);
            pieces.push(piece.as_bytes());
            rest = after;
        }
        assert!(pieces.iter().all(|piece| piece.len() < PATH_MAX));
        assert_eq!(pieces.join(&b'/'), long);
    }
}
