//! Nameless: a file that has no name until it is whole, so that however its writer dies, nothing is left of it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};
use tempfile::{Builder, NamedTempFile};

/// A file in a directory, for this user alone.
pub(super) enum Nameless {
    File(File),
    /// Where the file system has no files without names: one with a name that nobody takes for a whole one. A killed
    /// writer leaves it.
    Hidden(NamedTempFile),
}

impl Nameless {
    /// Makes a file in the directory that the path names.
    pub(super) fn beside(path: &Path) -> io::Result<Self> {
        let (flags, mode) = (OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
        match openat(CWD, above(path), flags, mode) {
            Ok(file) => Ok(Self::File(File::from(file))),
            Err(_) => hidden().tempfile_in(above(path)).map(Self::Hidden),
        }
    }

    pub(super) fn as_file(&self) -> &File {
        match self {
            Self::File(file) => file,
            Self::Hidden(part) => part.as_file(),
        }
    }

    /// Gives the file this path, durably. With `replace`, in place of what is there.
    pub(super) fn persist(self, path: &Path, replace: bool) -> io::Result<()> {
        self.as_file().sync_all()?;
        match self {
            Self::Hidden(part) if replace => part.persist(path).map(drop).map_err(|error| error.error)?,
            Self::Hidden(part) => part.persist_noclobber(path).map(drop).map_err(|error| error.error)?,
            // A link replaces nothing: the file gets a passing name first.
            Self::File(file) if replace => {
                let part = hidden().make_in(above(path), |name| link(&file, name))?;
                part.persist(path).map_err(|error| error.error)?;
            }
            Self::File(file) => link(&file, path)?,
        }
        File::open(above(path))?.sync_all()
    }
}

fn link(file: &File, path: &Path) -> io::Result<()> {
    let from = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    Ok(linkat(CWD, &from, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

fn hidden() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(UNFINISHED);
    builder
}

fn above(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

const UNFINISHED: &str = ".copal-export-";
