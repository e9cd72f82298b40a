//! Nameless: a file that has no name until it is complete, so that nothing is left of it if its writer dies.

use std::fs::File;
use std::io;
use std::path::Path;

use copal_store::{sync, sync_directory};
use tempfile::{Builder, NamedTempFile};

use crate::system::nameless;

/// A file in a directory, for this user alone.
pub(super) enum Nameless {
    File(File),
    /// Has a hidden name, because the file system has no files without names. A killed writer leaves this file.
    Hidden(NamedTempFile),
}

impl Nameless {
    /// Makes a file in the directory that the path names.
    pub(super) fn beside(path: &Path) -> io::Result<Self> {
        if let Some(file) = nameless::make(above(path)) {
            return Ok(Self::File(file));
        }
        hidden().tempfile_in(above(path)).map(Self::Hidden)
    }

    pub(super) fn as_file(&self) -> &File {
        match self {
            Self::File(file) => file,
            Self::Hidden(part) => part.as_file(),
        }
    }

    /// Gives the file this path, durably. With `replace`, it replaces an existing file.
    pub(super) fn persist(self, path: &Path, replace: bool) -> io::Result<()> {
        sync(self.as_file())?;
        match self {
            Self::Hidden(part) => {
                // Such file systems may neither link nor rename without replacing: an empty file takes the name first.
                if !replace {
                    File::create_new(path)?;
                }
                part.persist(path).map(drop).map_err(|error| error.error)?;
            }
            // A link cannot replace a file, so this one gets a temporary name first.
            Self::File(file) if replace => {
                let part = hidden().make_in(above(path), |name| nameless::name(&file, name))?;
                part.persist(path).map_err(|error| error.error)?;
            }
            Self::File(file) => nameless::name(&file, path)?,
        }
        sync_directory(above(path))
    }
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    #[test]
    fn with_or_without_a_hidden_name_a_file_gets_its_name_once_and_replaces_only_if_it_may() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("export");
        let nameless = || Nameless::beside(&path).unwrap();
        let hidden = || Nameless::Hidden(hidden().tempfile_in(folder.path()).unwrap());
        for make in [&nameless as &dyn Fn() -> Nameless, &hidden] {
            for (text, replace, is_named) in [("one", false, true), ("two", false, false), ("three", true, true)] {
                let file = make();
                file.as_file().write_all(text.as_bytes()).unwrap();
                assert_eq!(file.persist(&path, replace).is_ok(), is_named, "{text}");
            }
            assert_eq!(fs::read(&path).unwrap(), b"three");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
            fs::remove_file(&path).unwrap();
        }
    }
}
