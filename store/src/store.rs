//! The store trait: all operations that Copal needs from a place that holds objects.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{Key, Op, StoreError, StoreTime};

/// A place that holds create-only objects by key.
///
/// A key may not be a path prefix of another (`a` and `a/b`): a directory cannot hold both.
#[async_trait]
pub trait Store: Send + Sync {
    /// Creates the object durably, or reports that the name exists and changes nothing. Never replaces. When this
    /// returns [`Created::New`] or [`Created::Exists`], the object of that name is durable.
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError>;

    /// Reads the whole object.
    async fn read(&self, key: &Key) -> Result<Bytes, StoreError>;

    /// Reads exactly this range of the object, or fails with [`StoreError::OutOfRange`].
    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError>;

    /// The object's length and time; `None` if it does not exist.
    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError>;

    /// A page of the objects whose key starts with `prefix` (which may end within a segment) and follows `after`, in
    /// byte order of keys. At most `limit` objects; a limit of 0 counts as 1.
    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError>;

    /// Deletes the object; succeeds if it does not exist.
    async fn delete(&self, key: &Key) -> Result<(), StoreError>;

    /// Deletes all of them in any order; missing ones count as deleted. After an error any of them may still exist (the
    /// error names one): call again with all.
    async fn delete_all(&self, keys: &[Key]) -> Result<(), StoreError> {
        for key in keys {
            self.delete(key).await?;
        }
        Ok(())
    }

    /// The time by the clock that dates objects.
    async fn now(&self) -> Result<StoreTime, StoreError>;

    /// Reads the whole object. Stores that can map files return bytes in the page cache.
    async fn map(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.read(key).await
    }

    /// Whether each request is a network round trip; then callers should send many at once and ask for much with each.
    /// Wrappers return the answer of the inner store.
    fn is_remote(&self) -> bool {
        false
    }

    /// The most bytes of an object that can be created here, if that is less than Copal may need.
    fn largest(&self) -> Option<u64> {
        None
    }
}

/// The result of a creation.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Created {
    /// The object was created.
    New,
    /// An object of that name existed, perhaps with other bytes.
    Exists,
}

/// What is known about an object without reading it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Bytes in the object.
    pub length: u64,
    /// When it was created, by the store's clock.
    pub created: StoreTime,
    /// The SHA-256 of its bytes, if the store itself computed it from what it holds. Listings have none.
    pub sha256: Option<[u8; 32]>,
}

/// An object in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub key: Key,
    /// Its length and time.
    pub stat: Stat,
}

/// A page of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPage {
    /// In byte order of key.
    pub objects: Vec<Listed>,
    /// Whether more objects follow after the last one.
    pub more: bool,
}

/// Lists all objects below a prefix, in order, a page at a time. Only for prefixes whose listing fits into memory.
pub async fn list_all<S: Store + ?Sized>(store: &S, prefix: &str) -> Result<Vec<Listed>, StoreError> {
    list_after(store, prefix, None).await
}

/// Like [`list_all`], for the objects after a key.
pub async fn list_after<S: Store + ?Sized>(
    store: &S,
    prefix: &str,
    after: Option<&Key>,
) -> Result<Vec<Listed>, StoreError> {
    let mut all: Vec<Listed> = Vec::new();
    loop {
        let last = all.last().map(|listed| &listed.key).or(after);
        let page = store.list(prefix, last, LIST_PAGE).await?;
        if page.objects.is_empty() && page.more {
            // The listing would never end, and if it were cut off, the rest would seem missing.
            let source = "a page of names is empty and not the last".into();
            return Err(StoreError::Io { op: Op::List, key: prefix.to_owned(), source });
        }
        all.extend(page.objects);
        if !page.more {
            return Ok(all);
        }
    }
}

/// Objects per page; stores may return fewer.
const LIST_PAGE: usize = 1000;

macro_rules! store_by_reference {
    ($($reference:ty),*) => {$(
        #[async_trait]
        impl<S: Store + ?Sized> Store for $reference {
            crate::pass_on!(**: create, read, read_range, stat, list, delete, delete_all, now, map, is_remote, largest);
        }
    )*};
}

store_by_reference!(&S, Arc<S>, Box<S>);

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;
    use crate::memory::MemoryStore;

    struct Endless {
        inner: MemoryStore,
    }

    #[async_trait]
    impl Store for Endless {
        crate::pass_on!(inner: create, read, read_range, stat, delete, now);

        async fn list(&self, _: &str, _: Option<&Key>, _: usize) -> Result<ListPage, StoreError> {
            Ok(ListPage { objects: Vec::new(), more: true })
        }
    }

    #[test]
    fn a_listing_that_goes_on_without_names_is_an_error() {
        let listed = block_on(list_all(&Endless { inner: MemoryStore::new() }, "packs/"));
        assert!(matches!(listed, Err(StoreError::Io { op: Op::List, .. })), "{listed:?}");
    }
}
