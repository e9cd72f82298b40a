//! Branch: the directories on the way to the roots, as a tree of names.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use copal_engine::path::TreePath;

/// A directory on the way to a root, or a root.
#[derive(Debug, Default)]
pub(super) struct Branch {
    /// Whether the user named it.
    pub(super) is_root: bool,
    /// What lies below it on the way to further roots.
    pub(super) below: BTreeMap<Vec<u8>, Branch>,
}

impl Branch {
    /// The top directory, with the ways to all roots below it.
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

/// Where the entry of a scanned tree is opened.
pub fn source_of(path: &TreePath) -> PathBuf {
    Path::new("/").join(OsStr::from_bytes(path.as_bytes()))
}
