//! The bytes of pages and the ids of trees must never change within version 1 of the format.

use std::fmt::Write;
use std::sync::Arc;

use copal_format::id::{ChunkId, DomainId, RepositoryId};
use copal_format::keys::domain::{DomainKey, DomainKeys};
use copal_format::keys::secret::Secret;
use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::{
    Content, Entry, EntryKind, Extras, ListBuilder, Mode, Owner, Page, Piece, TreeBuilder, TreeParams,
};

fn keys() -> DomainKeys {
    DomainKeys::new(&DomainKey::derive(&Secret::new([5; 32]), RepositoryId([1; 16]), DomainId([2; 16])))
}

fn params(leaf_fanout: u32, inner_fanout: u32, page_min: u32, page_max: u32) -> TreeParams {
    TreeParams::new(leaf_fanout, inner_fanout, page_min, page_max).unwrap()
}

fn entry(path: &[u8], kind: EntryKind) -> Entry {
    Entry {
        owner: Arc::new(Owner { uid: 1000, gid: 100, user: b"ann".to_vec(), group: b"users".to_vec() }),
        mtime: Time(1_700_000_000_123_456_789),
        ctime: Time(1_700_000_001_000_000_000),
        inode: 4_242,
        ..Entry::new(TreePath::new(path).unwrap(), Mode::new(kind, 0o640))
    }
}

/// Entries of each kind, each with something that the others do not have.
fn oddities() -> Vec<Entry> {
    let file = |path: &[u8], size, content| Entry { size, content, ..entry(path, EntryKind::File) };
    let piece = |number, length| Piece { id: ChunkId([number; 24]), length };
    let extras = Extras::default;
    vec![
        Entry { birth: Some(Time(0)), ..entry(b"", EntryKind::Directory) },
        Entry { extras: Extras { device: Some((8, 1)), ..extras() }, ..entry(b"dev/b", EntryKind::BlockDevice) },
        Entry { extras: Extras { device: Some((1, 300)), ..extras() }, ..entry(b"dev/c", EntryKind::CharDevice) },
        Entry { mtime: Time(-1), ctime: Time(i64::MIN), ..entry(b"fifo", EntryKind::Fifo) },
        file(b"file-inline", 5, Content::Inline(b"hello".to_vec().into())),
        file(b"file-none", 0, Content::None),
        Entry {
            extras: Extras {
                hardlink: Some(4_242),
                xattrs: vec![(b"user.a".to_vec(), b"1".to_vec()), (b"user.b".to_vec(), vec![])],
                holes: vec![0..4_096, 4_796..8_892],
                ..extras()
            },
            ..file(b"file-pieces", 8_192 + 700, Content::Chunks(vec![piece(1, 300), piece(2, 100), piece(1, 300)]))
        },
        file(b"file-wide", 1 << 40, Content::List { root: ChunkId([3; 24]), height: 2 }),
        Entry {
            extras: Extras { link_target: Some(b"../\xff".to_vec()), ..extras() },
            owner: Arc::default(),
            mtime: Time(1_700_000_000_000_000_000),
            ..entry(b"l\xffnk", EntryKind::Symlink)
        },
        Entry { inode: u64::MAX, birth: Some(Time(1_700_000_001_000_000_000)), ..entry(b"socket", EntryKind::Socket) },
    ]
}

fn text(pages: &[Page]) -> String {
    let mut text = String::new();
    for page in pages {
        writeln!(text, "page {} height {}", page.id, page.height).unwrap();
        page.references.iter().for_each(|id| writeln!(text, "reference {id}").unwrap());
        for line in page.plaintext.chunks(48) {
            writeln!(text, "{}", line.iter().map(|byte| format!("{byte:02x}")).collect::<String>()).unwrap();
        }
    }
    text
}

/// Three entries, each a page of its own, below three directories.
#[test]
fn pages_of_entries_and_of_pages_have_these_bytes() {
    let mut builder = TreeBuilder::new(params(2, 2, 0, 1), keys());
    for path in [&b"a"[..], b"a/b", b"a/c"] {
        builder.push(&entry(path, EntryKind::Directory)).unwrap();
    }
    assert_eq!(text(&builder.finish().unwrap().pages), include_str!("golden/tree-directories.txt"));
}

#[test]
fn a_page_of_every_oddity_has_these_bytes() {
    let mut builder = TreeBuilder::new(params(64, 64, 512 << 10, 512 << 10), keys());
    oddities().iter().for_each(|entry| builder.push(entry).unwrap());
    assert_eq!(text(&builder.finish().unwrap().pages), include_str!("golden/tree-entries.txt"));
}

#[test]
fn an_empty_tree_has_these_bytes() {
    let pages = TreeBuilder::new(params(64, 64, 0, 1), keys()).finish().unwrap().pages;
    assert_eq!(text(&pages), include_str!("golden/tree-empty.txt"));
}

#[test]
fn content_lists_have_these_bytes() {
    let mut builder = ListBuilder::new(params(2, 2, 80, 80), keys());
    for (number, length) in [(1, 1_000), (2, 2_000), (1, 1_000), (1, 1_000), (3, 16 << 20)] {
        builder.push(Piece { id: ChunkId([number; 24]), length }).unwrap();
    }
    assert_eq!(text(&builder.finish().unwrap().pages), include_str!("golden/tree-lists.txt"));
}

/// Files of 0 to 3 chunks in directories of 250, cut as a repository would.
#[test]
fn a_tree_of_five_thousand_entries_has_this_root() {
    let keys = keys();
    let mut builder = TreeBuilder::new(params(128, 64, 4 << 10, 64 << 10), keys.clone());
    for i in 0..5_000u64 {
        let name = format!("directory {:02}/file {:04}.txt", i / 250, i);
        let piece = |j: u64| Piece { id: keys.chunk_id(&[i, j].map(u64::to_le_bytes).concat()), length: 1 + i as u32 };
        let content = if i % 4 == 0 { Content::None } else { Content::Chunks((0..i % 4).map(piece).collect()) };
        let size = (i % 4) * (1 + i);
        let file = Entry { inode: i, size, content, ..entry(name.as_bytes(), EntryKind::File) };
        builder.push(&file).unwrap();
    }
    let finished = builder.finish().unwrap();
    assert_eq!(
        format!("{} of {} pages, height {}", finished.root, finished.pages.len(), finished.height),
        "9989ee720808551b0da15037b0e2e67fc8cecc4995a4132a of 27 pages, height 2"
    );
}
