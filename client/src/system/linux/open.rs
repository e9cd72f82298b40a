//! Open: opens paths of any length without following symbolic links.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::system::unix::open::{ALWAYS, name_by_name};

/// Opens an absolute path. If somebody replaces one of its directories by a link meanwhile, this fails instead of
/// opening another directory.
pub fn absolute(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    walk(CWD, path.as_os_str().as_bytes(), flags, NO_LINKS, Way::best())
}

/// Opens a path below a directory. The path is relative, without `.` or `..`; an empty one is the directory itself.
/// Links, or anything else, cannot lead out of the directory.
pub fn beneath(directory: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    let path = if path.is_empty() { b"." } else { path };
    walk(directory, path, flags, BENEATH, Way::best())
}

/// Opens an absolute path for reading. Leaves the access time as it is, if this process has the right to.
pub fn quietly(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | flags;
    match absolute(path, flags | OFlags::NOATIME) {
        Err(error) if error.raw_os_error() == Some(Errno::PERM.raw_os_error()) => absolute(path, flags),
        opened => opened,
    }
}

/// How to walk a path.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
enum Way {
    /// With `openat2`, in pieces no longer than the kernel accepts.
    Pieces,
    /// Name by name, where `openat2` does not work.
    Names,
}

impl Way {
    /// Tests a call: `openat2` came with Linux 5.6, and some sandboxes forbid it with other errors than ENOSYS.
    fn best() -> Self {
        static BEST: OnceLock<Way> = OnceLock::new();
        let works = || openat2(CWD, "/", PASSING | ALWAYS, Mode::empty(), NO_LINKS).is_ok();
        *BEST.get_or_init(|| if works() { Self::Pieces } else { Self::Names })
    }
}

fn walk(start: BorrowedFd<'_>, path: &[u8], flags: OFlags, resolve: ResolveFlags, way: Way) -> io::Result<OwnedFd> {
    if way == Way::Names {
        return name_by_name(start, path, flags, resolve.contains(BENEATH));
    }
    let mut reached: Option<OwnedFd> = None;
    let mut rest = path;
    loop {
        let from = reached.as_ref().map_or(start, |fd| fd.as_fd());
        let (piece, after) = split(rest);
        let flags = ALWAYS | if after.is_empty() { flags } else { PASSING };
        let opened = openat2(from, piece, flags, Mode::empty(), resolve)?;
        if after.is_empty() {
            return Ok(opened);
        }
        (reached, rest) = (Some(opened), after);
    }
}

/// Splits a path that is too long for the kernel into a first piece that fits, and the rest.
fn split(path: &[u8]) -> (&OsStr, &[u8]) {
    if path.len() < PATH_MAX {
        return (OsStr::from_bytes(path), &[]);
    }
    // Names have at most a few hundred bytes. A longer piece without a slash fails in the kernel, as it should.
    match path[..PATH_MAX - 1].iter().rposition(|&byte| byte == b'/').filter(|&at| at > 0) {
        Some(at) => (OsStr::from_bytes(&path[..at]), &path[at + 1..]),
        None => (OsStr::from_bytes(path), &[]),
    }
}

/// The longest path that the kernel accepts, with its zero byte.
const PATH_MAX: usize = 4096;
const PASSING: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
const BENEATH: ResolveFlags = NO_LINKS.union(ResolveFlags::BENEATH);
const NO_LINKS: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::openat;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_anywhere_in_the_path_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("real/below")).unwrap();
        symlink("real", top.join("link")).unwrap();
        for way in [Way::Pieces, Way::Names] {
            let open = |path| walk(CWD, top.join(path).as_os_str().as_bytes(), OFlags::DIRECTORY, NO_LINKS, way);
            assert!(open("real/below").is_ok());
            for path in ["link", "link/below"] {
                let refused = open(path).unwrap_err().raw_os_error();
                let expected = [Errno::LOOP, Errno::NOTDIR].map(|errno| Some(errno.raw_os_error()));
                assert!(expected.contains(&refused), "{path} {way:?}: {refused:?}");
            }
        }
        assert!(absolute(Path::new("/"), OFlags::PATH).is_ok());
    }

    #[test]
    fn nothing_leads_out_of_a_directory() {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(top.path().join("inside/below")).unwrap();
        symlink("/etc", top.path().join("inside/out")).unwrap();
        let inside = openat(CWD, top.path().join("inside"), OFlags::PATH, Mode::empty()).unwrap();
        for way in [Way::Pieces, Way::Names] {
            let open = |path: &str| walk(inside.as_fd(), path.as_bytes(), PASSING, BENEATH, way);
            assert!(open("below").is_ok() && open(".").is_ok());
            for path in ["out", "out/ssl", "..", "../inside", "/etc", "below/../.."] {
                assert!(open(path).is_err(), "{path} {way:?}");
            }
        }
        assert!(beneath(inside.as_fd(), b"", PASSING).is_ok());
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
