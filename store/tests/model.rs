//! A directory answers every sequence of calls as the model in memory does.

use std::ops::Range;

use bytes::Bytes;
use copal_store::fs::FsStore;
use copal_store::memory::MemoryStore;
use copal_store::{Created, Key, Store, StoreError};
use futures::executor::block_on;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn directory_answers_as_memory_does(acts in prop::collection::vec(act(), 1..40)) {
        let place = tempfile::tempdir().expect("a temporary directory");
        let directory = FsStore::open(place.path()).expect("the directory exists");
        let memory = MemoryStore::new();
        for act in acts {
            prop_assert_eq!(act.perform(&directory), act.perform(&memory), "{:?}", act);
        }
    }
}

#[derive(Clone, Debug)]
enum Act {
    Create(Key, Vec<u8>),
    Read(Key),
    Map(Key),
    ReadRange(Key, Range<u64>),
    Stat(Key),
    List(String, Option<Key>, usize),
    Delete(Key),
}

/// What a caller sees, without the times, which differ.
#[derive(Debug, PartialEq)]
enum Answer {
    Created(Created),
    Bytes(Bytes),
    Length(Option<u64>),
    Objects(Vec<(Key, u64)>, bool),
    Done,
    NotFound,
    OutOfRange(u64),
    Error(String),
}

impl Act {
    fn perform(&self, store: &impl Store) -> Answer {
        block_on(self.ask(store)).unwrap_or_else(|error| match error {
            StoreError::NotFound { .. } => Answer::NotFound,
            StoreError::OutOfRange { length, .. } => Answer::OutOfRange(length),
            other => Answer::Error(other.to_string()),
        })
    }

    async fn ask(&self, store: &impl Store) -> Result<Answer, StoreError> {
        Ok(match self {
            Act::Create(key, bytes) => {
                Answer::Created(store.create(key, bytes.clone().into()).await?)
            }
            Act::Read(key) => Answer::Bytes(store.read(key).await?),
            Act::Map(key) => Answer::Bytes(store.map(key).await?),
            Act::ReadRange(key, range) => {
                Answer::Bytes(store.read_range(key, range.clone()).await?)
            }
            Act::Stat(key) => Answer::Length(store.stat(key).await?.map(|stat| stat.length)),
            Act::List(prefix, after, limit) => {
                let page = store.list(prefix, after.as_ref(), *limit).await?;
                let objects = page
                    .objects
                    .into_iter()
                    .map(|listed| (listed.key, listed.stat.length));
                Answer::Objects(objects.collect(), page.more)
            }
            Act::Delete(key) => {
                store.delete(key).await?;
                Answer::Done
            }
        })
    }
}

fn act() -> impl Strategy<Value = Act> {
    let bytes = prop::collection::vec(any::<u8>(), 0..20);
    prop_oneof![
        4 => (key(), bytes).prop_map(|(key, bytes)| Act::Create(key, bytes)),
        1 => key().prop_map(Act::Read),
        1 => key().prop_map(Act::Map),
        1 => (key(), 0..22_u64, 0..22_u64).prop_map(|(key, start, end)| Act::ReadRange(key, start..end)),
        1 => key().prop_map(Act::Stat),
        3 => (prefix(), prop::option::of(key()), 0..9_usize)
            .prop_map(|(prefix, after, limit)| Act::List(prefix, after, limit)),
        2 => key().prop_map(Act::Delete),
    ]
}

/// Directories end in `d` and objects do not, so that no key leads through another.
fn key() -> impl Strategy<Value = Key> {
    "([a.0-]?d/){0,3}[a.0-]?[ab0_-]".prop_map(|name| Key::new(name).expect("a key"))
}

fn prefix() -> impl Strategy<Value = String> {
    (key(), 0..=9_usize)
        .prop_map(|(key, end)| key.as_str()[..end.min(key.as_str().len())].to_owned())
}
