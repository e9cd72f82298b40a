//! Walks: all entries, a range of them, or all that are not lost.

use super::super::*;
use super::kit::*;
use crate::id::ChunkId;
use crate::path::TreePath;

#[test]
fn a_walk_from_any_path_gives_the_entries_from_there_and_few_pages() {
    let entries = files(400);
    let (finished, mut store) = build(small_pages(), &entries, usize::MAX);
    for (i, entry) in entries.iter().enumerate() {
        let just_behind = TreePath::new([entry.path.as_bytes(), b"!"].concat()).unwrap();
        for (start, expected) in [(entry.path.clone(), &entries[i..]), (just_behind, &entries[i + 1..])] {
            let mut walk = TreeWalk::new(finished.root);
            walk.seek(start);
            store.fetched.clear();
            let first = loop {
                match walk.step() {
                    Step::Need(id) => walk.supply(store.fetch(id).unwrap()).unwrap(),
                    Step::Entry(entry) => break Some(entry),
                    Step::Done => break None,
                }
            };
            assert_eq!(first.as_ref(), expected.first());
            assert!(store.fetched.len() <= usize::from(finished.height), "entry {i}");
            let rest = read(walk, &mut store).0;
            assert_eq!(rest, expected.get(1..).unwrap_or_default());
        }
    }
}

#[test]
fn seeking_midway_passes_over_what_lies_between_and_never_goes_back() {
    let entries = files(400);
    let (finished, mut store) = build(small_pages(), &entries, usize::MAX);
    let mut walk = TreeWalk::new(finished.root);
    let mut given = Vec::new();
    while given.len() < 10 {
        match walk.step() {
            Step::Need(id) => walk.supply(store.fetch(id).unwrap()).unwrap(),
            Step::Entry(entry) => given.push(entry),
            Step::Done => panic!("there are more entries"),
        }
    }
    walk.seek(entries[300].path.clone());
    walk.seek(entries[5].path.clone());
    let (rest, lost) = read(walk, &mut store);
    assert_eq!((given.as_slice(), rest.as_slice(), lost), (&entries[..10], &entries[300..], vec![]));
}

#[test]
fn every_entry_is_found_at_its_path_and_nothing_beside_it() {
    let entries = files(300);
    let (finished, mut store) = build(small_pages(), &entries, usize::MAX);
    let mut walk = TreeWalk::new(finished.root);
    let mut find = |path: &TreePath| loop {
        match walk.find(path) {
            Found::Need(id) => walk.supply(store.fetch(id).unwrap()).unwrap(),
            Found::Entry(entry) => break Some(entry),
            Found::Nothing => break None,
        }
    };
    for (at, entry) in entries.iter().enumerate() {
        // Some are never asked for, and some twice.
        if at % 7 == 3 {
            continue;
        }
        assert_eq!(find(&entry.path).as_deref(), Some(entry));
        if at % 5 == 0 {
            assert_eq!(find(&entry.path), None, "it was taken");
            assert_eq!(find(&TreePath::new([entry.path.as_bytes(), b"!"].concat()).unwrap()), None);
        }
    }
    assert_eq!(find(&path("~")), None);
}

#[test]
fn skipping_any_page_tells_exactly_which_entries_are_lost() {
    let entries = files(300);
    let (finished, store) = build(small_pages(), &entries, usize::MAX);
    for lost_page in store.pages.keys().copied() {
        let below = read(TreeWalk::new(lost_page), &mut clone(&store)).0;
        let mut damaged = clone(&store);
        damaged.pages.remove(&lost_page);
        let (given, lost) = read(TreeWalk::new(finished.root), &mut damaged);
        let [lost] = lost.try_into().unwrap();
        let is_lost = |entry: &&Entry| {
            lost.after.as_ref().is_none_or(|after| entry.path > *after)
                && lost.through.as_ref().is_none_or(|through| entry.path <= *through)
        };
        let (missing, left): (Vec<&Entry>, Vec<&Entry>) = entries.iter().partition(is_lost);
        assert_eq!(missing, below.iter().collect::<Vec<_>>());
        assert_eq!(left, given.iter().collect::<Vec<_>>());
    }
}

#[test]
fn pages_known_to_come_are_asked_for_in_that_order() {
    let (finished, mut store) = build(small_pages(), &files(300), usize::MAX);
    let mut walk = TreeWalk::new(finished.root);
    walk.seek(files(300)[100].path.clone());
    let mut known: Vec<ChunkId> = vec![finished.root];
    loop {
        match walk.step() {
            Step::Done => break,
            Step::Entry(_) => {}
            Step::Need(id) => {
                assert_eq!(known.first(), Some(&id));
                walk.supply(store.fetch(id).unwrap()).unwrap();
                known = walk.peek_needed().collect();
            }
        }
    }
    assert_eq!(known, []);
}

#[test]
fn a_page_that_was_not_asked_for_is_refused() {
    let (finished, store) = build(small_pages(), &files(300), usize::MAX);
    let root = open(&store.pages[&finished.root]);
    let below = open(&store.pages[&store.below(finished.root)[0]]);
    let mut walk = TreeWalk::new(finished.root);
    assert_eq!(walk.supply(below.clone()), Err(WalkError::Unasked { id: below.id() }));
    assert_eq!(walk.skip(below.id()), None);
    walk.supply(root.clone()).unwrap();
    assert_eq!(walk.supply(root.clone()), Err(WalkError::Unasked { id: root.id() }));
}

#[test]
fn sound_pages_in_the_wrong_place_are_refused() {
    let mut a = TreeBuilder::new(TreeParams::new(2, 2, 0, 1).unwrap(), keys());
    ["a", "b", "c"].iter().for_each(|text| a.push(&file(text, Content::None)).unwrap());
    let pages = a.finish().unwrap().pages;
    let directory = pages.iter().find(|page| page.height == 2).unwrap();
    // A directory whose two children are exchanged: every page is sound, but not where it stands.
    let forge = |height: u8, references: Vec<ChunkId>| {
        let id = keys().page_id(height, &references, &directory.plaintext);
        Page { id, height, references, ..directory.clone() }
    };
    let swapped = forge(2, directory.references.iter().rev().copied().collect());
    let mut walk = TreeWalk::new(swapped.id);
    walk.supply(open(&swapped)).unwrap();
    let Step::Need(id) = walk.step() else { panic!("a page is needed") };
    let other = open(pages.iter().find(|page| page.id == id).unwrap());
    assert_eq!(walk.supply(other), Err(WalkError::Claim { id }));

    let circular = forge(2, vec![directory.id, directory.references[1]]);
    let mut walk = TreeWalk::new(circular.id);
    walk.supply(open(&circular)).unwrap();
    assert_eq!(walk.supply(open(directory)), Err(WalkError::Height { id: directory.id, height: 2 }));
}

#[test]
fn a_content_list_is_no_tree_and_a_tree_no_content_list() {
    let (finished, store) = build(small_pages(), &files(3), usize::MAX);
    let mut list = ListBuilder::new(small_pages(), keys());
    list.push(Piece { id: chunk(1), length: 1 }).unwrap();
    let list = list.finish().unwrap();
    assert_eq!(TreeWalk::new(list.root).supply(open(&list.pages[0])), Err(WalkError::Kind { id: list.root }));
    let tree = open(&store.pages[&finished.root]);
    let id = tree.id();
    assert_eq!(ListWalk::new(finished.root, 1, 1).supply(tree), Err(WalkError::Kind { id }));
}

fn clone(store: &Store) -> Store {
    Store { pages: store.pages.clone(), fetched: Vec::new() }
}
