//! Root: a path to back up, made absolute.

use std::io;
use std::path::{Path, PathBuf};

use copal_format::path::{BadPath, TreePath};

use crate::stat::EntryStat;
use crate::system::{ends_in_separator, tree_bytes};

/// A path where a scan starts. Its parent directories are canonical. If the last name is a symbolic link, the link
/// itself is the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    path: TreePath,
}

/// A path that cannot be scanned.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BadRoot {
    /// The path does not exist or cannot be reached.
    #[error("cannot back up {}", path.display())]
    Unreachable { path: PathBuf, source: io::Error },
    /// A tree cannot hold the path.
    #[error("cannot back up {}", path.display())]
    Path { path: PathBuf, source: BadPath },
}

impl Root {
    /// Resolves a path. With a final slash a link is followed, as everywhere on POSIX.
    pub fn new(given: &Path) -> Result<Self, BadRoot> {
        let unreachable = |source| BadRoot::Unreachable { path: given.into(), source };
        let absolute = make_absolute(given).map_err(unreachable)?;
        EntryStat::of_path(&absolute).map_err(unreachable)?;
        let bytes = tree_bytes(&absolute).ok_or_else(|| unreachable(io::ErrorKind::InvalidInput.into()))?;
        match TreePath::new(&bytes[..]) {
            Ok(path) => Ok(Self { path }),
            Err(source) => Err(BadRoot::Path { path: given.into(), source }),
        }
    }

    pub(super) fn at(path: TreePath) -> Self {
        Self { path }
    }

    /// Its path in the tree: the absolute path without the leading slash.
    pub fn path(&self) -> &TreePath {
        &self.path
    }
}

fn make_absolute(given: &Path) -> io::Result<PathBuf> {
    match given.file_name() {
        Some(name) if !ends_in_separator(given) => {
            let parent = given.parent().filter(|parent| !parent.as_os_str().is_empty());
            Ok(parent.unwrap_or(Path::new(".")).canonicalize()?.join(name))
        }
        _ => given.canonicalize(),
    }
}
