//! Chain: finds the end of a chain of numbered records in the store, and appends to it beside other writers.

use bytes::Bytes;
use copal_format::id::ObjectHash;
use copal_format::wire::chain::Chain;
use copal_jobs::objects;
use copal_store::{Created, Op, Store, StoreError};

use crate::wait::wait;

/// Follows the records after `end` to the last. `name` gives the name of a number's record.
pub(crate) fn follow_to_end(
    store: &dyn Store,
    end: &mut Chain,
    name: impl Fn(u64) -> String,
) -> Result<(), StoreError> {
    while let Some(hash) = read(store, &name(end.due()))? {
        end.advance(hash);
    }
    Ok(())
}

/// Creates a record under the next free number. If another writer took the number, links to that record and tries the
/// next number. `record` makes the record that follows a chain's end.
pub(crate) fn append(
    store: &dyn Store,
    end: &mut Chain,
    name: impl Fn(u64) -> String,
    mut record: impl FnMut(&Chain) -> Vec<u8>,
) -> Result<(), StoreError> {
    let mut attempts = Attempts::default();
    loop {
        let bytes = Bytes::from(record(end));
        let there = attempts.put(store, &name(end.due()), &bytes)?;
        end.advance(ObjectHash::of(&there));
        if there == bytes {
            return Ok(());
        }
    }
}

/// Counts the attempts to create one record, so that a store that lets none succeed ends with an error, and gets no more
/// signatures.
#[derive(Default)]
pub(crate) struct Attempts(u32);

impl Attempts {
    /// Creates an object, or reads what is there already. Returns what is stored under the name.
    pub(crate) fn put(&mut self, store: &dyn Store, name: &str, bytes: &Bytes) -> Result<Bytes, StoreError> {
        let key = objects::key(name);
        while self.0 < ATTEMPTS {
            self.0 += 1;
            if wait(store.create(&key, bytes.clone()))? == Created::New {
                return Ok(bytes.clone());
            }
            if let Some(there) = wait(objects::read(store, name))? {
                return Ok(there);
            }
        }
        let source =
            format!("after {ATTEMPTS} attempts the store still has another object there, or shows none").into();
        Err(StoreError::Io { op: Op::Create, key: name.to_owned(), source })
    }
}

fn read(store: &dyn Store, name: &str) -> Result<Option<ObjectHash>, StoreError> {
    Ok(wait(objects::read(store, name))?.map(|bytes| ObjectHash::of(&bytes)))
}

/// Attempts to create one record.
const ATTEMPTS: u32 = 64;

#[cfg(test)]
mod tests {
    use copal_store::Key;
    use copal_store::fault::{Fate, Fault};
    use copal_store::memory::MemoryStore;

    use super::*;

    fn append_to(store: &dyn Store) -> (u32, Result<(), StoreError>) {
        let mut signed = 0;
        let record = |_: &Chain| {
            signed += 1;
            b"ours".to_vec()
        };
        let appended = append(store, &mut Chain::new(), |number| format!("changes/{number}"), record);
        (signed, appended)
    }

    #[test]
    fn a_store_that_refuses_a_name_and_shows_nothing_there_ends_with_an_error_that_names_it() {
        let inner = MemoryStore::default();
        wait(inner.create(&Key::new("changes/1").unwrap(), Bytes::from_static(b"hidden"))).unwrap();
        let store = Fault::new(inner, |call| match call.op {
            Op::Read => Fate::FailBefore(StoreError::NotFound { key: Key::new(call.key).unwrap() }),
            _ => Fate::Proceed,
        });
        let (signed, appended) = append_to(&store);
        assert!(matches!(&appended, Err(StoreError::Io { key, .. }) if key == "changes/1"), "{appended:?}");
        assert_eq!(signed, 1);
    }

    #[test]
    fn a_store_that_shows_ever_more_records_of_others_gets_a_bounded_number_of_signatures() {
        let inner = MemoryStore::default();
        for number in 1..=2 * ATTEMPTS {
            let key = Key::new(format!("changes/{number}")).unwrap();
            wait(inner.create(&key, Bytes::from_static(b"another's"))).unwrap();
        }
        let (signed, appended) = append_to(&inner);
        assert!(appended.is_err());
        assert_eq!(signed, ATTEMPTS + 1);
    }
}
