//! Diffs: exactly what changed, and little read for it.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::*;
use super::kit::*;
use crate::id::ChunkId;
use crate::path::TreePath;

fn compare(before: ChunkId, after: ChunkId, store: &mut Store) -> Vec<Change> {
    let mut diff = TreeDiff::new(before, after);
    let mut changes = Vec::new();
    loop {
        match diff.step() {
            DiffStep::Change(change) => changes.push(change),
            DiffStep::Need(id) => diff.supply(store.fetch(id).unwrap()).unwrap(),
            DiffStep::Done => return changes,
        }
    }
}

/// The difference of two maps from paths to entries.
fn expected(before: &[Entry], after: &[Entry]) -> Vec<Change> {
    let mut changes: BTreeMap<TreePath, Change> = BTreeMap::new();
    let nothing = |path: &TreePath| Change { path: path.clone(), before: None, after: None };
    for entry in before {
        changes.entry(entry.path.clone()).or_insert_with_key(nothing).before = Some(entry.clone());
    }
    for entry in after {
        changes.entry(entry.path.clone()).or_insert_with_key(nothing).after = Some(entry.clone());
    }
    changes.into_values().filter(|change| change.before != change.after).collect()
}

fn both(params: TreeParams, before: &[Entry], after: &[Entry]) -> (ChunkId, ChunkId, Store) {
    let (old, mut store) = build(params, before, usize::MAX);
    let (new, other) = build(params, after, usize::MAX);
    store.pages.extend(other.pages);
    (old.root, new.root, store)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn changes_are_the_difference_of_the_entries(
        shared in any_entries(80),
        others in any_entries(20),
        removed in proptest::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let mut after: BTreeMap<_, _> = shared.iter().map(|entry| (entry.path.clone(), entry.clone())).collect();
        for at in removed.iter().filter(|_| !shared.is_empty()) {
            after.remove(&shared[at.index(shared.len())].path);
        }
        after.extend(others.into_iter().map(|entry| (entry.path.clone(), entry)));
        let after: Vec<Entry> = after.into_values().collect();
        let (old, new, mut store) = both(small_pages(), &shared, &after);
        prop_assert_eq!(compare(old, new, &mut store), expected(&shared, &after));
        prop_assert_eq!(compare(new, old, &mut store), expected(&after, &shared));
    }
}

#[test]
fn equal_trees_are_not_read() {
    let (root, _, mut store) = both(small_pages(), &files(100), &files(100));
    assert_eq!((compare(root, root, &mut store), store.fetched), (vec![], vec![]));
}

#[test]
fn one_changed_entry_costs_one_path_of_pages_in_each_tree() {
    let before = files(20_000);
    for at in [0, 1, 4_711, 10_000, 19_999] {
        let mut after = before.clone();
        after[at].mtime.0 += 1;
        let (old, new, mut store) = both(large_pages(), &before, &after);
        let height = usize::from(store.pages[&old].height);
        assert_eq!(compare(old, new, &mut store), expected(&before, &after));
        assert_eq!(store.fetched.len(), 2 * height, "entry {at}");
    }
}

#[test]
fn added_and_removed_entries_cost_few_pages() {
    let after = files(20_000);
    for at in (0..20_000).step_by(1_977) {
        let mut before = after.clone();
        before.remove(at);
        let (old, new, mut store) = both(large_pages(), &before, &after);
        let height = usize::from(store.pages[&new].height);
        assert_eq!(compare(old, new, &mut store), expected(&before, &after));
        assert!(store.fetched.len() <= 6 * height, "{} pages without entry {at}", store.fetched.len());
    }
}

#[test]
fn everything_is_added_to_an_empty_tree() {
    let (empty, full, mut store) = both(small_pages(), &[], &files(100));
    assert_eq!(compare(empty, full, &mut store), expected(&[], &files(100)));
    assert_eq!(compare(full, empty, &mut store), expected(&files(100), &[]));
}
