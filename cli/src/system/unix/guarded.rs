//! Guarded: a file that nobody but root and this user can change, or exchange for another one.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat};

#[derive(Debug, thiserror::Error)]
pub enum NotGuarded {
    /// Somebody else may change it, or exchange it for another one.
    #[error("{} may be changed by other users", .0.display())]
    Writable(PathBuf),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Checks a path: the file, each directory above it and each link on the way belong to root or this user, and nobody else
/// may write to them. So what is done with the path afterwards reaches the same file.
pub fn check(path: &Path) -> Result<(), NotGuarded> {
    find(path).map(drop)
}

/// Reads a text of at most `most` bytes from a file whose path passes the [check](check()).
pub fn read(path: &Path, most: u64) -> Result<String, NotGuarded> {
    let (directory, name, shown) = find(path)?;
    // A FIFO must not block the command.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(&directory, name, flags, Mode::empty()).map_err(io::Error::from)?;
    let stat = fstat(&file).map_err(io::Error::from)?;
    must_be_ours(&stat, &shown)?;
    if kind(&stat) != FileType::RegularFile {
        return Err(io::Error::other("it is not a file").into());
    }
    let mut text = String::new();
    File::from(file).take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(io::Error::other(format!("it is longer than {} KiB", most >> 10)).into());
    }
    Ok(text)
}

/// The directory in which the file lies, its name there, and its path without links. Each directory is opened before it is
/// checked, and the next name is looked up in the opened one.
fn find(path: &Path) -> Result<(OwnedFd, OsString, PathBuf), NotGuarded> {
    let mut rest = parts(&std::path::absolute(path)?);
    let mut shown = PathBuf::new();
    let mut directory = top()?;
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        let (found, stat) = look(&directory, &name)?;
        let place = if name == ".." { shown.parent().unwrap_or(Path::new("/")).to_owned() } else { shown.join(&name) };
        must_be_ours(&stat, &place)?;
        match kind(&stat) {
            FileType::Symlink => {
                links += 1;
                if links > LINKS_MOST {
                    return Err(io::Error::from(rustix::io::Errno::LOOP).into());
                }
                let target = readlinkat(&directory, name.as_os_str(), Vec::new()).map_err(io::Error::from)?;
                let target = Path::new(OsStr::from_bytes(target.to_bytes()));
                if target.is_absolute() {
                    (directory, shown) = (top()?, PathBuf::new());
                }
                let further = std::mem::replace(&mut rest, parts(target));
                rest.extend(further);
            }
            FileType::Directory => {
                (directory, shown) = (found.ok_or(io::ErrorKind::NotADirectory).map_err(io::Error::from)?, place);
            }
            _ if rest.is_empty() => return Ok((directory, name, place)),
            _ => return Err(io::Error::from(rustix::io::Errno::NOTDIR).into()),
        }
    }
    Err(io::Error::from(rustix::io::Errno::ISDIR).into())
}

/// The names of a path; the first one is `/` if the path begins there.
fn parts(path: &Path) -> VecDeque<OsString> {
    path.components().filter(|part| *part != Component::CurDir).map(|part| part.as_os_str().to_owned()).collect()
}

fn top() -> io::Result<OwnedFd> {
    Ok(openat(CWD, "/", PASSING | OFlags::DIRECTORY, Mode::empty())?)
}

/// Opens what a name stands for, and looks at what was opened.
#[cfg(target_os = "linux")]
fn look(directory: &OwnedFd, name: &OsStr) -> io::Result<(Option<OwnedFd>, Stat)> {
    let found = openat(directory, name, PASSING, Mode::empty())?;
    let stat = fstat(&found)?;
    Ok((Some(found), stat))
}

/// Looks at what a name stands for, and opens it if it is a directory. Links cannot be opened here.
#[cfg(not(target_os = "linux"))]
fn look(directory: &OwnedFd, name: &OsStr) -> io::Result<(Option<OwnedFd>, Stat)> {
    let stat = rustix::fs::statat(directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
    if kind(&stat) != FileType::Directory {
        return Ok((None, stat));
    }
    let found = openat(directory, name, PASSING | OFlags::DIRECTORY, Mode::empty())?;
    let stat = fstat(&found)?;
    Ok((Some(found), stat))
}

/// Refuses what belongs to another user, or what others may write to. A directory like `/tmp` passes, because users
/// cannot rename or delete files of others in it. The mode of a link means nothing.
fn must_be_ours(stat: &Stat, place: &Path) -> Result<(), NotGuarded> {
    let kind = kind(stat);
    let is_ours = stat.st_uid == 0 || stat.st_uid == rustix::process::geteuid().as_raw();
    let is_sticky = kind == FileType::Directory && stat.st_mode & 0o1000 != 0;
    if is_ours && (stat.st_mode & 0o022 == 0 || is_sticky || kind == FileType::Symlink) {
        Ok(())
    } else {
        Err(NotGuarded::Writable(place.to_owned()))
    }
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

#[cfg(target_os = "linux")]
const PASSING: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const PASSING: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// The kernel's limit.
const LINKS_MOST: usize = 40;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A directory with `a/file`, closed to others.
    fn place() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("a/b")).unwrap();
        fs::write(place.path().join("a/file"), "text").unwrap();
        for path in ["a/file", "a/b", "a"] {
            open(&place.path().join(path), 0);
        }
        place
    }

    fn open(path: &Path, others: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755 | others)).unwrap();
    }

    #[track_caller]
    fn refused(path: &Path, because: &Path) {
        match read(path, 100) {
            Err(NotGuarded::Writable(place)) => assert_eq!(place, because.canonicalize().unwrap()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_directory_and_link_on_the_way_counts() {
        let place = place();
        let at = |name: &str| place.path().join(name);
        symlink("../a/./b/../file", at("a/near")).unwrap();
        fs::create_dir(at("links")).unwrap();
        open(&at("links"), 0);
        symlink(at("a/near"), at("links/far")).unwrap();
        for path in ["a/file", "a/near", "links/far", "a/b/../file"] {
            assert_eq!(read(&at(path), 100).unwrap(), "text", "{path}");
            check(&at(path)).unwrap();
        }
        // Who may write to a directory may replace a link in it.
        open(&at("links"), 0o022);
        refused(&at("links/far"), &at("links"));
        assert_eq!(read(&at("a/near"), 100).unwrap(), "text");
        // Who may write to a directory may rename the directories in it.
        open(&at("a"), 0o020);
        refused(&at("a/b/../file"), &at("a"));
        open(&at("a"), 0);
        open(&at("a/file"), 0o002);
        refused(&at("a/near"), &at("a/file"));
    }

    #[test]
    fn a_directory_in_which_nobody_renames_what_others_own_is_safe() {
        let place = place();
        let path = place.path().join("a");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(read(&path.join("file"), 100).unwrap(), "text");
    }

    #[test]
    fn what_is_no_short_file_is_an_error_and_holds_nobody_up() {
        let place = place();
        let told = |path: &Path, most| read(path, most).unwrap_err().to_string();
        assert!(told(&place.path().join("a"), 100).contains("directory"));
        assert!(told(&place.path().join("a/file/x"), 100).contains("ot a directory"));
        assert!(told(&place.path().join("a/file"), 3).contains("longer"));
        symlink("loop", place.path().join("loop")).unwrap();
        assert!(told(&place.path().join("loop"), 100).contains("symbolic links"));
        rustix::fs::mknodat(CWD, place.path().join("fifo"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        assert!(told(&place.path().join("fifo"), 100).contains("not a file"));
    }
}
