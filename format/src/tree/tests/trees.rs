//! Trees: the same entries make the same pages, and a change makes few new ones.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::*;
use super::kit::*;
use crate::id::ChunkId;
use crate::limits::{PAGE_BYTES, PAGE_PATH_BYTES, PAGE_TARGET, PATH_BYTES};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_tree_does_not_depend_on_how_pages_are_taken(entries in any_entries(80), every in 1..20usize) {
        let (finished, store) = build(small_pages(), &entries, every);
        let (whole, mut other) = build(small_pages(), &entries, usize::MAX);
        prop_assert_eq!((finished.root, finished.height), (whole.root, whole.height));
        prop_assert_eq!(&store.pages, &other.pages);
        prop_assert_eq!(finished.entries, entries.len() as u64);
        prop_assert_eq!(read(TreeWalk::new(finished.root), &mut other).0, entries);
    }

    #[test]
    fn a_page_of_pages_is_one_higher_than_the_highest_of_them(entries in any_entries(60)) {
        let (_, store) = build(small_pages(), &entries, 7);
        for page in store.pages.values().filter(|page| matches!(open(page).content(), PageContent::Directory(_))) {
            let heights = page.references.iter().map(|id| store.pages[id].height);
            prop_assert_eq!(Some(page.height - 1), heights.max());
        }
    }
}

#[test]
fn pages_come_after_all_they_refer_to() {
    let mut builder = TreeBuilder::new(small_pages(), keys());
    files(500).iter().for_each(|entry| builder.push(entry).unwrap());
    let pages = builder.finish().unwrap().pages;
    let all: BTreeSet<ChunkId> = pages.iter().map(|page| page.id).collect();
    let mut seen = BTreeSet::new();
    for page in &pages {
        assert!(page.references.iter().all(|id| seen.contains(id) || !all.contains(id)));
        seen.insert(page.id);
    }
}

#[test]
fn one_changed_entry_changes_one_leaf_and_the_pages_above_it() {
    let mut entries = files(20_000);
    let (before, old) = build(large_pages(), &entries, usize::MAX);
    entries[12_345].mtime.0 += 1;
    let (after, new) = build(large_pages(), &entries, usize::MAX);
    let added = new.pages.keys().filter(|id| !old.pages.contains_key(id)).count();
    assert!(old.pages.len() > 50, "{} pages", old.pages.len());
    assert_eq!((added, before.height), (usize::from(after.height), after.height));
}

#[test]
fn an_added_or_removed_entry_leaves_pages_elsewhere_as_they_were() {
    let entries = files(20_000);
    let (_, old) = build(large_pages(), &entries, usize::MAX);
    for at in (0..20_000).step_by(1_357) {
        let mut fewer = entries.clone();
        fewer.remove(at);
        let (finished, new) = build(large_pages(), &fewer, usize::MAX);
        let added = new.pages.keys().filter(|id| !old.pages.contains_key(id)).count();
        assert!(added <= 4 * usize::from(finished.height), "{added} new pages without entry {at}");
    }
}

#[test]
fn no_entries_make_one_empty_page() {
    let (finished, mut store) = build(small_pages(), &[], 1);
    assert_eq!((finished.height, finished.entries, store.pages.len()), (1, 0, 1));
    assert_eq!(read(TreeWalk::new(finished.root), &mut store), (vec![], vec![]));
}

#[test]
fn levels_shrink_even_when_every_item_ends_a_page() {
    let params = TreeParams::new(2, 2, 0, 1).unwrap();
    let (finished, mut store) = build(params, &files(300), 1);
    assert_eq!(finished.height, 10);
    assert_eq!(read(TreeWalk::new(finished.root), &mut store).0, files(300));
}

#[test]
fn entries_out_of_order_are_refused() {
    let mut builder = TreeBuilder::new(small_pages(), keys());
    builder.push(&file("a-b", Content::None)).unwrap();
    for late in ["a-b", "a/b", "a"] {
        let refused = builder.push(&file(late, Content::None));
        assert_eq!(refused, Err(BuildError::OutOfOrder { path: path(late), before: path("a-b") }));
    }
    assert_eq!(builder.finish().unwrap().entries, 1);
}

#[test]
fn no_page_exceeds_the_limits_and_an_entry_that_would_is_refused() {
    let mut builder = TreeBuilder::new(TreeParams::new(1 << 30, 2, PAGE_TARGET, PAGE_TARGET).unwrap(), keys());
    // Holes weigh nothing, so that only the limit ends these pages.
    let sparse = |text: &str, holes: u64| Entry {
        size: holes << 40,
        extras: Extras { holes: (0..holes).map(|i| i << 40..(i + 1) << 40).collect(), ..Extras::default() },
        ..file(text, Content::None)
    };
    let refused = builder.push(&sparse("a", (PAGE_BYTES / 20) as u64));
    assert_eq!(refused, Err(BuildError::Large { path: path("a") }));
    let many = (PAGE_BYTES / 50) as u64;
    for i in 0..4 {
        builder.push(&sparse(&format!("b{i}"), many)).unwrap();
    }
    let finished = builder.finish().unwrap();
    assert_eq!((finished.pages.len(), finished.bytes), (3, 4 * (many << 40)));
    finished.pages.iter().for_each(|page| drop(open(page)));
}

#[test]
fn the_longest_paths_make_pages_that_read_back() {
    let long = |last: char| "n/".repeat(PATH_BYTES / 2) + &last.to_string();
    let entries = ['a', 'b', 'c', 'd'].map(|last| file(&long(last), Content::None));
    let (finished, mut store) = build(TreeParams::new(2, 2, 0, 1).unwrap(), &entries, 1);
    assert_eq!(read(TreeWalk::new(finished.root), &mut store).0, entries);
}

#[test]
fn a_page_ends_before_its_paths_are_too_long_in_sum() {
    // What they share weighs nothing: without the limit two pages would do.
    let deep = "n/".repeat(PATH_BYTES / 2 - 5);
    let entries: Vec<Entry> = (0..200).map(|at| file(&format!("{deep}{at:03}"), Content::None)).collect();
    let unending = || TreeParams::new(128, 64, 512 << 10, 512 << 10).unwrap();
    let mut builder = TreeBuilder::new(unending(), keys());
    entries.iter().for_each(|entry| builder.push(entry).unwrap());
    let pages = builder.finish().unwrap().pages.len();
    let in_one = PAGE_PATH_BYTES / entries[0].path.as_bytes().len();
    let fewest = 200usize.div_ceil(in_one) + 1;
    assert!((fewest..20).contains(&pages), "{pages} pages");
    let (finished, mut store) = build(unending(), &entries, 1);
    assert_eq!(read(TreeWalk::new(finished.root), &mut store).0, entries);
}

#[test]
fn sizes_beyond_64_bits_in_sum_stay_at_the_largest_number() {
    let huge = |text| Entry {
        size: u64::MAX,
        extras: Extras { holes: vec![0..1, 1..u64::MAX], ..Extras::default() },
        ..file(text, Content::None)
    };
    let entries = [huge("a"), huge("b"), huge("c"), huge("d")];
    let (finished, mut store) = build(TreeParams::new(2, 2, 0, 1).unwrap(), &entries, 1);
    assert_eq!(finished.bytes, u64::MAX);
    assert_eq!(read(TreeWalk::new(finished.root), &mut store).0, entries);
}
