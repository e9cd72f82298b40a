//! Sweeps: what a search and a history find in many trees is what looking into each of them finds, and no page is read
//! twice.

use std::collections::{BTreeMap, BTreeSet};

use copal_format::id::SnapshotId;
use copal_format::path::TreePath;
use copal_format::tree::Entry;
use copal_tests::kit::{Random, Tree, path};
use copal_wasm::look::{History, Library, Range, Sweep};
use copal_wasm::view::Read;

use super::seat::{Browser, LATER, files};

/// The hits of a sweep in each tree, by the caller's numbers, and the damage there.
#[derive(Debug, Default)]
struct Found {
    numbers: BTreeMap<usize, BTreeSet<u32>>,
    damaged: BTreeMap<usize, Vec<String>>,
    reads: Vec<Read>,
}

/// Sweeps the trees of snapshots; some packs may be away.
fn sweep(
    browser: &Browser,
    library: &Library,
    snapshots: &[SnapshotId],
    range: Range,
    away: &BTreeSet<String>,
    mut wants: impl FnMut(&Entry) -> Option<u32>,
) -> Found {
    let mut sweep = Sweep::new(range);
    snapshots.iter().for_each(|id| sweep.add(&library.tree(*id).unwrap()));
    let mut found = Found::default();
    for _ in 0..10_000 {
        let part = sweep.next(&mut wants);
        let numbers = found.numbers.entry(part.tree).or_default();
        numbers.extend(part.found.iter().map(|(number, _)| *number).chain(part.again));
        found.damaged.entry(part.tree).or_default().extend(part.damaged);
        for read in &part.needs {
            library.supply(read, browser.fetch(read).filter(|_| !away.contains(&read.key)));
        }
        found.reads.extend(part.needs);
        if part.is_done {
            return found;
        }
    }
    panic!("the sweep does not end");
}

/// Snapshots of files of which some change, vanish and come back from one to the next; and the files of each.
fn changing(browser: &Browser, number: i64) -> Vec<(SnapshotId, Tree)> {
    let mut random = Random::new(5);
    let mut tree = files(21, 400, 300);
    let (mut kept, mut made) = (Vec::new(), Vec::new());
    for at in 0..number {
        let before = tree.clone();
        for _ in 0..random.below(4) {
            let path = path(&format!("d{}/e{}/f{:03}", random.below(3), random.below(5), random.below(400)));
            match random.below(3) {
                0 => drop(tree.remove(&path)),
                _ => drop(tree.insert(path, vec![at as u8; 40 + random.below(300)])),
            }
        }
        if at % 7 == 6 {
            tree = before;
        }
        let parents: Vec<&[u8]> = kept.iter().map(Vec::as_slice).collect();
        let ran = browser.back_up(LATER + at, &tree, &parents, usize::MAX);
        kept = vec![ran.kept];
        made.push((ran.snapshot, tree.clone()));
    }
    made.reverse();
    made
}

/// Numbers paths.
#[derive(Default)]
struct Numbers(BTreeMap<TreePath, u32>);

impl Numbers {
    fn of(&mut self, path: &TreePath) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(path.clone()).or_insert(next)
    }
}

#[test]
fn a_search_finds_in_each_tree_what_is_there_and_opens_no_page_twice() {
    let browser = Browser::new();
    let made = changing(&browser, 40);
    let ids: Vec<SnapshotId> = made.iter().map(|(id, _)| *id).collect();
    let library = browser.library();
    for directory in ["", "d1", "d1/e3", "d2/e4/f399"] {
        let directory = path(directory);
        let (mut numbers, mut looked) = (Numbers::default(), 0);
        let wanted = |name: &[u8]| name.ends_with(b"7") || name.starts_with(b"e");
        let found = sweep(&browser, &library, &ids, Range::Below(directory.clone()), &BTreeSet::new(), |entry| {
            looked += 1;
            wanted(entry.path.name()).then(|| numbers.of(&entry.path))
        });
        let mut most = 0;
        for (at, (_, tree)) in made.iter().enumerate() {
            let all = super::with_directories(tree);
            let below = all.keys().filter(|path| **path != directory && path.is_within(&directory));
            let below: Vec<&TreePath> = below.collect();
            most = most.max(below.len());
            let expected = below.into_iter().filter(|path| wanted(path.name())).map(|path| numbers.of(path)).collect();
            assert_eq!(found.numbers[&at], expected, "tree {at} below {directory}");
        }
        assert!(looked < 12 * most.max(60), "{looked} entries of {most} were looked at in {} trees", made.len());
        let distinct: BTreeSet<String> = found.reads.iter().map(|read| format!("{read:?}")).collect();
        assert_eq!(distinct.len(), found.reads.len(), "nothing is read twice");
        assert!(found.damaged.values().all(Vec::is_empty));
    }
}

#[test]
fn a_history_tells_for_each_tree_which_version_it_has() {
    let browser = Browser::new();
    let at = path("d1/e1/f001");
    let contents: [Option<&[u8]>; 8] =
        [None, Some(b"one"), Some(b"two"), Some(b"two"), None, Some(b"one"), Some(b"three"), Some(b"three")];
    let mut tree = files(22, 300, 200);
    let (mut ids, mut kept): (Vec<SnapshotId>, Option<Vec<u8>>) = (Vec::new(), None);
    for (time, content) in contents.iter().enumerate() {
        match content {
            Some(content) => drop(tree.insert(at.clone(), content.to_vec())),
            None => drop(tree.remove(&at)),
        }
        let parents: Vec<&[u8]> = kept.iter().map(Vec::as_slice).collect();
        let ran = browser.back_up(LATER + time as i64, &tree, &parents, usize::MAX);
        ids.push(ran.snapshot);
        kept = Some(ran.kept);
    }
    let library = browser.library();
    let mut history = History::default();
    let mut looked = 0;
    let found = sweep(&browser, &library, &ids, Range::At(at), &BTreeSet::new(), |entry| {
        looked += 1;
        Some(history.number(entry))
    });
    let numbers: Vec<Option<u32>> = found.numbers.values().map(|numbers| numbers.first().copied()).collect();
    assert_eq!(numbers, [None, Some(0), Some(1), Some(1), None, Some(0), Some(2), Some(2)]);
    assert_eq!(looked, 3, "pages that were seen are not looked into");
    let distinct: BTreeSet<String> = found.reads.iter().map(|read| format!("{read:?}")).collect();
    assert_eq!(distinct.len(), found.reads.len(), "nothing is read twice");
}

#[test]
fn of_one_content_with_another_time_a_version_of_its_own_is_told() {
    let browser = Browser::new();
    let first = browser.back_up(LATER, &Tree::from([(path("a"), b"x".to_vec())]), &[], usize::MAX);
    let library = browser.library();
    let mut entries = Vec::new();
    sweep(&browser, &library, &[first.snapshot], Range::At(path("a")), &BTreeSet::new(), |entry| {
        entries.push(entry.clone());
        None
    });
    let [entry] = entries.try_into().unwrap();
    let mut later = entry.clone();
    later.mtime.0 += 1;
    let mut other = later.clone();
    other.extras.holes = [1].map(|end| 0..end).into();
    let mut history = History::default();
    assert_eq!([&entry, &later, &other, &entry].map(|entry| history.number(entry)), [0, 1, 2, 0]);
    assert_eq!([&entry, &later, &other].map(|entry| history.content(entry)), [Some(0), Some(0), Some(2)]);
}

#[test]
fn where_a_page_is_lost_every_tree_that_has_it_is_named_and_nothing_is_said_to_be_away() {
    let browser = Browser::new();
    let made = changing(&browser, 12);
    let ids: Vec<SnapshotId> = made.iter().map(|(id, _)| *id).collect();
    let packs: Vec<String> = browser.world.names("packs/");
    let data: BTreeSet<String> = browser.data_packs().into_iter().collect();
    for pack in packs.iter().filter(|pack| !data.contains(*pack)) {
        let (library, away) = (browser.library(), BTreeSet::from([pack.clone()]));
        let mut numbers = Numbers::default();
        let found =
            sweep(&browser, &library, &ids, Range::Below(TreePath::TOP), &away, |entry| Some(numbers.of(&entry.path)));
        for (at, (_, tree)) in made.iter().enumerate() {
            let all = super::with_directories(tree);
            let expected: BTreeSet<u32> = all.keys().map(|path| numbers.of(path)).collect();
            assert!(found.numbers[&at].is_subset(&expected), "{pack}: nothing is made up in tree {at}");
            let is_whole = found.numbers[&at] == expected;
            assert_eq!(is_whole, found.damaged[&at].is_empty(), "{pack}: tree {at} {:?}", found.damaged[&at]);
        }
        assert!(found.damaged.values().any(|damaged| !damaged.is_empty()), "{pack} is needed");
        let at = made[0].1.keys().nth(70).unwrap().clone();
        let library = browser.library();
        let found = sweep(&browser, &library, &ids, Range::At(at.clone()), &away, |_| Some(0));
        for (tree, (_, files)) in made.iter().enumerate() {
            let is_told = !found.numbers[&tree].is_empty() || !found.damaged[&tree].is_empty();
            assert!(is_told || !files.contains_key(&at), "{pack}: tree {tree} seems not to have {at}");
        }
    }
}
