//! As-path: a source that is read at one path and has another path in the snapshot, such as a file system snapshot that
//! is mounted elsewhere.

use std::iter;
use std::path::{Component, Path, PathBuf};

use copal_format::path::{BadPath, TreePath};

use super::root::{BadRoot, Root};
use crate::stat::{EntryStat, FileId};
use crate::system::{FileType, path_of, source_of, tree_bytes};

/// Where the entries of a snapshot lie on this machine. By default each lies at its own path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AsPath(Option<Moved>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Moved {
    /// The path in the snapshot.
    path: TreePath,
    /// The path to read it by.
    source: PathBuf,
    /// The last of the directories above the path that this machine has.
    there: TreePath,
}

/// A source that cannot stand at this path.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BadAsPath {
    #[error("{} is not absolute: write the whole path that the source has in the snapshot", .0.display())]
    Relative(PathBuf),
    #[error("{} contains \"..\": write the path without it", .0.display())]
    Dots(PathBuf),
    #[error("{} cannot stand in a snapshot", path.display())]
    Path { path: PathBuf, source: BadPath },
    #[error(transparent)]
    Root(#[from] BadRoot),
    #[error("{} is a symbolic link: add a slash at its end to save what it leads to", .0.display())]
    Link(PathBuf),
    #[error("{} is neither a directory nor a file", .0.display())]
    Kind(PathBuf),
    #[error("{} is a file: only a directory can stand at /", .0.display())]
    FileAtTop(PathBuf),
}

impl AsPath {
    /// Lets the source at `given` stand at the path of the root.
    pub fn new(root: &Root, given: &Path) -> Result<Self, BadAsPath> {
        let source = source_of(Root::new(given)?.path());
        let unreachable = |source| BadRoot::Unreachable { path: given.into(), source };
        match EntryStat::of_path(&source).map_err(unreachable)?.kind() {
            FileType::Directory => {}
            FileType::RegularFile if root.path().is_top() => return Err(BadAsPath::FileAtTop(given.into())),
            FileType::RegularFile => {}
            FileType::Symlink => return Err(BadAsPath::Link(given.into())),
            _ => return Err(BadAsPath::Kind(given.into())),
        }
        let path = root.path().clone();
        let is_there = |path: &TreePath| EntryStat::of_path(&source_of(path)).is_ok_and(|stat| stat.is_directory());
        let there = above(&path).into_iter().take_while(is_there).last().unwrap_or_default();
        Ok(Self(Some(Moved { path, source, there })))
    }

    /// Whether a source is read elsewhere.
    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }

    /// Whether this entry is read elsewhere. The directories above the source are not.
    pub fn moves(&self, path: &TreePath) -> bool {
        self.0.as_ref().is_some_and(|moved| path.is_within(&moved.path))
    }

    /// The path to open an entry of the snapshot by. A directory above the source that this machine does not have is read
    /// as the one that the source lies in.
    pub fn source_of(&self, path: &TreePath) -> PathBuf {
        let Some(moved) = &self.0 else { return source_of(path) };
        if !self.moves(path) {
            let is_there = moved.there.is_within(path);
            return moved.source.parent().filter(|_| !is_there).map_or_else(|| source_of(path), Path::to_owned);
        }
        let below = &path.as_bytes()[moved.path.as_bytes().len()..];
        match below.strip_prefix(b"/").unwrap_or(below) {
            b"" => moved.source.clone(),
            below => moved.source.join(path_of(below)),
        }
    }

    /// Like [`Self::source_of`], for a path that is written as one of this machine.
    pub fn place_of(&self, shown: &Path) -> PathBuf {
        let path = tree_bytes(shown).filter(|_| self.is_set()).and_then(|bytes| TreePath::new(&bytes[..]).ok());
        path.map_or_else(|| shown.to_owned(), |path| self.source_of(&path))
    }

    /// The path of a source that is read elsewhere.
    pub(super) fn path(&self) -> Option<&TreePath> {
        self.0.as_ref().map(|moved| &moved.path)
    }

    /// Whether two directories are the same one. In a file system snapshot a directory has another device, and keeps
    /// its inode number and birth time.
    pub(super) fn is_same(&self, one: FileId, other: FileId) -> bool {
        let is_copy = self.is_set() && one.birth.is_some() && (one.inode, one.birth) == (other.inode, other.birth);
        one == other || is_copy
    }
}

impl Root {
    /// A root at a path that need not exist, for [`AsPath`]. As for other roots, the directories above are resolved as far
    /// as they exist, so that one path means one series.
    pub fn named(path: &Path) -> Result<Self, BadAsPath> {
        if !path.is_absolute() {
            return Err(BadAsPath::Relative(path.into()));
        }
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(BadAsPath::Dots(path.into()));
        }
        let plain: PathBuf = path.components().collect();
        let resolved = match (plain.parent(), plain.file_name()) {
            (Some(parent), Some(name)) => resolve(parent).join(name),
            _ => plain,
        };
        let bad = |source| BadAsPath::Path { path: path.into(), source };
        Ok(Self::at(TreePath::new(tree_bytes(&resolved).unwrap_or_default()).map_err(bad)?))
    }
}

/// The directories above a path, from the top.
pub(super) fn above(path: &TreePath) -> Vec<TreePath> {
    let mut above: Vec<_> = iter::successors(path.parent(), TreePath::parent).collect();
    above.reverse();
    above
}

/// The path with links resolved as far as it exists.
pub(crate) fn resolve(path: &Path) -> PathBuf {
    let real = |there: &Path| Some(there.canonicalize().ok()?.join(path.strip_prefix(there).ok()?));
    path.ancestors().find_map(real).unwrap_or_else(|| path.to_owned())
}
