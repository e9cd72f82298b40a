//! Taken: a tree that takes over pages of an earlier one is the tree that its entries make.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::*;
use super::kit::*;
use crate::path::TreePath;

/// Builds the tree of `entries` from an earlier tree and what differs from it. Tells how many entries were added singly.
fn rebuild(params: TreeParams, before: (&Finished, &mut Store), entries: &[Entry]) -> (Finished, u64) {
    let (before, store) = before;
    let old = read(TreeWalk::new(before.root), store).0;
    let by_path = |entries: &[Entry]| -> BTreeMap<TreePath, Entry> {
        entries.iter().map(|entry| (entry.path.clone(), entry.clone())).collect()
    };
    let (old, new) = (by_path(&old), by_path(entries));
    let differs: Vec<&TreePath> =
        old.keys().chain(new.keys()).filter(|path| old.get(*path) != new.get(*path)).collect();
    let mut builder = TreeBuilder::new(params, keys());
    let mut walk = TreeWalk::new(before.root);
    let (mut singly, mut last) = (0, None);
    let mut push = |builder: &mut TreeBuilder, entry: &Entry| {
        builder.push(entry).unwrap();
        singly += 1;
    };
    // What is new and lies before this path.
    let between = |last: &Option<TreePath>, through: Option<&TreePath>| {
        let inside = |path: &TreePath| Some(path) > last.as_ref() && through.is_none_or(|through| path < through);
        new.iter()
            .filter(|(path, _)| inside(path) && !old.contains_key(*path))
            .map(|(_, entry)| entry.clone())
            .collect()
    };
    loop {
        let is_same = |after: Option<&TreePath>, child: &Child| {
            !differs.iter().any(|path| Some(*path) > after && **path <= child.last_path)
        };
        if let Some(passed) = walk.pass(is_same) {
            let fresh: Vec<Entry> = between(&last, Some(&passed.child.last_path));
            fresh.iter().for_each(|entry| push(&mut builder, entry));
            last = Some(passed.child.last_path.clone());
            take(&mut builder, &passed, store, &mut push);
            continue;
        }
        match walk.step() {
            Step::Entry(entry) => {
                let fresh: Vec<Entry> = between(&last, Some(&entry.path));
                fresh.iter().for_each(|entry| push(&mut builder, entry));
                last = Some(entry.path.clone());
                new.get(&entry.path).into_iter().for_each(|entry| push(&mut builder, entry));
            }
            Step::Need(id) => walk.supply(store.fetch(id).unwrap()).unwrap(),
            Step::Done => break,
        }
    }
    let rest: Vec<Entry> = between(&last, None);
    rest.iter().for_each(|entry| push(&mut builder, entry));
    (builder.finish().unwrap(), singly)
}

/// Takes over a page, or what is in it.
fn take(
    builder: &mut TreeBuilder,
    passed: &Passed,
    store: &mut Store,
    push: &mut impl FnMut(&mut TreeBuilder, &Entry),
) {
    let height = store.pages[&passed.child.id].height;
    if builder.take_over(passed, height).unwrap() {
        return;
    }
    match store.fetch(passed.child.id).unwrap().into_content() {
        PageContent::Entries(entries) => entries.iter().for_each(|entry| push(builder, entry)),
        PageContent::Directory(children) => {
            for child in children {
                take(builder, &Passed { child, level: passed.level - 1 }, store, push);
            }
        }
        other => panic!("{other:?}"),
    }
}

fn same(finished: &Finished) -> (crate::id::ChunkId, u8, u64, u64) {
    (finished.root, finished.height, finished.entries, finished.bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_differs_the_tree_is_the_same_as_a_new_one(
        before in any_entries(120),
        other in any_entries(30),
        fates in proptest::collection::vec(0..12u8, 120),
    ) {
        let (old, mut store) = build(small_pages(), &before, usize::MAX);
        let mut after: BTreeMap<TreePath, Entry> = BTreeMap::new();
        for (entry, fate) in before.iter().zip(&fates) {
            match fate {
                0 => {}
                1 => drop(after.insert(entry.path.clone(), Entry { inode: entry.inode ^ 1, ..entry.clone() })),
                _ => drop(after.insert(entry.path.clone(), entry.clone())),
            }
        }
        after.extend(other.iter().map(|entry| (entry.path.clone(), entry.clone())));
        let after: Vec<Entry> = after.into_values().collect();
        let (taken, _) = rebuild(small_pages(), (&old, &mut store), &after);
        let (fresh, _) = build(small_pages(), &after, usize::MAX);
        prop_assert_eq!(same(&taken), same(&fresh));
    }
}

#[test]
fn of_a_large_tree_little_is_added_singly() {
    let before = files(20_000);
    let (old, mut store) = build(large_pages(), &before, usize::MAX);
    let mut after = before.clone();
    after[12_345].inode += 1;
    after.remove(3_000);
    let (taken, singly) = rebuild(large_pages(), (&old, &mut store), &after);
    assert_eq!(same(&taken), same(&build(large_pages(), &after, usize::MAX).0));
    assert!(singly < 2_500, "{singly}");
}

#[test]
fn what_is_left_of_a_tree_may_be_lower() {
    let before = files(2_000);
    let (old, mut store) = build(small_pages(), &before, usize::MAX);
    for left in [1, 5, 20, 100] {
        let (taken, _) = rebuild(small_pages(), (&old, &mut store), &before[..left]);
        assert_eq!(same(&taken), same(&build(small_pages(), &before[..left], usize::MAX).0), "{left}");
    }
}

#[test]
fn a_page_that_does_not_follow_is_refused() {
    let (old, mut store) = build(small_pages(), &files(500), usize::MAX);
    let mut walk = TreeWalk::new(old.root);
    while !matches!(walk.step(), Step::Entry(_)) {
        let Step::Need(id) = walk.step() else { unreachable!() };
        assert_eq!(walk.pass(|_, _| true), None, "no entry was read");
        walk.supply(store.fetch(id).unwrap()).unwrap();
    }
    let passed = loop {
        match walk.pass(|_, _| true) {
            Some(passed) => break passed,
            None => drop(walk.step()),
        }
    };
    let mut builder = TreeBuilder::new(small_pages(), keys());
    builder.push(&file("zz", Content::None)).unwrap();
    assert!(matches!(builder.take_over(&passed, 1), Err(BuildError::OutOfOrder { .. })));
}
