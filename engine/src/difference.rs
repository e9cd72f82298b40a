//! Difference: how two entries of one path differ.

use copal_format::tree::Entry;

/// How an entry of a later tree differs from the one of an earlier tree.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Only the later tree has it.
    Added,
    /// Only the earlier tree has it.
    Removed,
    /// Its type differs.
    Type,
    /// Its content, link target or device number differs.
    Modified,
    /// Its content is the same; mode, owner, time, attributes or being hard-linked differ.
    Metadata,
}

/// How two entries of one path differ; none if only in inode, ctime or birth time, which no restore sets.
pub fn difference(before: Option<&Entry>, after: Option<&Entry>) -> Option<Difference> {
    let (before, after) = match (before, after) {
        (Some(before), Some(after)) => (before, after),
        (None, Some(_)) => return Some(Difference::Added),
        (Some(_), None) => return Some(Difference::Removed),
        (None, None) => return None,
    };
    let (old, new) = (&before.extras, &after.extras);
    if before.kind() != after.kind() {
        Some(Difference::Type)
    } else if (before.size, &before.content, &old.holes, &old.link_target, old.device)
        != (after.size, &after.content, &new.holes, &new.link_target, new.device)
    {
        Some(Difference::Modified)
    } else if (before.mode, &before.owner, before.mtime, &old.xattrs, old.hardlink.is_some())
        != (after.mode, &after.owner, after.mtime, &new.xattrs, new.hardlink.is_some())
    {
        Some(Difference::Metadata)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use copal_format::path::TreePath;
    use copal_format::time::Time;
    use copal_format::tree::{EntryKind, Mode};

    fn file() -> Entry {
        let plain = Entry::new(TreePath::new("a").unwrap(), Mode::new(EntryKind::File, 0o644));
        Entry { mtime: Time(1), ctime: Time(1), inode: 1, ..plain }
    }

    #[test]
    fn what_no_restore_sets_is_no_difference() {
        let moved = Entry { ctime: Time(9), birth: Some(Time(9)), inode: 9, ..file() };
        assert_eq!(difference(Some(&file()), Some(&moved)), None);
        assert_eq!(difference(None, None), None);
    }

    #[test]
    fn a_difference_says_the_most_that_differs() {
        let touched = Entry { mtime: Time(9), ..file() };
        let longer = Entry { size: 9, mtime: Time(9), ..file() };
        let directory = Entry { mode: Mode::new(EntryKind::Directory, 0o755), ..longer.clone() };
        for (before, after, expected) in [
            (None, Some(&touched), Difference::Added),
            (Some(&touched), None, Difference::Removed),
            (Some(&file()), Some(&touched), Difference::Metadata),
            (Some(&file()), Some(&longer), Difference::Modified),
            (Some(&file()), Some(&directory), Difference::Type),
        ] {
            assert_eq!(difference(before, after), Some(expected));
        }
    }
}
