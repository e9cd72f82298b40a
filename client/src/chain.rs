//! Chain: finds the end of a chain of numbered records in the store, and appends to it beside other writers.

use bytes::Bytes;
use copal_format::id::ObjectHash;
use copal_format::wire::chain::Chain;
use copal_jobs::objects;
use copal_store::{Created, Store, StoreError};

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
    loop {
        let (bytes, name) = (record(end), name(end.due()));
        let hash = ObjectHash::of(&bytes);
        let is_new = wait(store.create(&objects::key(name.as_str()), Bytes::from(bytes)))? == Created::New;
        let stored = if is_new { Some(hash) } else { read(store, &name)? };
        let Some(stored) = stored else { continue };
        end.advance(stored);
        if stored == hash {
            return Ok(());
        }
    }
}

fn read(store: &dyn Store, name: &str) -> Result<Option<ObjectHash>, StoreError> {
    Ok(wait(objects::read(store, name))?.map(|bytes| ObjectHash::of(&bytes)))
}
