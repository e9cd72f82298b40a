//! Path: the name of an entry in a tree, as bytes, in the order of the tree.

use core::cmp::Ordering;

use crate::limits::PATH_BYTES;

/// Names joined by `/`, without one at either end; empty for the top directory. Ordered with `/` below every other
/// byte, so that a directory's content follows it as one contiguous range.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct TreePath(Vec<u8>);

/// A path that no tree can hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    /// An empty name, `.`, `..`, or a name with a zero byte.
    #[error("a path holds an empty name, \".\", \"..\" or a zero byte")]
    Name,
    /// Longer than the format allows.
    #[error("a path of {0} bytes is too long")]
    Long(usize),
}

impl TreePath {
    /// The top directory.
    pub const TOP: TreePath = TreePath(Vec::new());

    /// Checks the names.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, BadPath> {
        let bytes = bytes.into();
        if bytes.len() > PATH_BYTES {
            return Err(BadPath::Long(bytes.len()));
        }
        let sound = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.contains(&0);
        if bytes.is_empty() || bytes.split(|&b| b == b'/').all(sound) { Ok(Self(bytes)) } else { Err(BadPath::Name) }
    }

    /// The path's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether this is the top directory.
    pub fn is_top(&self) -> bool {
        self.0.is_empty()
    }

    /// The entry `name` in this directory.
    pub fn join(&self, name: &[u8]) -> Result<Self, BadPath> {
        let mut bytes = Vec::with_capacity(self.0.len() + 1 + name.len());
        bytes.extend_from_slice(&self.0);
        if !bytes.is_empty() {
            bytes.push(b'/');
        }
        if name.contains(&b'/') {
            return Err(BadPath::Name);
        }
        bytes.extend_from_slice(name);
        Self::new(bytes)
    }

    /// The last name; empty for the top directory.
    pub fn name(&self) -> &[u8] {
        self.0.rsplit(|&b| b == b'/').next().unwrap_or_default()
    }

    /// The directory that holds this entry; none for the top directory.
    pub fn parent(&self) -> Option<TreePath> {
        if self.0.is_empty() {
            return None;
        }
        let end = self.0.iter().rposition(|&b| b == b'/').unwrap_or(0);
        Some(Self(self.0[..end].to_vec()))
    }

    /// Whether this is `directory` itself or lies below it.
    pub fn is_within(&self, directory: &TreePath) -> bool {
        match self.0.strip_prefix(directory.0.as_slice()) {
            Some(rest) => directory.0.is_empty() || rest.is_empty() || rest[0] == b'/',
            None => false,
        }
    }

    /// The least path that follows everything in this directory; none for the top, or if no path could lie in it.
    pub fn behind(&self) -> Option<TreePath> {
        if self.0.is_empty() || self.0.len() + 1 > PATH_BYTES {
            return None;
        }
        // `/` orders below the least byte that a name may hold.
        Some(Self([&self.0[..], &[1]].concat()))
    }

    /// Compares two paths' bytes in tree order.
    pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
        let rank = |byte: u8| if byte == b'/' { 0 } else { byte };
        let at = a.iter().zip(b).position(|(x, y)| x != y);
        at.map_or_else(|| a.len().cmp(&b.len()), |i| rank(a[i]).cmp(&rank(b[i])))
    }
}

impl Ord for TreePath {
    fn cmp(&self, other: &Self) -> Ordering {
        Self::compare(&self.0, &other.0)
    }
}

impl PartialOrd for TreePath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl core::fmt::Display for TreePath {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl core::fmt::Debug for TreePath {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "TreePath({:?})", String::from_utf8_lossy(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TreePath {
        TreePath::new(text).unwrap()
    }

    #[test]
    fn a_directorys_content_follows_it_before_any_sibling() {
        let mut paths = ["a.b", "a/z", "a", "a-b", "a/b/c", "a/b", "b", ""].map(path);
        paths.sort();
        assert_eq!(paths.map(|p| p.to_string()), ["", "a", "a/b", "a/b/c", "a/z", "a-b", "a.b", "b"]);
    }

    #[test]
    fn what_is_behind_a_directory_follows_its_content_and_precedes_all_else() {
        let behind = path("a").behind().unwrap();
        assert!(path("a/\u{10ffff}/z") < behind && behind <= path("a\u{1}") && behind < path("a-b"));
        assert_eq!(TreePath::TOP.behind(), None);
    }

    #[test]
    fn names_that_could_leave_the_target_are_refused() {
        for bad in ["/a", "a/", "a//b", "..", "a/../b", ".", "a\0b"] {
            assert_eq!(TreePath::new(bad), Err(BadPath::Name), "{bad:?}");
        }
        assert!(TreePath::TOP.join(b"a/b").is_err());
    }

    #[test]
    fn parent_name_and_containment_agree() {
        assert_eq!(path("a/b").parent(), Some(path("a")));
        assert_eq!(path("a").parent(), Some(TreePath::TOP));
        assert_eq!(path("a/b").name(), b"b");
        assert!(path("a/b").is_within(&path("a")) && path("a").is_within(&path("a")));
        assert!(!path("ab").is_within(&path("a")));
    }
}
