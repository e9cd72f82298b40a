//! Sweep: a search through the trees of snapshots, one after another. It opens each page once.

use std::collections::HashMap;

use copal_format::id::ChunkId;
use copal_format::path::TreePath;
use copal_format::tree::{Entry, PageContent, Step, TreeWalk, VerifiedPage};

use super::Obstacle;
use super::tree::{AHEAD, Tree, lost_words};
use crate::view::Read;

/// A search through many trees. For a later tree with the same page, repeats what was found in the page without opening
/// it again.
pub struct Sweep {
    range: Range,
    trees: Vec<Tree>,
    /// The tree that is being searched.
    at: usize,
    walk: Option<TreeWalk>,
    /// The opened pages that are not at their end, from the root on.
    open: Vec<Open>,
    /// The hits below each page whose entries were all seen.
    seen: HashMap<ChunkId, Box<[u32]>>,
    /// Bytes that `seen` may still take. Without room a page is opened again.
    room: usize,
}

/// The entries that are searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Range {
    /// All below a directory.
    Below(TreePath),
    /// The one at a path.
    At(TreePath),
}

/// A page of the walk.
struct Open {
    id: ChunkId,
    last: Option<TreePath>,
    hits: Vec<u32>,
    /// Whether no page below it is lost.
    is_whole: bool,
}

/// A part of what a sweep finds in one tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// The tree, counted in the order in which they were added.
    pub tree: usize,
    /// Reads to supply before the next call.
    pub needs: Vec<Read>,
    /// Wanted entries, with the caller's numbers for them.
    pub found: Vec<(u32, Entry)>,
    /// Numbers of wanted entries in a page of this tree that was seen before.
    pub again: Vec<u32>,
    /// What could not be read, and why.
    pub damaged: Vec<String>,
    /// Whether all trees were searched.
    pub is_done: bool,
}

impl Sweep {
    /// A search of these entries, without any tree.
    pub fn new(range: Range) -> Self {
        Self { range, trees: Vec::new(), at: 0, walk: None, open: Vec::new(), seen: HashMap::new(), room: ROOM }
    }

    /// Adds a tree after the others.
    pub fn add(&mut self, tree: &Tree) {
        self.trees.push(tree.clone());
    }

    /// The next part. `wants` gives a number to each entry that is wanted. The number must be the same for entries of
    /// one path.
    pub fn next(&mut self, wants: &mut dyn FnMut(&Entry) -> Option<u32>) -> Swept {
        let mut part = Swept { tree: self.at, ..Swept::default() };
        let Some(tree) = self.trees.get(self.at).cloned() else {
            return Swept { is_done: true, ..part };
        };
        let mut walk = self.walk.take().unwrap_or_else(|| {
            let mut walk = TreeWalk::new(tree.root());
            walk.seek(self.range.path().clone());
            walk
        });
        let mut looked = 0;
        loop {
            match walk.step() {
                Step::Done => break,
                Step::Entry(entry) => {
                    let path = entry.path.clone();
                    if self.range.has(&path) {
                        looked += 1;
                        if let Some(number) = wants(&entry) {
                            self.hit(&[number]);
                            part.found.push((number, entry));
                        }
                    }
                    self.pass(&path);
                    if self.range.ends_at(&path) {
                        break;
                    }
                    if looked >= LOOKED {
                        self.walk = Some(walk);
                        return part;
                    }
                }
                Step::Need(id) => {
                    // The parent's claims about a seen page are not checked again. A client that writes a false claim
                    // hides only what its own snapshots hold.
                    let why = if let Some(hits) = self.seen.get(&id) {
                        let hits = hits.clone();
                        self.hit(&hits);
                        part.again.extend(hits);
                        None
                    } else {
                        match tree.page(&id) {
                            Ok(page) => {
                                let last = last_path(&page);
                                match walk.supply(page) {
                                    Ok(()) => {
                                        self.open.push(Open { id, last, hits: Vec::new(), is_whole: true });
                                        continue;
                                    }
                                    Err(error) => Some(error.to_string()),
                                }
                            }
                            Err(Obstacle::Needs(needs)) => {
                                part.needs = self.with_more(needs, &tree, &walk);
                                self.walk = Some(walk);
                                return part;
                            }
                            Err(Obstacle::Lost { why, .. }) => Some(why),
                        }
                    };
                    let Some(passed) = walk.skip(id) else { break };
                    if let Some(why) = why {
                        part.damaged.push(lost_words(&passed, &why));
                        self.open.iter_mut().for_each(|open| open.is_whole = false);
                    }
                    let Some(through) = passed.through else { break };
                    self.pass(&through);
                    if self.range.ends_at(&through) {
                        break;
                    }
                }
            }
        }
        while let Some(open) = self.open.pop() {
            self.close(open);
        }
        self.at += 1;
        part.is_done = self.at == self.trees.len();
        part
    }

    /// Notes hits in the innermost page.
    fn hit(&mut self, numbers: &[u32]) {
        if let Some(open) = self.open.last_mut() {
            open.hits.extend_from_slice(numbers);
        }
    }

    /// Closes the pages that end at a path.
    fn pass(&mut self, path: &TreePath) {
        while let Some(open) = self.open.pop_if(|open| open.last.as_ref() <= Some(path)) {
            self.close(open);
        }
    }

    fn close(&mut self, open: Open) {
        self.hit(&open.hits);
        let bytes = PAGE_ROOM + open.hits.len() * size_of::<u32>();
        if open.is_whole && bytes <= self.room {
            self.room -= bytes;
            self.seen.insert(open.id, open.hits.into());
        }
    }

    /// Adds the reads for pages that are needed next: those of the tree, and the roots of the trees after it.
    fn with_more(&self, mut needs: Vec<Read>, tree: &Tree, walk: &TreeWalk) -> Vec<Read> {
        if tree.blocks.borrow_mut().is_asked_again(&needs) {
            return needs;
        }
        let is_new = |id: &ChunkId| !self.seen.contains_key(id);
        if let Range::Below(_) = self.range {
            let ahead: Vec<ChunkId> = walk.peek_needed().skip(1).filter(is_new).take(AHEAD).collect();
            tree.needs_of(&ahead, &mut needs);
        }
        for behind in self.trees.iter().skip(self.at + 1).filter(|tree| is_new(&tree.root())).take(AHEAD) {
            behind.needs_of(&[behind.root()], &mut needs);
        }
        needs
    }
}

impl Range {
    fn path(&self) -> &TreePath {
        match self {
            Range::Below(path) | Range::At(path) => path,
        }
    }

    fn has(&self, path: &TreePath) -> bool {
        match self {
            Range::Below(directory) => path != directory && path.is_within(directory),
            Range::At(at) => path == at,
        }
    }

    /// Whether nothing after a path is in the range.
    fn ends_at(&self, path: &TreePath) -> bool {
        match self {
            Range::Below(directory) => path > directory && !path.is_within(directory),
            Range::At(at) => path >= at,
        }
    }
}

fn last_path(page: &VerifiedPage) -> Option<TreePath> {
    match page.content() {
        PageContent::Entries(entries) => entries.last().map(|entry| entry.path.clone()),
        PageContent::Directory(children) => children.last().map(|child| child.last_path.clone()),
        PageContent::List(_) | PageContent::Lists(_) => None,
    }
}

/// Most entries that one part examines.
const LOOKED: usize = 5_000;
/// Bytes for the pages that were seen: 16 MiB are some 300,000 pages.
const ROOM: usize = 16 << 20;
/// Bytes that a seen page takes in the table, which is half empty at worst.
const PAGE_ROOM: usize = 56;
