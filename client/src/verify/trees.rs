//! Trees: walks the pages of all snapshots that prune keeps, each page once, and looks up everything they refer to.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use copal_format::id::{ChunkId, DomainId, PackId, SnapshotId};
use copal_format::limits::HEIGHT;
use copal_format::path::TreePath;
use copal_format::tree::{Child, Content, Entry, ListChild, PageContent, Piece};
use copal_jobs::check::Needed;
use copal_jobs::view::View;
use copal_store::StoreError;

use super::fates::Fates;
use super::hits::{Hit, Hits};
use crate::history::{History, Snapshot, pages};
use crate::progress::Progress;
use crate::reader::{PageReader, ReadError};
use crate::repository::Repository;

/// Walks the trees of all snapshots that prune keeps, and reports what cannot be read.
pub fn walk(
    repository: &Repository,
    (view, needed): (&View, &Needed),
    history: &History,
    fates: &Fates,
    progress: &Progress,
) -> Result<Hits, StoreError> {
    let all = history.snapshots.iter().filter(|of| needed.has(&of.record) && !of.record.partial).collect();
    walk_these(repository, view, all, (fates, progress), None)
}

/// Walks the trees of the chosen snapshots. Returns what cannot be read, as far as the state tells, and the packs that
/// hold what the trees refer to.
pub(super) fn walk_chosen(
    repository: &Repository,
    view: &View,
    history: &History,
    chosen: &BTreeSet<SnapshotId>,
    progress: &Progress,
) -> Result<(Hits, HashSet<PackId>), StoreError> {
    let mut packs = HashSet::new();
    let snapshots = history.snapshots.iter().filter(|snapshot| chosen.contains(&snapshot.id)).collect();
    let hits = walk_these(repository, view, snapshots, (&Fates::default(), progress), Some(&mut packs))?;
    Ok((hits, packs))
}

fn walk_these(
    repository: &Repository,
    view: &View,
    snapshots: Vec<&Snapshot>,
    (fates, progress): (&Fates, &Progress),
    mut packs: Option<&mut HashSet<PackId>>,
) -> Result<Hits, StoreError> {
    let mut hits = Hits::default();
    let domains: BTreeSet<DomainId> = snapshots.iter().map(|snapshot| snapshot.domain).collect();
    for domain in domains {
        let reader = pages(repository, view, domain);
        let packs = packs.as_deref_mut();
        let mut trees = Trees { reader: &reader, view, domain, fates, progress, seen: HashMap::new(), hits, packs };
        for snapshot in snapshots.iter().filter(|snapshot| snapshot.domain == domain) {
            let tree = trees.visit(snapshot.root, HEIGHT + 1)?;
            let mut hits = tree.hits.clone();
            match &tree.shape {
                None => trees.hits.add_path(&hits, &TreePath::TOP),
                Some(shape) if shape.kind == Kind::Entries => {}
                Some(_) => {
                    let why = "a snapshot's root is a page of another kind";
                    hits.extend(trees.refuse(snapshot.root, &TreePath::TOP, why));
                }
            }
            trees.hits.add_snapshot(&hits, snapshot.id);
        }
        hits = trees.hits;
    }
    Ok(hits)
}

/// The facts known about a page and its subtree.
struct Subtree {
    /// Why not all of it can be read.
    hits: BTreeSet<Hit>,
    /// `None` if the page itself cannot be read.
    shape: Option<Shape>,
}

/// The facts that the parent page must state about this page.
struct Shape {
    height: u8,
    kind: Kind,
    first: Option<TreePath>,
    last: Option<TreePath>,
    entries: u64,
    bytes: u64,
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Kind {
    Entries,
    Pieces,
}

struct Trees<'a> {
    reader: &'a PageReader,
    view: &'a View,
    domain: DomainId,
    fates: &'a Fates,
    progress: &'a Progress,
    seen: HashMap<ChunkId, Rc<Subtree>>,
    hits: Hits,
    /// Packs that hold what was walked, if the caller wants them.
    packs: Option<&'a mut HashSet<PackId>>,
}

impl Trees<'_> {
    /// Reads a page and its subtree, unless it was read before. Ends because a page refers only to lower ones.
    fn visit(&mut self, id: ChunkId, above: u8) -> Result<Rc<Subtree>, StoreError> {
        if let Some(known) = self.seen.get(&id) {
            return Ok(known.clone());
        }
        self.note_packs(&id);
        let subtree = match self.reader.page(&id) {
            Ok(page) if page.height() >= above => self.forged(id, "a page is not lower than the one that refers to it"),
            Ok(page) => {
                let height = page.height();
                match page.into_content() {
                    PageContent::Entries(entries) => self.entries(height, entries)?,
                    PageContent::Directory(children) => self.directory(id, height, &children)?,
                    PageContent::List(pieces) => self.pieces(height, &pieces),
                    PageContent::Lists(children) => self.lists(id, height, &children)?,
                }
            }
            Err(ReadError::Store(error)) => return Err(error),
            Err(error) => self.unreadable(id, &error),
        };
        let subtree = Rc::new(subtree);
        self.seen.insert(id, subtree.clone());
        Ok(subtree)
    }

    fn entries(&mut self, height: u8, entries: Vec<Entry>) -> Result<Subtree, StoreError> {
        let mut all = BTreeSet::new();
        let mut bytes = 0_u64;
        for entry in &entries {
            bytes = bytes.saturating_add(entry.size);
            let hits = self.content(entry, height)?;
            if !hits.is_empty() {
                self.hits.add_path(&hits, &entry.path);
                all.extend(hits);
            }
            self.progress.file_done();
        }
        let path = |entry: Option<&Entry>| entry.map(|entry| entry.path.clone());
        let (first, last) = (path(entries.first()), path(entries.last()));
        let shape = Shape { height, kind: Kind::Entries, first, last, entries: entries.len() as u64, bytes };
        Ok(Subtree { hits: all, shape: Some(shape) })
    }

    /// Why an entry's content cannot be read.
    fn content(&mut self, entry: &Entry, above: u8) -> Result<BTreeSet<Hit>, StoreError> {
        match &entry.content {
            Content::None | Content::Inline(_) => Ok(BTreeSet::new()),
            Content::Chunks(pieces) => Ok(self.chunks(pieces)),
            Content::List { root, height } => {
                let list = self.visit(*root, above)?;
                let mut hits = list.hits.clone();
                if let Some(shape) = &list.shape
                    && (shape.kind, shape.height, shape.bytes) != (Kind::Pieces, *height, entry.content_bytes())
                {
                    hits.extend(self.forged(*root, "a content list is not what its file says").hits);
                }
                Ok(hits)
            }
        }
    }

    fn chunks(&mut self, pieces: &[Piece]) -> BTreeSet<Hit> {
        let mut all = BTreeSet::new();
        for piece in pieces {
            self.note_packs(&piece.id);
            let hits = self.fates.hits(self.view, self.domain, &piece.id);
            if !hits.is_empty() {
                self.hits.lost.insert(piece.id);
                all.extend(hits);
            }
        }
        all
    }

    fn directory(&mut self, id: ChunkId, height: u8, children: &[Child]) -> Result<Subtree, StoreError> {
        let mut hits = BTreeSet::new();
        let mut first = None;
        let mut before: Option<&TreePath> = None;
        for child in children {
            let below = self.visit(child.id, height)?;
            hits.extend(below.hits.iter().copied());
            match &below.shape {
                None => self.hits.add_path(&below.hits, &common(before, &child.last_path)),
                Some(shape) => {
                    let says = (Kind::Entries, Some(&child.last_path), child.entries, child.bytes);
                    let is_lower = shape.height < height;
                    let follows = before.is_none() || shape.first.as_ref() > before;
                    let is_so = (shape.kind, shape.last.as_ref(), shape.entries, shape.bytes) == says;
                    if !(is_lower && is_so && follows) {
                        let place = common(before, &child.last_path);
                        hits.extend(self.refuse(id, &place, "a page says of one below what is not so"));
                    }
                    if before.is_none() {
                        first = shape.first.clone();
                    }
                }
            }
            before = Some(&child.last_path);
        }
        let entries = children.iter().fold(0, |sum: u64, child| sum.saturating_add(child.entries));
        let bytes = children.iter().fold(0, |sum: u64, child| sum.saturating_add(child.bytes));
        let first = first.or_else(|| children.first().map(|child| child.last_path.clone()));
        let shape = Shape { height, kind: Kind::Entries, first, last: before.cloned(), entries, bytes };
        Ok(Subtree { hits, shape: Some(shape) })
    }

    fn pieces(&mut self, height: u8, pieces: &[Piece]) -> Subtree {
        let bytes = pieces.iter().map(|piece| u64::from(piece.length)).sum();
        let shape = Shape { height, kind: Kind::Pieces, first: None, last: None, entries: 0, bytes };
        Subtree { hits: self.chunks(pieces), shape: Some(shape) }
    }

    fn lists(&mut self, id: ChunkId, height: u8, children: &[ListChild]) -> Result<Subtree, StoreError> {
        let mut hits = BTreeSet::new();
        for child in children {
            let below = self.visit(child.id, height)?;
            hits.extend(below.hits.iter().copied());
            if let Some(shape) = &below.shape
                && (shape.kind, shape.height + 1, shape.bytes) != (Kind::Pieces, height, child.bytes)
            {
                hits.extend(self.forged(id, "a content list says of a part what is not so").hits);
            }
        }
        let bytes = children.iter().fold(0, |sum: u64, child| sum.saturating_add(child.bytes));
        let shape = Shape { height, kind: Kind::Pieces, first: None, last: None, entries: 0, bytes };
        Ok(Subtree { hits, shape: Some(shape) })
    }

    /// Notes the packs with a copy of a chunk or page: a restore may read any of them.
    fn note_packs(&mut self, id: &ChunkId) {
        let Some(packs) = &mut self.packs else { return };
        let copies = self.view.index(self.domain).into_iter().flat_map(|index| index.copies(id));
        packs.extend(copies.map(|(copy, _)| copy.pack));
    }

    /// A page without a readable copy.
    fn unreadable(&mut self, id: ChunkId, error: &ReadError) -> Subtree {
        self.hits.lost.insert(id);
        self.hits.blind.insert(self.domain);
        let copies = self.view.index(self.domain).into_iter().flat_map(|index| index.copies(&id));
        let mut hits: BTreeSet<Hit> = copies.map(|(copy, _)| Hit::Pack(copy.pack)).collect();
        if hits.is_empty() {
            hits.insert(Hit::Id(id));
        }
        hits.iter().for_each(|hit| self.hits.explain(*hit, error.to_string()));
        Subtree { hits, shape: None }
    }

    /// A sound page that does not belong in its place: only a faulty or hostile writer makes one.
    fn forged(&mut self, id: ChunkId, why: &str) -> Subtree {
        self.hits.explain(Hit::Forged(id), why.to_owned());
        Subtree { hits: BTreeSet::from([Hit::Forged(id)]), shape: None }
    }

    fn refuse(&mut self, id: ChunkId, place: &TreePath, why: &str) -> BTreeSet<Hit> {
        let hits = self.forged(id, why).hits;
        self.hits.add_path(&hits, place);
        hits
    }
}

/// The directory that contains everything after one path, up to another.
fn common(after: Option<&TreePath>, through: &TreePath) -> TreePath {
    let Some(after) = after else { return TreePath::TOP };
    let mut place = through.parent().unwrap_or(TreePath::TOP);
    while !after.is_within(&place) {
        place = place.parent().unwrap_or(TreePath::TOP);
    }
    place
}
