use copal_format::id::RepositoryId;
use copal_format::room::Memory;
use copal_store::StoreTime;
use copal_store::memory::MemoryStore;
use core::time::Duration;
use futures::executor::block_on;

use super::*;
use crate::context::Entropy;

const SECOND: i64 = 1_000_000_000;

struct Zeros;

impl Entropy for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

fn id(digit: &str) -> ShareId {
    ShareId::parse(&digit.repeat(32)).unwrap()
}

fn terms(ends: u64, count: u32) -> Terms {
    Terms { token: "ab".repeat(32), ends, count, length: 20, list: 20, label: String::new() }
}

/// A share with its terms, or without.
fn put(store: &MemoryStore, id: &ShareId, terms: Option<&Terms>) {
    let create = |key: Key, bytes: Bytes| block_on(store.create(&key, bytes)).unwrap();
    create(id.data(1), Bytes::from_static(&[0; 20]));
    create(id.list(), Bytes::from_static(&[0; 20]));
    if let Some(terms) = terms {
        create(id.terms(), terms.encode());
    }
}

fn swept(store: &MemoryStore) -> (u64, Vec<String>) {
    let job =
        JobContext { store, entropy: &Zeros, scratch: &Memory, repository: RepositoryId([0; 16]), owner_key: [0; 32] };
    let ended = block_on(sweep(&job)).unwrap();
    let left = block_on(list(store, FOLDER)).unwrap();
    let mut ids: Vec<String> =
        left.iter().filter_map(|listed| Some(ShareId::of(listed.key.as_str())?.as_str()[..1].to_owned())).collect();
    ids.dedup();
    ids.sort();
    ids.dedup();
    (ended.shares, ids)
}

#[test]
fn a_share_goes_when_it_has_ended_by_the_stores_clock_and_not_before() {
    let store = MemoryStore::default();
    store.set_now(StoreTime(1_000 * SECOND));
    put(&store, &id("a"), Some(&terms(2_000, 5)));
    put(&store, &id("b"), Some(&terms(3_000_000, 5)));
    store.set_now(StoreTime(1_999 * SECOND));
    assert_eq!(swept(&store), (0, vec!["a".to_owned(), "b".to_owned()]));
    store.set_now(StoreTime(2_000 * SECOND));
    assert_eq!(swept(&store), (1, vec!["b".to_owned()]));
}

#[test]
fn what_has_no_terms_or_false_ones_goes_a_day_after_its_newest_object() {
    let store = MemoryStore::default();
    put(&store, &id("a"), None);
    put(&store, &id("b"), Some(&terms(u64::MAX, 1001)));
    store.advance(Duration::from_secs(DAY as u64 - 1));
    block_on(store.create(&id("a").data(2), Bytes::from_static(&[0; 20]))).unwrap();
    assert_eq!(swept(&store).0, 0);
    store.advance(Duration::from_secs(2));
    assert_eq!(swept(&store), (1, vec!["a".to_owned()]));
    store.advance(Duration::from_secs(DAY as u64));
    assert_eq!(swept(&store), (1, vec![]));
}

#[test]
fn a_share_that_was_taken_up_goes_once_the_last_ticket_has_ended() {
    let store = MemoryStore::default();
    put(&store, &id("a"), Some(&terms(u64::MAX, 2)));
    let take = |number| block_on(store.create(&id("a").taken(number), Bytes::from_static(b"{}"))).unwrap();
    take(1);
    store.advance(Duration::from_secs(2 * DAY as u64));
    assert_eq!(swept(&store).0, 0);
    take(2);
    store.advance(Duration::from_secs(DAY as u64 - 1));
    assert_eq!(swept(&store).0, 0);
    store.advance(Duration::from_secs(2));
    assert_eq!(swept(&store), (1, vec![]));
}

#[test]
fn nothing_but_a_shares_own_names_belongs_to_it() {
    let own = id("a");
    for key in [own.terms(), own.list(), own.data(1), own.taken(1)] {
        assert_eq!(ShareId::of(key.as_str()), Some(own.clone()), "{key}");
    }
    let digits = own.as_str();
    for name in [
        format!("shares/terms/{digits}/1"),
        format!("shares/data/{digits}"),
        format!("shares/data/{digits}/1"),
        format!("shares/data/{digits}/{:020}/x", 1),
        format!("shares/data/{digits}x/{:020}", 1),
        format!("shares/data/{}/{:020}", digits.to_uppercase(), 1),
        format!("shares/other/{digits}"),
        format!("packs/{digits}"),
        "shares/terms/..".to_owned(),
    ] {
        assert_eq!(ShareId::of(&name), None, "{name}");
    }
    assert!(ShareId::is_content(own.data(1).as_str(), OBJECT_BYTES));
    assert!(!ShareId::is_content(own.data(1).as_str(), OBJECT_BYTES + 1));
    assert!(!ShareId::is_content(own.terms().as_str(), 1) && !ShareId::is_content(own.taken(1).as_str(), 1));
}

#[test]
fn terms_out_of_range_are_none() {
    let sound = terms(2_000, 5);
    assert_eq!(Terms::read(&sound.encode()), Some(sound.clone()));
    let wrong = [
        Terms { count: 0, ..sound.clone() },
        Terms { count: 1001, ..sound.clone() },
        Terms { length: 0, ..sound.clone() },
        Terms { length: OBJECTS_MOST * OBJECT_BYTES + 1, ..sound.clone() },
        Terms { list: OBJECT_BYTES + 1, ..sound.clone() },
        Terms { token: "AB".repeat(32), ..sound.clone() },
        Terms { label: "x".repeat(5_000), ..sound },
    ];
    for terms in wrong {
        assert_eq!(Terms::read(&terms.encode()), None, "{terms:?}");
    }
    assert_eq!(Terms::read(b"{}"), None);
}

#[test]
fn what_is_not_of_a_share_stays_and_stops_nobody() {
    let store = MemoryStore::default();
    store.set_now(StoreTime(1_000 * SECOND));
    put(&store, &id("a"), Some(&terms(2_000, 5)));
    let stray = crate::objects::key(format!("shares/data/{}/.DS_Store", id("a").as_str()));
    block_on(store.create(&stray, Bytes::from_static(b"a system's own"))).unwrap();
    store.set_now(StoreTime(3_000 * SECOND));
    assert_eq!(swept(&store).0, 1);
    assert_eq!(block_on(list(&store, FOLDER)).unwrap().iter().map(|listed| &listed.key).collect::<Vec<_>>(), [&stray]);
    assert_eq!(block_on(remove(&store, &id("a"))).unwrap().objects, 1, "its terms");
}
