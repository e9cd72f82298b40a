//! Leaves: checks that no entry lies below an entry that is not a directory. A tree with such an entry was made to
//! redirect the restore through a symbolic link.

use copal_format::path::TreePath;
use copal_format::tree::{Entry, EntryKind};

/// Checks the entries of a tree, in path order.
#[derive(Debug, Default)]
pub struct Leaves {
    last: Option<TreePath>,
}

impl Leaves {
    /// Whether the next entry may be restored. An entry below one that is not a directory is damage.
    pub fn admits(&mut self, entry: &Entry) -> bool {
        if self.last.as_ref().is_some_and(|leaf| entry.path.is_within(leaf)) {
            return false;
        }
        if entry.kind() != EntryKind::Directory {
            self.last = Some(entry.path.clone());
        }
        true
    }
}

/// The message about an entry that is not admitted.
pub const BELOW_LEAF: &str = "it is said to lie below what is no directory";

#[cfg(test)]
mod tests {
    use super::*;

    use copal_format::tree::Mode;

    fn entry(path: &str, kind: EntryKind) -> Entry {
        Entry::new(TreePath::new(path.as_bytes()).unwrap(), Mode::new(kind, 0o755))
    }

    #[test]
    fn nothing_lies_below_what_is_no_directory() {
        let mut leaves = Leaves::default();
        let mut admits = |path, kind| leaves.admits(&entry(path, kind));
        use EntryKind::{Directory, File, Symlink};
        assert!(admits("a", Directory) && admits("a/b", File));
        assert!(!admits("a/b/c", File) && !admits("a/b/c", Directory) && !admits("a/b/c/d", Symlink));
        assert!(admits("a/ba", Symlink), "a name that begins alike is another one");
        assert!(!admits("a/ba/x", File));
        assert!(admits("c", File), "what comes behind is no more below it");
    }
}
