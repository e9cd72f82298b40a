//! Later: the metadata of restored directories, kept until their content is there.

use copal_engine::path::TreePath;
use copal_engine::time::Time;

use super::WriteError;
use super::metadata::Metadata;
use super::target::Target;
use crate::read::Xattr;

/// Directories whose metadata is still to be set: writing into a directory changes its mtime, and its mode may forbid
/// it. Takes some 50 bytes and the last name of each.
#[derive(Default)]
pub struct DirectoriesLater {
    directories: Vec<Directory>,
    names: Vec<u8>,
    /// Attributes of the few that have some, by the directory's position.
    xattrs: Vec<(usize, Vec<Xattr>)>,
    /// Those that the next one may lie in, outermost first.
    above: Vec<(TreePath, u32)>,
}

struct Directory {
    /// The position of the nearest directory above it, or `NONE`.
    parent: u32,
    mode: u32,
    uid: u32,
    gid: u32,
    mtime: Time,
    /// Where its name in the parent ends; it begins where that of the one before ends.
    name_end: usize,
}

impl DirectoriesLater {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a directory's metadata. Directories come in tree order.
    pub fn push(&mut self, path: &TreePath, metadata: &Metadata<'_>) {
        while self.above.pop_if(|(above, _)| !path.is_within(above)).is_some() {}
        let (skip, parent) = self.above.last().map_or((0, NONE), |(above, at)| (above.as_bytes().len(), *at));
        let name = &path.as_bytes()[skip..];
        self.names.extend_from_slice(name.strip_prefix(b"/").unwrap_or(name));
        let position = self.directories.len();
        if !metadata.xattrs.is_empty() {
            self.xattrs.push((position, metadata.xattrs.to_vec()));
        }
        let Metadata { mode, uid, gid, mtime, .. } = *metadata;
        self.directories.push(Directory { parent, mode, uid, gid, mtime, name_end: self.names.len() });
        let position = u32::try_from(position).expect("four billion directories would not fit the memory");
        self.above.push((path.clone(), position));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.directories.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.directories.is_empty()
    }

    /// Sets the metadata of all, what is inside another before that one. One that fails does not keep the others from
    /// getting theirs.
    pub fn apply(mut self, target: &Target, mut failed: impl FnMut(WriteError)) {
        for position in (0..self.directories.len()).rev() {
            let xattrs = self.xattrs.pop_if(|(at, _)| *at == position).map(|(_, xattrs)| xattrs).unwrap_or_default();
            let Directory { mode, uid, gid, mtime, .. } = self.directories[position];
            let metadata = Metadata { mode, uid, gid, mtime, xattrs: &xattrs };
            if let Err(error) = target.set_metadata(&self.path(position), &metadata) {
                failed(error);
            }
        }
    }

    fn path(&self, position: usize) -> TreePath {
        let mut names = vec![self.name(position)];
        let mut at = self.directories[position].parent;
        while at != NONE {
            names.push(self.name(at as usize));
            at = self.directories[at as usize].parent;
        }
        let names: Vec<_> = names.into_iter().rev().filter(|name| !name.is_empty()).collect();
        TreePath::new(names.join(&b'/')).expect("the parts of a path make that path")
    }

    fn name(&self, position: usize) -> &[u8] {
        let start = position.checked_sub(1).map_or(0, |before| self.directories[before].name_end);
        &self.names[start..self.directories[position].name_end]
    }
}

const NONE: u32 = u32::MAX;
