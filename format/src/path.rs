//! Path: the path of an entry in a tree, as bytes, in tree order.

use core::cmp::Ordering;

use crate::limits::PATH_BYTES;

/// Names joined by `/`, without a leading or trailing one; empty for the top directory. In the order of paths, `/`
/// comes before every other byte, so that a directory's content directly follows it.
#[derive(PartialEq, Eq, Hash, Default)]
pub struct TreePath(Vec<u8>);

/// Why a path cannot be in a tree.
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

    /// Checks a path's names and length.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, BadPath> {
        let bytes = bytes.into();
        check(&bytes)?;
        Ok(Self(bytes))
    }

    /// Replaces the path, reusing its memory. An invalid path leaves it unchanged.
    pub fn set(&mut self, bytes: &[u8]) -> Result<(), BadPath> {
        check(bytes)?;
        self.0.clear();
        self.0.extend_from_slice(bytes);
        Ok(())
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

    /// The parent directory; none for the top directory.
    pub fn parent(&self) -> Option<TreePath> {
        if self.0.is_empty() {
            return None;
        }
        let end = self.0.iter().rposition(|&b| b == b'/').unwrap_or(0);
        Some(Self(self.0[..end].to_vec()))
    }

    /// Whether `directory` is the parent directory of this entry.
    pub fn is_directly_in(&self, directory: &TreePath) -> bool {
        let name = match self.0.strip_prefix(directory.0.as_slice()) {
            Some(rest) if directory.0.is_empty() => rest,
            Some([b'/', name @ ..]) => name,
            _ => return false,
        };
        !name.is_empty() && !name.contains(&b'/')
    }

    /// Whether this is `directory` itself or lies below it.
    pub fn is_within(&self, directory: &TreePath) -> bool {
        match self.0.strip_prefix(directory.0.as_slice()) {
            Some(rest) => directory.0.is_empty() || rest.is_empty() || rest[0] == b'/',
            None => false,
        }
    }

    /// The entry directly in this directory that leads to `path`: `path` itself, or a directory above it. None if `path`
    /// is not below this directory.
    pub fn child_towards(&self, path: &TreePath) -> Option<TreePath> {
        let rest = path.0.strip_prefix(self.0.as_slice()).filter(|rest| !rest.is_empty())?;
        let start = if self.0.is_empty() { 0 } else { self.0.len() + 1 };
        if start > 0 && rest[0] != b'/' {
            return None;
        }
        let name = path.0[start..].iter().position(|&byte| byte == b'/');
        Some(Self(path.0[..name.map_or(path.0.len(), |length| start + length)].to_vec()))
    }

    /// The smallest path after everything in this directory; none for the top directory, or if it would be too long.
    pub fn behind(&self) -> Option<TreePath> {
        if self.0.is_empty() || self.0.len() + 1 > PATH_BYTES {
            return None;
        }
        // `/` comes before the smallest byte that a name may have.
        Some(Self([&self.0[..], &[1]].concat()))
    }

    /// Compares two paths' bytes in tree order.
    pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
        let rank = |byte: u8| if byte == b'/' { 0 } else { byte };
        let at = Self::shared(a, b);
        match (a.get(at), b.get(at)) {
            (Some(&a), Some(&b)) => rank(a).cmp(&rank(b)),
            _ => a.len().cmp(&b.len()),
        }
    }

    /// The length of the common prefix. Compares 8 bytes at a time: consecutive paths share most of their bytes.
    pub fn shared(a: &[u8], b: &[u8]) -> usize {
        let mut at = 0;
        while let (Some(x), Some(y)) = (a[at..].first_chunk::<8>(), b[at..].first_chunk::<8>()) {
            let differing = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
            if differing != 0 {
                return at + differing.trailing_zeros() as usize / 8;
            }
            at += 8;
        }
        at + a[at..].iter().zip(&b[at..]).take_while(|(x, y)| x == y).count()
    }
}

fn check(bytes: &[u8]) -> Result<(), BadPath> {
    if bytes.len() > PATH_BYTES {
        return Err(BadPath::Long(bytes.len()));
    }
    let sound = |name: &[u8]| !matches!(name, b"" | b"." | b"..");
    let (mut begin, mut has_zero) = (0, false);
    for (at, &byte) in bytes.iter().enumerate() {
        has_zero |= byte == 0;
        if byte == b'/' {
            if !sound(&bytes[begin..at]) {
                return Err(BadPath::Name);
            }
            begin = at + 1;
        }
    }
    if bytes.is_empty() || !has_zero && sound(&bytes[begin..]) { Ok(()) } else { Err(BadPath::Name) }
}

impl Clone for TreePath {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    // Reuses memory when the last of many paths is remembered.
    fn clone_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
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
    fn paths_compare_by_the_first_byte_that_differs_wherever_it_lies() {
        let long = b"Photos/2024/a directory of a name that takes some words/file";
        for at in 0..long.len() {
            for byte in [1, b'/', b'0', 0xff] {
                let mut other = *long;
                other[at] = byte;
                let rank = |byte: u8| if byte == b'/' { 0 } else { byte };
                assert_eq!(TreePath::compare(long, &other), rank(long[at]).cmp(&rank(byte)), "{at}, {byte}");
                assert_eq!(TreePath::shared(long, &other) == at, long[at] != byte);
            }
            assert_eq!(TreePath::compare(long, &long[..at]), Ordering::Greater);
            assert_eq!(TreePath::shared(&long[..at], long), at);
        }
    }

    #[test]
    fn a_path_that_is_set_is_checked_like_a_new_one() {
        let mut set = path("a/b");
        for bad in ["/a", "a/", "a//b", "..", "a/../b", ".", "a\0b", "a/b\0"] {
            assert_eq!(set.set(bad.as_bytes()), Err(BadPath::Name), "{bad:?}");
        }
        assert_eq!(set.set(&[b'a'; PATH_BYTES + 1]), Err(BadPath::Long(PATH_BYTES + 1)));
        assert_eq!(set, path("a/b"));
        for good in ["", "...", "c/.d/e..", "f"] {
            set.set(good.as_bytes()).unwrap();
            assert_eq!(set, path(good));
        }
    }

    #[test]
    fn only_the_parent_holds_an_entry_directly() {
        let all = ["", "a", "a/b", "a/b/c", "a/bc", "ab", "ab/c"].map(path);
        for entry in &all {
            for directory in &all {
                let is_parent = entry.parent().as_ref() == Some(directory);
                assert_eq!(entry.is_directly_in(directory), is_parent, "{entry} in {directory}");
            }
        }
    }

    #[test]
    fn the_child_towards_a_path_is_it_or_a_directory_above_it() {
        let all = ["", "a", "a/b", "a/b/c", "a/bc", "ab", "ab/c"].map(path);
        for below in &all {
            for directory in &all {
                let above = std::iter::successors(Some(below.clone()), TreePath::parent);
                let child = above.into_iter().find(|child| child.is_directly_in(directory));
                assert_eq!(directory.child_towards(below), child, "{below} in {directory}");
            }
        }
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
