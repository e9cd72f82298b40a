//! Restore: entries in order, and their content in windows. Within a window each block is read and opened once for all
//! files that need it; the window bounds the memory.

mod gather;
mod take;

use core::ops::Range;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::rc::Rc;

use copal_engine::restore::leaves::Leaves;
use copal_engine::restore::window::{RangeRead, Target, Window as Gathered};
use copal_format::id::ChunkId;
use copal_format::index::{Index, Location};
use copal_format::layout;
use copal_format::order;
use copal_format::pack::PackTable;
use copal_format::path::TreePath;
use copal_format::tree::Extents;
use copal_format::tree::{Entry, ListWalk, TreeWalk};

use super::Obstacle;
use super::blocks::{PackAt, copies};
use super::tree::Tree;
use crate::fault::Fault;
use crate::view::{Read, Shared};

pub use take::{Piece, SealedBlock};

/// An entry that begins in a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// Its number.
    pub file: u32,
    /// The entry. Inline content is removed: it comes as pieces.
    pub entry: Entry,
}

/// Something that cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file's number; `None` if the names of files are lost.
    pub file: Option<u32>,
    /// The path of the file, or of the part of the tree.
    pub path: String,
    /// What is wrong.
    pub why: String,
}

/// The next part of a restore, or the reads that are needed first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Reads to supply before the call is repeated.
    pub needs: Vec<Read>,
    /// Entries that begin here.
    pub entries: Vec<Started>,
    /// Bytes of files that need no reads.
    pub pieces: Vec<Piece>,
    /// The parts of packs to read, and how many bytes of files each gives.
    pub reads: Vec<(Read, u64)>,
    /// Files that became complete before this window.
    pub ends: Vec<u32>,
    /// Damage found since the last window.
    pub damaged: Vec<Damage>,
    /// Whether the restore is done.
    pub is_done: bool,
}

/// A running restore.
pub struct Restore {
    tree: Tree,
    targets: VecDeque<TreePath>,
    /// The part of each file that is wanted.
    part: Range<u64>,
    walk: Option<(TreePath, TreeWalk)>,
    leaves: Leaves,
    files: u32,
    /// The file whose chunks are being gathered.
    current: Option<Current>,
    /// Files that are not complete.
    open: BTreeMap<u32, OpenFile>,
    gathered: Gathered,
    /// Bytes of inline content in the window.
    inline: u64,
    built: Window,
    /// The window's reads that the host has, and the tables of their packs.
    reads: Vec<Option<RangeRead>>,
    tables: HashMap<PackAt, Rc<PackTable>>,
    /// Chunks to read again from another copy.
    again: Vec<Again>,
    tried: Tried,
    is_planned: bool,
    is_walked: bool,
}

struct Current {
    file: u32,
    walk: ListWalk,
    /// Bytes of content up to the end of the last piece.
    reached: u64,
    /// Where the wanted part of the content ends.
    end: u64,
}

struct OpenFile {
    path: TreePath,
    extents: Extents,
    /// The wanted part of its content.
    wanted: Range<u64>,
    /// Bytes of content that were gathered and not returned yet.
    due: u64,
    is_gathered: bool,
}

struct Again {
    id: ChunkId,
    targets: Vec<Target>,
    why: String,
}

impl Tree {
    /// Plans a restore of these entries and their content; of each file only `part`.
    pub fn restore(&self, paths: Vec<TreePath>, part: Range<u64>) -> Restore {
        Restore::new(self.clone(), paths, part)
    }
}

impl Restore {
    pub(super) fn new(tree: Tree, mut paths: Vec<TreePath>, part: Range<u64>) -> Self {
        order::sort(&mut paths);
        // A path below another one is included in it.
        let mut targets: VecDeque<TreePath> = VecDeque::new();
        for path in paths {
            if !targets.back().is_some_and(|last| path.is_within(last)) {
                targets.push_back(path);
            }
        }
        Self {
            tree,
            targets,
            part: part.start..part.end.max(part.start),
            walk: None,
            leaves: Leaves::default(),
            files: 0,
            current: None,
            open: BTreeMap::new(),
            gathered: Gathered::default(),
            inline: 0,
            built: Window::default(),
            reads: Vec::new(),
            tables: HashMap::new(),
            again: Vec::new(),
            tried: Tried::default(),
            is_planned: false,
            is_walked: false,
        }
    }

    /// The next window. All reads of the one before must have been taken.
    pub fn advance(&mut self) -> Result<Window, Fault> {
        if !self.is_planned && self.reads.iter().any(Option::is_some) {
            return Err(Fault::misuse("not every read of the window was taken"));
        }
        if !self.is_planned {
            self.try_again();
            // Failed chunks come before new ones, so that few files are open at once.
            let needs = if self.gathered.is_empty() { self.gather() } else { Vec::new() };
            if !needs.is_empty() {
                return Ok(Window { needs, ..Window::default() });
            }
            self.plan();
        }
        let needs = self.needed_tables();
        if !needs.is_empty() {
            return Ok(Window { needs, ..Window::default() });
        }
        self.is_planned = false;
        self.inline = 0;
        let ended: Vec<u32> =
            self.open.iter().filter(|(_, file)| file.is_gathered && file.due == 0).map(|(number, _)| *number).collect();
        ended.iter().for_each(|number| drop(self.open.remove(number)));
        self.built.ends.extend(ended);
        self.built.is_done = self.is_walked && self.open.is_empty() && self.reads.is_empty();
        Ok(core::mem::take(&mut self.built))
    }

    /// Gathers the next copies of chunks that failed; a chunk without another copy is damage.
    fn try_again(&mut self) {
        let view = self.tree.view.borrow();
        let index = view.index(self.tree.domain);
        for again in self.again.drain(..) {
            let next = self.tried.next(index, &again.id);
            for target in &again.targets {
                match &next {
                    Some(location) if self.open.contains_key(&target.file) => {
                        self.gathered.add(again.id, location, *target);
                    }
                    Some(_) => {}
                    None => {
                        let Some(file) = self.open.remove(&target.file) else { continue };
                        let damage =
                            Damage { file: Some(target.file), path: file.path.to_string(), why: again.why.clone() };
                        self.built.damaged.push(damage);
                    }
                }
            }
        }
    }

    fn plan(&mut self) {
        let reads = core::mem::take(&mut self.gathered).into_reads(GAP, MOST);
        let bytes = |read: &RangeRead| -> u64 {
            let targets = read.blocks.iter().flat_map(|block| &block.chunks).flat_map(|chunk| &chunk.targets);
            targets.map(|target| u64::from(target.length)).sum()
        };
        self.built.reads = reads
            .iter()
            .map(|read| {
                (Read { key: layout::pack(read.place, read.pack), range: Some(read.range.clone()) }, bytes(read))
            })
            .collect();
        self.reads = reads.into_iter().map(Some).collect();
        self.tables.clear();
        self.is_planned = true;
    }

    /// The reads for the tables of the window's packs. Skips unreadable tables: their blocks will not open.
    fn needed_tables(&mut self) -> Vec<Read> {
        let mut needs = Vec::new();
        let view = self.tree.view.borrow();
        let index = view.index(self.tree.domain);
        for read in self.reads.iter().flatten() {
            let pack = (read.place, read.pack);
            if self.tables.contains_key(&pack) {
                continue;
            }
            let chunk = read.blocks.first().and_then(|block| block.chunks.first());
            let locations = chunk.map(|chunk| copies(index, &chunk.id)).unwrap_or_default();
            let Some(location) = locations.into_iter().find(|at| (at.place, at.pack) == pack) else { continue };
            match self.tree.blocks.borrow_mut().table(&location) {
                Ok(Ok(table)) => drop(self.tables.insert(pack, table)),
                Ok(Err(_)) | Err(Obstacle::Lost { .. }) => {}
                Err(Obstacle::Needs(more)) => needs.extend(more),
            }
        }
        Read::tidy(&mut needs);
        needs
    }
}

/// Copies that failed, by block, because a newer index may have the copies in another order.
#[derive(Default)]
struct Tried(HashSet<(ChunkId, PackAt, u32)>);

impl Tried {
    /// The best copy that was not tried.
    fn next(&self, index: Option<&Index<Shared>>, id: &ChunkId) -> Option<Location> {
        copies(index, id).into_iter().find(|at| !self.0.contains(&(*id, (at.place, at.pack), at.offset)))
    }
}

/// Blocks closer than this are read together.
const GAP: u64 = 64 << 10;
/// Most bytes of a read, unless one block is longer.
const MOST: u64 = 8 << 20;
