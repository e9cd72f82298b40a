//! Branch: the directories that lead to the roots, as a tree of names.

use std::collections::BTreeMap;

use copal_format::path::TreePath;

/// A root, or a directory that leads to one.
#[derive(Debug, Default)]
pub(super) struct Branch {
    pub(super) is_root: bool,
    /// Names below it that are or lead to roots.
    pub(super) below: BTreeMap<Vec<u8>, Branch>,
}

impl Branch {
    /// Builds the tree for these roots; returns its top directory.
    pub(super) fn top<'a>(roots: impl IntoIterator<Item = &'a TreePath>) -> Self {
        let mut top = Branch::default();
        for root in roots {
            let mut at = &mut top;
            for name in root.as_bytes().split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
                at = at.below.entry(name.to_vec()).or_default();
            }
            at.is_root = true;
        }
        top
    }
}
