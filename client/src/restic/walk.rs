//! Walk: the entries of a snapshot of restic, in tree order.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use copal_format::id::ChunkId;
use copal_format::path::TreePath;
use copal_format::tree::{Content, Entry, EntryKind, Owner};
use serde_json::value::RawValue;

use super::counted::Counted;
use super::node::Node;
use super::{DATA_MAX, Restic, brief};
use crate::backup::Entries;
use crate::reader::{ReadError, TreeError};

/// A tree: the JSON of one directory, whose nodes are read one by one.
pub(super) struct Tree {
    text: String,
    nodes: Vec<Range<usize>>,
}

#[derive(serde::Deserialize)]
struct TreeFile<'a> {
    #[serde(borrow, default)]
    nodes: Option<Counted<&'a RawValue, NODES_MAX>>,
}

impl Tree {
    pub(super) fn of(text: Vec<u8>) -> Result<Self, serde_json::Error> {
        let text = String::from_utf8(text).map_err(|_| serde::de::Error::custom("it is not text"))?;
        let file: TreeFile<'_> = serde_json::from_str(&text)?;
        let place = |node: &&RawValue| {
            let start = node.get().as_ptr() as usize - text.as_ptr() as usize;
            start..start + node.get().len()
        };
        let nodes: Vec<_> = file.nodes.iter().flat_map(|nodes| &nodes.0).map(place).collect();
        if nodes.len() > text.len() / NODE_LEAST {
            return Err(serde::de::Error::custom(NO_NODES));
        }
        Ok(Self { text, nodes })
    }

    pub(super) fn length(&self) -> usize {
        self.text.len()
    }

    fn node(&self, at: usize) -> Option<&str> {
        self.text.get(self.nodes.get(at)?.clone())
    }
}

/// Fewer bytes than any node has: `{"name":"","type":"file"}`.
const NODE_LEAST: usize = 24;
/// The nodes of the largest tree.
const NODES_MAX: usize = super::TREE_MAX as usize / NODE_LEAST;
const NO_NODES: &str = "its list of nodes is malformed, or longer than that of any tree";

/// Walks through all directories.
pub(super) struct Walk<'a> {
    restic: &'a Restic,
    /// The tree at the top, until it is read.
    root: Option<ChunkId>,
    /// The directories from the top to the current one.
    levels: Vec<Level>,
    owner: Arc<Owner>,
    /// The number of each file that says it has several names.
    groups: HashMap<(u64, u64), u64>,
    troubles: Vec<Lost>,
    /// Entries and directories that are lost, also those that are not named.
    lost: u64,
    /// Nodes that were read.
    read: u64,
    /// The most nodes that are read.
    most: u64,
}

struct Level {
    path: TreePath,
    tree: Arc<Tree>,
    /// The next node.
    at: usize,
    /// The name before it.
    last: Vec<u8>,
}

/// The path of an entry that is lost, or of its directory, and why.
type Lost = (TreePath, String);

impl<'a> Walk<'a> {
    /// Begins at a root, and ends after `most` entries.
    pub(super) fn new(restic: &'a Restic, root: ChunkId, most: u64) -> Self {
        let (levels, troubles, owner, groups) = (Vec::new(), Vec::new(), Arc::default(), HashMap::new());
        Self { restic, root: Some(root), levels, owner, groups, troubles, lost: 0, read: 0, most }
    }

    /// Goes into a directory. One that cannot be read becomes a trouble.
    fn enter(&mut self, path: TreePath, tree: &ChunkId) -> Result<(), TreeError> {
        let why = match self.restic.tree(tree) {
            Ok(tree) if self.held() + tree.length() <= HELD => {
                self.levels.push(Level { path, tree, at: 0, last: Vec::new() });
                return Ok(());
            }
            Ok(_) => "too many large directories lie above it".to_owned(),
            Err(ReadError::Store(error)) => return Err(ReadError::Store(error).into()),
            Err(error) => error.to_string(),
        };
        self.lose((path, format!("what lies in this directory is lost: {why}")));
        Ok(())
    }

    /// Corrects the lengths of blobs that the index has at several places with different lengths: reads the blob. If
    /// no place has its content, the file is lost whatever its length.
    fn settle(&self, entry: &mut Entry) -> Result<(), TreeError> {
        let Content::Chunks(pieces) = &mut entry.content else { return Ok(()) };
        for piece in pieces.iter_mut().filter(|piece| self.restic.index.is_disputed(piece.id)) {
            match self.restic.blob(&piece.id, DATA_MAX) {
                Ok(bytes) => piece.length = bytes.len() as u32,
                Err(ReadError::Store(error)) => return Err(ReadError::Store(error).into()),
                Err(_) => {}
            }
        }
        entry.size = pieces.iter().map(|piece| u64::from(piece.length)).sum();
        Ok(())
    }

    /// Counts something that is lost, and names it unless many were named: a tree may have millions of malformed nodes.
    fn lose(&mut self, (path, why): Lost) {
        self.lost += 1;
        if self.lost <= NAMED {
            self.troubles.push((path, brief(&why)));
        }
    }

    /// Tells at the end how much is lost that was not named.
    fn sum_up(&mut self) {
        if let Some(more @ 1..) = std::mem::take(&mut self.lost).checked_sub(NAMED) {
            let why = format!("{more} more entries or directories are lost, after the first {NAMED}");
            self.troubles.push((TreePath::TOP, why));
        }
    }

    fn held(&self) -> usize {
        self.levels.iter().map(|level| level.tree.length()).sum()
    }

    /// The entry of a node, and the tree of a directory; none for a socket.
    fn entry(&mut self, level: usize, text: &str) -> Result<Option<(Entry, Option<ChunkId>)>, Lost> {
        let above = self.levels[level].path.clone();
        let odd = |why: String| (above.clone(), format!("an entry in it is lost: {why}"));
        let node: Node<'_> = serde_json::from_str(text).map_err(|error| odd(error.to_string()))?;
        let name = node.real_name().map_err(|why| odd(why.into()))?;
        let path = above.join(&name).map_err(|error| odd(error.to_string()))?;
        // Restic sorts names by their bytes.
        if self.levels[level].last >= name {
            return Err((path, "it does not follow the entry before it, or is there twice".into()));
        }
        self.levels[level].last = name;
        if node.kind == "socket" {
            return Ok(None);
        }
        let Some(kind) = node.entry_kind() else {
            return Err((path, "it is of a kind that cannot be saved".into()));
        };
        let entry = node.entry(path.clone(), kind, &mut self.owner, &self.restic.index);
        let mut entry = entry.map_err(|why| (path.clone(), why.to_owned()))?;
        if let Some(inode) = node.inode() {
            let next = self.groups.len() as u64;
            entry.extras.hardlink = Some(*self.groups.entry(inode).or_insert(next));
        }
        let tree = node.subtree.filter(|_| kind == EntryKind::Directory).map(|tree| tree.chunk());
        Ok(Some((entry, tree)))
    }
}

impl Entries for Walk<'_> {
    fn next(&mut self) -> Result<Option<Entry>, TreeError> {
        if let Some(root) = self.root.take() {
            self.enter(TreePath::TOP, &root)?;
        }
        loop {
            let Some(level) = self.levels.last_mut() else {
                self.sum_up();
                return Ok(None);
            };
            let (tree, at) = (level.tree.clone(), level.at);
            level.at += 1;
            let Some(text) = tree.node(at) else {
                self.levels.pop();
                continue;
            };
            // Forty small trees that share what is below them can have 2^40 entries.
            if self.read == self.most {
                let why = format!("what follows from here is lost: the snapshot has more than {} entries", self.most);
                self.troubles.push((level.path.clone(), why));
                self.levels.clear();
                continue;
            }
            self.read += 1;
            match self.entry(self.levels.len() - 1, text) {
                Ok(None) => {}
                Ok(Some((mut entry, tree))) => {
                    self.settle(&mut entry)?;
                    if let Some(tree) = tree {
                        self.enter(entry.path.clone(), &tree)?;
                    } else if entry.kind() == EntryKind::Directory {
                        let why = "what lies in this directory is lost: it names no tree".to_owned();
                        self.lose((entry.path.clone(), why));
                    }
                    return Ok(Some(entry));
                }
                Err(trouble) => self.lose(trouble),
            }
        }
    }

    fn troubles(&mut self) -> Vec<(TreePath, String)> {
        std::mem::take(&mut self.troubles)
    }
}

/// How many lost entries and directories of one snapshot are named.
pub(super) const NAMED: u64 = 1000;
/// The most entries of one snapshot, and far more than any honest one has.
pub(super) const ENTRIES_MAX: u64 = 1 << 28;
/// Bytes of trees that are held at once, from the top to the current directory.
const HELD: usize = 512 << 20;
