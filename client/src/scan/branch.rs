//! Branch: the directories that lead to the roots, as a tree of names.

use std::collections::BTreeMap;

use copal_format::path::TreePath;

use super::scope::{Extent, Scope};

/// A root, or a directory that leads to one; in a narrowed scan also any other entry that is looked at.
#[derive(Debug, Default)]
pub(super) struct Branch {
    pub(super) is_root: bool,
    /// Whether the user named this root: then it is reported if it does not exist.
    pub(super) is_named: bool,
    /// Names below it that are or lead to roots.
    pub(super) below: BTreeMap<Vec<u8>, Branch>,
}

impl Branch {
    /// Builds the tree for these roots; returns its top directory.
    pub(super) fn top<'a>(roots: impl IntoIterator<Item = &'a TreePath>) -> Self {
        let mut top = Branch::default();
        for root in roots {
            let at = top.at(root);
            (at.is_root, at.is_named) = (true, true);
        }
        top
    }

    /// Builds the tree for what is in a scope. Roots within a directory that is looked at as a whole stay roots: they may
    /// lie on other devices.
    pub(super) fn narrowed<'a>(scope: &Scope, roots: impl Iterator<Item = &'a TreePath>) -> Self {
        let mut top = Branch::default();
        for (path, extent) in scope.iter().filter(|(_, extent)| *extent != Extent::Gone) {
            top.at(path).is_root = extent == Extent::Whole;
        }
        for root in roots {
            let Some((path, extent)) = scope.over(root).filter(|(_, extent)| *extent != Extent::Gone) else { continue };
            let at = top.at(root);
            (at.is_root, at.is_named) = (extent == Extent::Whole || path != root, true);
        }
        top
    }

    /// The branch at a path, if there is one.
    pub(super) fn of(&self, path: &TreePath) -> Option<&Self> {
        names(path).try_fold(self, |at, name| at.below.get(name))
    }

    /// The roots that the user named, at and below this branch, whose path is given.
    pub(super) fn named(&self, path: &TreePath) -> Vec<TreePath> {
        let own = self.is_named.then(|| path.clone());
        let below = self.below.iter().filter_map(|(name, branch)| Some((path.join(name).ok()?, branch)));
        own.into_iter().chain(below.flat_map(|(path, branch)| branch.named(&path))).collect()
    }

    fn at(&mut self, path: &TreePath) -> &mut Self {
        names(path).fold(self, |at, name| at.below.entry(name.to_vec()).or_default())
    }
}

fn names(path: &TreePath) -> impl Iterator<Item = &[u8]> {
    path.as_bytes().split(|&byte| byte == b'/').filter(|name| !name.is_empty())
}
