//! Kit: entries of every oddity, and a store of pages that counts what is fetched.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use super::super::*;
use crate::id::{ChunkId, DomainId, RepositoryId};
use crate::keys::domain::{DomainKey, DomainKeys};
use crate::keys::secret::Secret;
use crate::path::TreePath;
use crate::time::Time;

pub(super) fn keys() -> DomainKeys {
    DomainKeys::new(&DomainKey::derive(&Secret::new([5; 32]), RepositoryId([1; 16]), DomainId([2; 16])))
}

/// Pages of about eight entries, so that small trees have several levels.
pub(super) fn small_pages() -> TreeParams {
    TreeParams::new(8, 4, 64, 2_000).unwrap()
}

/// Pages as a repository would have them.
pub(super) fn large_pages() -> TreeParams {
    TreeParams::new(128, 64, 4 << 10, 64 << 10).unwrap()
}

pub(super) fn path(text: &str) -> TreePath {
    TreePath::new(text).unwrap()
}

pub(super) fn chunk(number: u64) -> ChunkId {
    keys().chunk_id(&number.to_le_bytes())
}

pub(super) fn file(text: &str, content: Content) -> Entry {
    let size = match &content {
        Content::None => 0,
        Content::Inline(content) => content.bytes().len() as u64,
        Content::Chunks(pieces) => pieces.iter().map(|piece| u64::from(piece.length)).sum(),
        Content::List { .. } => 1 << 40,
    };
    let [mtime, ctime] = [1_700_000_000_000_000_000, 1_700_000_000_000_000_001].map(Time);
    Entry { mtime, ctime, inode: 7, size, content, ..Entry::new(path(text), Mode::new(EntryKind::File, 0o644)) }
}

/// `count` files of one chunk each, in order.
pub(super) fn files(count: u64) -> Vec<Entry> {
    let keys = keys();
    let one = |i: u64| {
        let id = keys.chunk_id(&i.to_le_bytes());
        let piece = Piece { id, length: 1 + i as u32 };
        Entry { inode: 1_000 + i, ..file(&format!("{:02}/{i:07}", i / 250), Content::Chunks(vec![piece])) }
    };
    (0..count).map(one).collect()
}

/// Pages by id.
#[derive(Default)]
pub(super) struct Store {
    pub(super) pages: HashMap<ChunkId, Page>,
    pub(super) fetched: Vec<ChunkId>,
}

impl Store {
    pub(super) fn add(&mut self, pages: Vec<Page>) {
        self.pages.extend(pages.into_iter().map(|page| (page.id, page)));
    }

    pub(super) fn fetch(&mut self, id: ChunkId) -> Option<VerifiedPage> {
        self.fetched.push(id);
        self.pages.get(&id).map(open)
    }

    /// The pages a page refers to that are pages themselves.
    pub(super) fn below(&self, id: ChunkId) -> Vec<ChunkId> {
        self.pages[&id].references.iter().filter(|id| self.pages.contains_key(id)).copied().collect()
    }
}

pub(super) fn open(page: &Page) -> VerifiedPage {
    VerifiedPage::open(&keys(), page.id, page.height, &page.references, &page.plaintext).unwrap()
}

/// Builds a tree, taking pages after every `every` entries.
pub(super) fn build(params: TreeParams, entries: &[Entry], every: usize) -> (Finished, Store) {
    let mut builder = TreeBuilder::new(params, keys());
    let mut store = Store::default();
    for (i, entry) in entries.iter().enumerate() {
        builder.push(entry).unwrap();
        if i % every == every - 1 {
            store.add(builder.take_pages());
        }
    }
    let mut finished = builder.finish().unwrap();
    store.add(std::mem::take(&mut finished.pages));
    (finished, store)
}

/// All entries a walk gives, and what it loses.
pub(super) fn read(mut walk: TreeWalk, store: &mut Store) -> (Vec<Entry>, Vec<LostRange>) {
    let (mut entries, mut lost) = (Vec::new(), Vec::new());
    loop {
        match walk.step() {
            Step::Entry(entry) => entries.push(entry),
            Step::Done => return (entries, lost),
            Step::Need(id) => match store.fetch(id) {
                Some(page) => walk.supply(page).unwrap(),
                None => lost.push(walk.skip(id).unwrap()),
            },
        }
    }
}

/// Up to `most` entries in order, of every kind and oddity.
pub(super) fn any_entries(most: usize) -> impl Strategy<Value = Vec<Entry>> {
    btree_map(any_path(), any_entry(), 0..most).prop_map(|entries: BTreeMap<TreePath, Entry>| {
        entries.into_iter().map(|(path, entry)| Entry { path, ..entry }).collect()
    })
}

fn any_path() -> impl Strategy<Value = TreePath> {
    let name = vec(any::<u8>(), 1..5).prop_map(|mut name| {
        name.iter_mut().filter(|byte| matches!(**byte, 0 | b'/' | b'.')).for_each(|byte| *byte = b'-');
        name
    });
    vec(name, 0..4).prop_map(|names| TreePath::new(names.join(&b'/')).unwrap())
}

fn any_time() -> impl Strategy<Value = Time> {
    let near = -2_000_000_000i64..2_000_000_000;
    let whole = (-9_000_000_000i64..9_000_000_000).prop_map(|seconds| seconds * 1_000_000_000);
    let edge = prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(0)];
    prop_oneof![any::<i64>(), near, whole, edge].prop_map(Time)
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let metadata = (any::<u16>(), 0..4u8, any_time(), any_time(), option::of(any_time()), any::<u64>(), 0..4u8);
    let extras = (vec(any::<u8>(), 0..9), option::of(any::<u64>()), any::<(u32, u32)>(), any_xattrs(), any_holes());
    (0..7usize, metadata, extras, any_content()).prop_map(|(kind, metadata, extras, content)| {
        let (permissions, owner, mtime, ctime, birth, inode, equal) = metadata;
        let (target, hardlink, device, xattrs, holes) = extras;
        let kind = KINDS[kind];
        let is = |other| kind == other;
        let (holes, content) = if is(EntryKind::File) { (holes, content) } else { Default::default() };
        let held = file("x", content.clone()).size;
        Entry {
            path: TreePath::TOP,
            mode: Mode::new(kind, permissions),
            owner: Arc::new(Owner { uid: owner.into(), gid: u32::MAX, user: vec![0xff; owner.into()], group: vec![] }),
            mtime: if equal == 0 { ctime } else { mtime },
            ctime,
            birth: if equal == 1 { Some(ctime) } else { birth },
            inode,
            size: held + holes.iter().map(|hole| hole.end - hole.start).sum::<u64>(),
            content,
            extras: Extras {
                link_target: is(EntryKind::Symlink).then_some(target),
                hardlink: hardlink.filter(|_| !is(EntryKind::Directory)),
                device: (is(EntryKind::CharDevice) || is(EntryKind::BlockDevice)).then_some(device),
                xattrs: xattrs.into_iter().collect(),
                holes,
                ..Extras::default()
            },
        }
    })
}

const KINDS: [EntryKind; 7] = [
    EntryKind::File,
    EntryKind::Directory,
    EntryKind::Symlink,
    EntryKind::Fifo,
    EntryKind::Socket,
    EntryKind::CharDevice,
    EntryKind::BlockDevice,
];

fn any_content() -> impl Strategy<Value = Content> {
    let piece = (0..50u64, 1..1u32 << 24).prop_map(|(number, length)| Piece { id: chunk(number), length });
    prop_oneof![
        Just(Content::None),
        vec(any::<u8>(), 1..40).prop_map(|bytes| Content::Inline(bytes.into())),
        vec(piece, 1..=LIST_AFTER).prop_map(Content::Chunks),
        (100..105u64, 1..4u8).prop_map(|(root, height)| Content::List { root: chunk(root), height }),
    ]
}

fn any_xattrs() -> impl Strategy<Value = BTreeMap<Vec<u8>, Vec<u8>>> {
    prop_oneof![Just(BTreeMap::new()), btree_map(vec(any::<u8>(), 1..6), vec(any::<u8>(), 0..6), 0..3)]
}

/// Holes that end where the data could start: their lengths add to the size.
fn any_holes() -> impl Strategy<Value = Vec<std::ops::Range<u64>>> {
    prop_oneof![
        Just(Vec::new()),
        vec(1..1u64 << 40, 0..3).prop_map(|lengths| {
            let mut start = 0;
            let hole = |length: u64| {
                let hole = start..start + length;
                start = hole.end;
                hole
            };
            lengths.into_iter().map(hole).collect()
        })
    ]
}
