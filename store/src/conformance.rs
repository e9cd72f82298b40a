//! The suite that every store must pass, for tests of this and other crates. Panics at the first violation.
//!
//! Calls run with `futures::executor::block_on`; a store that needs a runtime brings its own.

use std::collections::BTreeSet;

use bytes::Bytes;
use futures::executor::block_on;

use sha2::{Digest, Sha256};

use crate::{Created, Key, Stat, Store, StoreError, list_all};

/// Runs the whole suite, each test with a new, empty store.
pub fn run<S: Store>(make: impl Fn() -> S) {
    second_creation_changes_nothing(&make());
    one_of_many_concurrent_creators_wins(&make());
    deleted_names_can_be_made_again(&make());
    many_are_deleted_at_once(&make());
    objects_read_as_written(&make());
    large_objects_read_as_written(&make());
    missing_objects_are_missing(&make());
    ranges_are_exact_or_refused(&make());
    listings_are_in_byte_order_of_key(&make());
    prefixes_select_by_bytes(&make());
    pages_add_up_to_the_listing(&make());
    objects_are_not_from_the_future(&make());
}

/// A second creation of a name reports that it exists, and changes neither bytes nor time.
pub fn second_creation_changes_nothing(store: &impl Store) {
    let key = key("packs/ab/1");
    assert_eq!(create(store, &key, b"first"), Created::New);
    let before = block_on(store.stat(&key)).expect("stat");
    for bytes in [b"other".as_slice(), b"first", b""] {
        assert_eq!(create(store, &key, bytes), Created::Exists);
    }
    assert_eq!(read(store, &key), b"first".as_slice());
    assert_eq!(block_on(store.stat(&key)).expect("stat"), before);
}

/// If many threads create one name at the same time, exactly one of them gets [`Created::New`].
pub fn one_of_many_concurrent_creators_wins(store: &impl Store) {
    for round in 0..8 {
        let key = key(&format!("roots/{round}"));
        let start = std::sync::Barrier::new(CREATORS);
        let create_as = |creator: usize| {
            start.wait();
            create(store, &key, &[creator as u8; 1000])
        };
        let created: Vec<Created> = std::thread::scope(|scope| {
            let create_as = &create_as;
            let threads: Vec<_> = (0..CREATORS).map(|creator| scope.spawn(move || create_as(creator))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a creator does not panic")).collect()
        });
        let winners: Vec<usize> = (0..CREATORS).filter(|&creator| created[creator] == Created::New).collect();
        assert_eq!(winners.len(), 1, "creators told that the object is theirs: {winners:?}");
        assert_eq!(read(store, &key), [winners[0] as u8; 1000].as_slice());
    }
}

/// A deleted name is free again, and deleting a missing object succeeds.
pub fn deleted_names_can_be_made_again(store: &impl Store) {
    let key = key("a/b/c");
    block_on(store.delete(&key)).expect("delete of an object that never was");
    create(store, &key, b"old");
    block_on(store.delete(&key)).expect("delete");
    block_on(store.delete(&key)).expect("delete again");
    assert_eq!(block_on(store.stat(&key)).expect("stat"), None);
    assert_eq!(keys(store, ""), [""; 0]);
    assert_eq!(create(store, &key, b"new"), Created::New);
    assert_eq!(read(store, &key), b"new".as_slice());
}

/// Bytes are read as they were written; empty objects too.
pub fn objects_read_as_written(store: &impl Store) {
    for (name, bytes) in [("empty", b"".as_slice()), ("zero", b"\0"), ("x/lines", b"a\r\nb\n\xff")] {
        let key = key(name);
        assert_eq!(create(store, &key, bytes), Created::New);
        assert_eq!(read(store, &key), bytes, "{name}");
        assert_eq!(block_on(store.map(&key)).expect("map"), bytes, "{name}");
        let stat = block_on(store.stat(&key)).expect("stat").expect("the object was created");
        assert_eq!(stat.length, bytes.len() as u64, "{name}");
        // If the store states a SHA-256, it is that of these bytes.
        let sum: [u8; 32] = Sha256::digest(bytes).into();
        assert!(stat.sha256.is_none_or(|sha256| sha256 == sum), "{name}");
    }
}

/// Deletes more names than a server accepts in one request, missing ones among them.
pub fn many_are_deleted_at_once(store: &impl Store) {
    let there = ["a/b", "a/c", "b"];
    create_all(store, &there);
    create(store, &key("c"), b"stays");
    let missing = (0..1500).map(|number| key(&format!("missing/{number}")));
    let names: Vec<Key> = missing.chain(there.map(key)).collect();
    for _ in 0..2 {
        block_on(store.delete_all(&names)).expect("deletion of many");
        assert_eq!(keys(store, ""), ["c"]);
    }
    block_on(store.delete_all(&[])).expect("deletion of none");
}

/// An object larger than a pack.
pub fn large_objects_read_as_written(store: &impl Store) {
    let key = key("packs/ff/large");
    let bytes: Bytes = (0..LARGE / 4).flat_map(|i: u32| i.wrapping_mul(0x9e37_79b1).to_le_bytes()).collect();
    assert_eq!(block_on(store.create(&key, bytes.clone())).expect("create"), Created::New);
    assert!(read(store, &key) == bytes, "a large object read differs");
    assert!(block_on(store.map(&key)).expect("map") == bytes, "a large object mapped differs");
    let middle = 12_345_678..12_345_999;
    let range = block_on(store.read_range(&key, middle.clone())).expect("read of a range");
    assert_eq!(range, bytes.slice(middle.start as usize..middle.end as usize));
}

/// A missing object is `None` for `stat` and [`StoreError::NotFound`] for reads.
pub fn missing_objects_are_missing(store: &impl Store) {
    create(store, &key("a/b"), b"there");
    for name in ["a", "a/c", "a/b/c", "a/b0", "b", "b/c"] {
        let key = key(name);
        assert_eq!(block_on(store.stat(&key)).expect("stat"), None, "{name}");
        for result in [block_on(store.read(&key)), block_on(store.read_range(&key, 0..0)), block_on(store.map(&key))] {
            assert!(matches!(result, Err(StoreError::NotFound { key: missing }) if missing == key), "{name}");
        }
        block_on(store.delete(&key)).expect("delete of a missing object");
    }
    assert_eq!(read(store, &key("a/b")), b"there".as_slice());
}

/// A range is read completely or refused, never cut short.
pub fn ranges_are_exact_or_refused(store: &impl Store) {
    let (six, empty) = (key("six"), key("empty"));
    create(store, &six, b"abcdef");
    create(store, &empty, b"");
    for (key, range, expected) in [
        (&six, 0..6, b"abcdef".as_slice()),
        (&six, 2..4, b"cd"),
        (&six, 5..6, b"f"),
        (&six, 0..0, b""),
        (&six, 3..3, b""),
        (&six, 6..6, b""),
        (&empty, 0..0, b""),
    ] {
        let bytes = block_on(store.read_range(key, range.clone())).expect("a range within the object");
        assert_eq!(bytes, expected, "{key} {range:?}");
    }
    #[allow(clippy::reversed_empty_ranges, reason = "what a store must refuse")]
    for (key, range) in [
        (&six, 0..7),
        (&six, 6..7),
        (&six, 7..7),
        (&six, 7..9),
        (&six, 4..2),
        (&six, u64::MAX..u64::MAX),
        (&six, 0..u64::MAX),
        (&empty, 0..1),
        (&empty, 1..1),
    ] {
        let result = block_on(store.read_range(key, range.clone()));
        assert!(matches!(result, Err(StoreError::OutOfRange { .. })), "{key} {range:?}: {result:?}");
    }
}

/// Keys are in byte order even where a walk through directories has another order.
pub fn listings_are_in_byte_order_of_key(store: &impl Store) {
    create_all(store, TRICKY);
    assert_eq!(keys(store, ""), TRICKY);
    let listed = block_on(list_all(store, "")).expect("list");
    for object in &listed {
        let stat = block_on(store.stat(&object.key)).expect("stat").expect("the object was created");
        // Listings never state a SHA-256.
        assert_eq!(Stat { sha256: None, ..stat }, object.stat, "{}", object.key);
    }
}

/// A prefix is a sequence of bytes that may end anywhere, not a directory.
pub fn prefixes_select_by_bytes(store: &impl Store) {
    create_all(store, TRICKY);
    let ends: BTreeSet<&str> = TRICKY.iter().flat_map(|name| (0..=name.len()).map(|end| &name[..end])).collect();
    for prefix in ends {
        let expected: Vec<&str> = TRICKY.iter().copied().filter(|name| name.starts_with(prefix)).collect();
        assert_eq!(keys(store, prefix), expected, "prefix {prefix}");
    }
    for prefix in ["b", "a/b/", "a/b/cc/d/e", "zz/", "/", "//", "a//", "../", "a/../", "./", "\0", "a/\u{e4}/"] {
        assert_eq!(keys(store, prefix), [""; 0], "prefix {prefix:?}");
    }
}

/// Pages of any size add up to the listing, wherever they start, even after a name that does not exist.
pub fn pages_add_up_to_the_listing(store: &impl Store) {
    create_all(store, TRICKY);
    for prefix in ["", "a", "a/", "a/b"] {
        let all = keys(store, prefix);
        for limit in 1..=all.len() + 1 {
            assert_eq!(paged(store, prefix, limit), all, "prefix {prefix:?}, {limit} at a time");
        }
    }
    for after in ["A", "a", "a-", "a-b", "a/b", "a/b-z", "a/c/d/e", "a/zz", "a0", "a0/0", "zzz"] {
        let page = block_on(store.list("a/", Some(&key(after)), 1000)).expect("list");
        let found: Vec<&str> = page.objects.iter().map(|listed| listed.key.as_str()).collect();
        let expected: Vec<&str> =
            TRICKY.iter().copied().filter(|name| name.starts_with("a/") && *name > after).collect();
        assert_eq!(found, expected, "after {after}");
        assert!(!page.more, "after {after}");
    }
    // A caller may continue a listing that another began, with a small limit.
    for (after, limit) in TRICKY.iter().flat_map(|after| [(after, 1), (after, 2), (after, 5)]) {
        let page = block_on(store.list("", Some(&key(after)), limit)).expect("list");
        let found: Vec<&str> = page.objects.iter().map(|listed| listed.key.as_str()).collect();
        let following: Vec<&str> = TRICKY.iter().copied().filter(|name| name > after).collect();
        let is_begin = following.starts_with(&found) && found.len() <= limit;
        assert!(is_begin, "{limit} after {after}: {found:?}");
        assert!(page.more || found.len() == following.len(), "{limit} after {after}: {found:?}");
    }
}

/// The clock never runs backwards, and it dates objects.
pub fn objects_are_not_from_the_future(store: &impl Store) {
    let mut before = block_on(store.now()).expect("now");
    for round in 0..20 {
        let key = key(&format!("changes/{round:02}"));
        create(store, &key, b"change");
        let created = block_on(store.stat(&key)).expect("stat").expect("the object was created").created;
        let now = block_on(store.now()).expect("now");
        assert!(before <= created, "object of {created:?}, created after {before:?}");
        assert!(created <= now, "object of {created:?} at {now:?}");
        before = now;
    }
}

fn paged(store: &impl Store, prefix: &str, limit: usize) -> Vec<String> {
    let mut found: Vec<Key> = Vec::new();
    loop {
        let page = block_on(store.list(prefix, found.last(), limit)).expect("list");
        assert!(page.objects.len() <= limit, "more than {limit} in a page");
        assert!(!page.more || !page.objects.is_empty(), "an empty page that is not the last");
        found.extend(page.objects.into_iter().map(|listed| listed.key));
        if !page.more {
            return found.iter().map(Key::to_string).collect();
        }
    }
}

fn keys(store: &impl Store, prefix: &str) -> Vec<String> {
    let listed = block_on(list_all(store, prefix)).expect("list");
    listed.into_iter().map(|listed| listed.key.to_string()).collect()
}

fn create_all(store: &impl Store, names: &[&str]) {
    // In reverse, so that the order of creation differs from the order of names.
    for name in names.iter().rev() {
        assert_eq!(create(store, &key(name), name.as_bytes()), Created::New);
    }
}

fn create(store: &impl Store, key: &Key, bytes: &[u8]) -> Created {
    block_on(store.create(key, Bytes::copy_from_slice(bytes))).expect("create")
}

fn read(store: &impl Store, key: &Key) -> Bytes {
    block_on(store.read(key)).expect("read")
}

fn key(name: &str) -> Key {
    Key::new(name).expect("the suite's names are keys")
}

/// In byte order, with characters that sort below `/` (`-` and `.`) and above it (digits and letters).
const TRICKY: &[&str] = &[
    "A", "a-", "a-b", "a-b-/x", "a.b", "a.b.", "a/-", "a/.x", "a/b-c", "a/b.c", "a/b0", "a/bb/c-d", "a/bb/c/d",
    "a/bb/c0", "a/c", "a0", "aa/a", "ab", "z",
];

const CREATORS: usize = 16;
const LARGE: u32 = 32 << 20;
