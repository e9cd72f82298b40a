//! Scope: which part of a snapshot to restore, and where its entries go.

use copal_format::id::ChunkId;
use copal_format::path::TreePath;

use crate::reader::{EntryStream, PageReader, ReadError, TreeError};

/// A part of a snapshot: a directory with its content, one other entry, or everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    path: TreePath,
    /// The directory whose content goes to the top of the target: `path` itself, or its parent.
    base: TreePath,
}

/// A place in a snapshot, as a person wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecPath {
    /// Began with `/`: relative to the snapshot's top.
    Absolute(TreePath),
    /// Began without `/`: may also be relative to what was backed up.
    Relative(TreePath),
}

impl SpecPath {
    /// Lists the paths in a snapshot of `sources` that this place may mean, the likeliest first. A relative path is
    /// tried below each source, then from the directories above it (`backup docs`, `restore latest:docs`), then from the
    /// top.
    pub fn candidates(&self, sources: &[TreePath]) -> Vec<TreePath> {
        let path = match self {
            Self::Absolute(path) => return vec![path.clone()],
            Self::Relative(path) => path,
        };
        let mut places = Vec::new();
        for source in sources {
            places.extend(below(source, path));
            let above = core::iter::successors(source.parent(), TreePath::parent);
            places.extend(above.filter_map(|folder| below(&folder, path)).filter(|place| place.is_within(source)));
        }
        places.push(path.clone());
        let mut seen = std::collections::HashSet::new();
        places.retain(|place| seen.insert(place.clone()));
        places
    }
}

/// Why a path is not found.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ScopeError {
    #[error("the snapshot has no such entry")]
    Absent,
    /// The path may be in a part of the tree that cannot be read.
    #[error("the part of the tree where it might be cannot be read")]
    Lost(#[source] ReadError),
    #[error(transparent)]
    Tree(#[from] TreeError),
}

impl Scope {
    /// The whole snapshot, with full paths.
    pub fn whole() -> Self {
        Self { path: TreePath::TOP, base: TreePath::TOP }
    }

    /// The part at a path, which is tried at each place where it may be in a snapshot of `sources`.
    pub fn find(pages: &PageReader, root: ChunkId, path: &SpecPath, sources: &[TreePath]) -> Result<Self, ScopeError> {
        let mut lost = None;
        for place in path.candidates(sources) {
            let mut stream = pages.entries(root);
            stream.seek(place.clone());
            let next = stream.next_readable()?;
            match next {
                // An entry below it shows that it is a directory, even if its own entry is lost.
                Some(entry) if entry.path.is_within(&place) => {
                    let is_directory =
                        entry.path != place || entry.mode.kind() == copal_format::tree::EntryKind::Directory;
                    let base = if is_directory { place.clone() } else { place.parent().unwrap_or_default() };
                    return Ok(Self { path: place, base });
                }
                _ if place.is_top() => return Ok(Self::whole()),
                _ => lost = lost.or(stream.into_lost().into_iter().next()),
            }
        }
        Err(lost.map_or(ScopeError::Absent, |(_, error)| ScopeError::Lost(error)))
    }

    /// The selected entry.
    pub fn path(&self) -> &TreePath {
        &self.path
    }

    /// Whether the content of a directory is selected, not a single file.
    pub fn is_directory(&self) -> bool {
        self.path == self.base
    }

    /// The entries of the snapshot from the first one in the scope on.
    pub fn entries<'p>(&self, pages: &'p PageReader, root: ChunkId) -> EntryStream<'p> {
        let mut stream = pages.entries(root);
        if !self.path.is_top() {
            stream.seek(self.path.clone());
        }
        stream
    }

    /// Whether the scope contains an entry.
    pub fn holds(&self, path: &TreePath) -> bool {
        path.is_within(&self.path)
    }

    /// The directories, by their paths in the target, that were backed up with all their content.
    pub fn restored_directories(&self, sources: &[TreePath]) -> Vec<TreePath> {
        if !self.is_directory() {
            return Vec::new();
        }
        if sources.iter().any(|source| self.path.is_within(source)) {
            return vec![TreePath::TOP];
        }
        let mut below: Vec<_> = sources.iter().filter(|source| source.is_within(&self.path)).collect();
        below.sort();
        below.dedup_by(|source, above| source.is_within(above));
        below.into_iter().map(|source| self.inside(source)).collect()
    }

    /// Whether the target becomes a directory that was backed up, not only a parent of one.
    pub fn takes_root(&self, sources: &[TreePath]) -> bool {
        !self.path.is_top() || sources.iter().any(TreePath::is_top)
    }

    /// Where an entry of the scope goes in the target.
    pub fn inside(&self, path: &TreePath) -> TreePath {
        let below = path.as_bytes().get(self.base.as_bytes().len()..).unwrap_or_default();
        let below = below.strip_prefix(b"/").unwrap_or(below);
        TreePath::new(below).expect("the end of a path is a path")
    }

    /// The path in the snapshot that goes to a place in the target.
    pub fn outside(&self, place: &TreePath) -> TreePath {
        if self.base.is_top() || place.is_top() {
            return if place.is_top() { self.base.clone() } else { place.clone() };
        }
        let joined = [self.base.as_bytes(), b"/", place.as_bytes()].concat();
        // A path that exists only in the target may be too long when joined; then it is used as it is.
        TreePath::new(joined).unwrap_or_else(|_| place.clone())
    }
}

fn below(folder: &TreePath, path: &TreePath) -> Option<TreePath> {
    if folder.is_top() || path.is_top() {
        return Some(if path.is_top() { folder.clone() } else { path.clone() });
    }
    TreePath::new([folder.as_bytes(), path.as_bytes()].join(&b'/')).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TreePath {
        TreePath::new(text).unwrap()
    }

    #[test]
    fn nothing_outside_of_what_was_backed_up_counts_as_restored() {
        let sources = ["home/u/docs", "home/u/docs/deep", "srv"].map(path);
        let places = |at: &str| {
            let scope = Scope { path: path(at), base: path(at) };
            scope.restored_directories(&sources).iter().map(TreePath::to_string).collect::<Vec<_>>()
        };
        assert_eq!(places(""), ["home/u/docs", "srv"]);
        assert_eq!(places("home"), ["u/docs"]);
        assert_eq!(places("home/u/docs"), [""]);
        assert_eq!(places("srv/www"), [""]);
        assert_eq!(places("var"), [""; 0]);
        let file = Scope { path: path("srv/f"), base: path("srv") };
        assert!(file.restored_directories(&sources).is_empty());
        assert!(!Scope::whole().takes_root(&sources) && Scope::whole().takes_root(&[TreePath::TOP]));
    }

    #[test]
    fn a_directorys_content_goes_to_the_top_and_a_file_keeps_its_name() {
        let directory = Scope { path: path("home/u"), base: path("home/u") };
        let file = Scope { path: path("home/u/f"), base: path("home/u") };
        assert!(directory.is_directory() && !file.is_directory());
        assert_eq!(directory.inside(&path("home/u")), TreePath::TOP);
        for scope in [directory, file] {
            assert_eq!(scope.inside(&path("home/u/f")), path("f"));
            assert_eq!(scope.outside(&path("f")), path("home/u/f"));
        }
        let whole = Scope::whole();
        assert_eq!(whole.inside(&path("a/b")), path("a/b"));
        assert_eq!(whole.outside(&path("a/b")), path("a/b"));
    }
}
