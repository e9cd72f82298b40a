//! Later: the metadata of restored directories, kept until their content is written.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use copal_format::path::TreePath;
use copal_format::time::Time;

use super::WriteError;
use super::metadata::Metadata;
use super::target::Target;
use crate::read::Xattr;
use crate::system::Birth;

/// Directories whose metadata is not set yet: writing into a directory changes its mtime, and its mode may forbid
/// writing. Takes about 50 bytes and the last name per directory.
#[derive(Default)]
pub struct DirectoriesLater {
    directories: Vec<Directory>,
    names: Vec<u8>,
    /// Extended attributes, by the position of their directory; few directories have some.
    xattrs: Vec<(usize, Vec<Xattr>)>,
    /// The directories that may contain the next one, outermost first.
    above: Vec<(TreePath, u32)>,
}

struct Directory {
    /// The position of the nearest parent directory, or `NONE`.
    parent: u32,
    mode: u32,
    uid: u32,
    gid: u32,
    mtime: Time,
    birth: Birth,
    /// The end of its name in `names`; the name begins at the previous end.
    name_end: usize,
}

impl DirectoriesLater {
    /// Adds a directory's metadata. Directories come in tree order.
    pub fn push(&mut self, path: &TreePath, metadata: &Metadata<'_>) {
        while self.above.pop_if(|(above, _)| !path.is_within(above)).is_some() {}
        let (skip, parent) = self.above.last().map_or((0, NONE), |(above, at)| (above.as_bytes().len(), *at));
        let name = &path.as_bytes()[skip..];
        self.names.extend_from_slice(name.strip_prefix(b"/").unwrap_or(name));
        let position = self.directories.len();
        if !metadata.xattrs.is_empty() {
            self.xattrs.push((position, metadata.xattrs.to_vec()));
        }
        let Metadata { mode, uid, gid, mtime, birth, .. } = *metadata;
        self.directories.push(Directory { parent, mode, uid, gid, mtime, birth, name_end: self.names.len() });
        let position = u32::try_from(position).expect("four billion directories would not fit the memory");
        self.above.push((path.clone(), position));
    }

    /// Sets the metadata of all, children before parents. Calls `failed` for each error and goes on.
    pub fn apply(self, target: &Target, threads: usize, failed: impl Fn(WriteError) + Sync) {
        let (apart, above) = self.parts(threads);
        let next = AtomicUsize::new(0);
        let set = |position| {
            if let Err(error) = self.set(target, position) {
                failed(error);
            }
        };
        thread::scope(|scope| {
            for _ in 0..threads.min(apart.len()) {
                scope.spawn(|| {
                    while let Some(part) = apart.get(next.fetch_add(1, Ordering::Relaxed)) {
                        part.clone().rev().for_each(set);
                    }
                });
            }
        });
        above.into_iter().rev().for_each(set);
    }

    /// Subtrees that threads can take independently, and the directories above them.
    fn parts(&self, threads: usize) -> (Vec<Range<usize>>, Vec<usize>) {
        let mut within = vec![1; self.directories.len()];
        for position in (0..within.len()).rev() {
            let parent = self.directories[position].parent;
            if parent != NONE {
                within[parent as usize] += within[position];
            }
        }
        let most = within.len() / (threads * PARTS) + 1;
        let (mut apart, mut above, mut position) = (Vec::new(), Vec::new(), 0);
        while position < within.len() {
            if within[position] <= most {
                apart.push(position..position + within[position]);
                position += within[position];
            } else {
                above.push(position);
                position += 1;
            }
        }
        (apart, above)
    }

    fn set(&self, target: &Target, position: usize) -> Result<(), WriteError> {
        let xattrs = self.xattrs.binary_search_by_key(&position, |(at, _)| *at);
        let xattrs = xattrs.map(|at| self.xattrs[at].1.as_slice()).unwrap_or_default();
        let Directory { mode, uid, gid, mtime, birth, .. } = self.directories[position];
        target.set_metadata(&self.path(position), &Metadata { mode, uid, gid, mtime, birth, xattrs })
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
/// Subtrees per thread, so that all threads stay busy to the end.
const PARTS: usize = 16;
