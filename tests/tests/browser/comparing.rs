//! Comparing: what a browser tells of the differences between two snapshots.

use copal_engine::difference::Difference;
use copal_format::client::Role;
use copal_format::id::SnapshotId;
use copal_format::time::Time;
use copal_format::tree::{Content, Entry, EntryKind, Mode, Piece};
use copal_tests::kit::{Tree, path};
use copal_wasm::look::Comparison;
use futures::executor::block_on;

use super::seat::{Browser, LATER, files};

/// The changes between two snapshots, asked for in parts as the page does: it repeats a call that needs reads, and
/// looks at no other part of that answer.
fn changes(browser: &Browser, [before, after]: [SnapshotId; 2], limit: usize) -> Vec<(Difference, String)> {
    let library = browser.library();
    let (before, after) = (library.tree(before).unwrap(), library.tree(after).unwrap());
    let mut comparison = Comparison::new(&before, &after);
    let mut found = Vec::new();
    loop {
        let part = comparison.next(limit).unwrap();
        assert!(part.needs.is_empty() || part.changes.is_empty(), "an answer has reads or changes, never both");
        part.needs.iter().for_each(|read| library.supply(read, browser.fetch(read)));
        found.extend(part.changes.into_iter().map(|(how, change)| (how, change.path.to_string())));
        if part.is_done {
            return found;
        }
    }
}

#[test]
fn no_change_is_lost_where_the_next_page_must_be_read_first() {
    let browser = Browser::new();
    let before = files(20, 200, 3_000);
    let longer = |content: &Vec<u8>| [content.as_slice(), b"more"].concat();
    let after: Tree = before.iter().map(|(path, content)| (path.clone(), longer(content))).collect();
    let first = browser.back_up(LATER, &before, &[], usize::MAX);
    let second = browser.back_up(LATER + 1, &after, &[&first.kept], usize::MAX);
    let expected: Vec<_> = before.keys().map(|path| (Difference::Modified, path.to_string())).collect();
    for limit in [1, 7, 2_000] {
        assert_eq!(changes(&browser, [first.snapshot, second.snapshot], limit), expected, "{limit} at once");
    }
}

#[test]
fn an_entry_with_another_inode_and_ctime_is_the_same_and_one_with_another_time_differs_in_metadata() {
    let browser = Browser::new();
    let client = browser.world.register(1, Role::Full);
    let content = [b'x'; 100];
    let save = |inode, changed: i64, modified: i64| {
        let job = browser.world.job();
        let mut run = client.begin(&job).unwrap();
        let taken = run.take_entries(&job, &content, |id| {
            let content = Content::Chunks(vec![Piece { id, length: 100 }]);
            let plain = Entry::new(path("file"), Mode::new(EntryKind::File, 0o644));
            vec![Entry { mtime: Time(modified), ctime: Time(changed), inode, size: 100, content, ..plain }]
        });
        let packs = block_on(taken).unwrap();
        block_on(client.commit_run(&job, &browser.world.view(), &mut run, packs, false)).unwrap()
    };
    let [first, moved, touched] = [save(1, 1, 1), save(2, 2, 1), save(2, 3, 3)];
    assert!(changes(&browser, [first, moved], 10).is_empty());
    assert_eq!(changes(&browser, [moved, touched], 10), [(Difference::Metadata, "file".to_owned())]);
}
