//! The store seam: everything the rest of Copal may ask of a place that holds objects.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{Key, StoreError, StoreTime};

/// A place that holds create-only objects by key.
///
/// One key may not be the leading segments of another (`a` and `a/b`): a directory cannot hold both.
#[async_trait]
pub trait Store: Send + Sync {
    /// Creates the object durably, or reports that the name exists, and then nothing changed. Never replaces.
    /// On return, with [`Created::New`] or [`Created::Exists`], the object of that name is durable.
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError>;

    /// The whole object.
    async fn read(&self, key: &Key) -> Result<Bytes, StoreError>;

    /// Exactly that range of the object, or [`StoreError::OutOfRange`].
    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError>;

    /// The object's length and time, or `None` if there is no such object.
    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError>;

    /// Objects whose key starts with `prefix`, which may end within a segment, in byte order of key, after
    /// `after`; a page of at most `limit` objects (a limit of 0 counts as 1).
    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError>;

    /// Deletes; a missing object is success.
    async fn delete(&self, key: &Key) -> Result<(), StoreError>;

    /// Deletes all of them, in no particular order and perhaps at once; missing ones are success. An error names one
    /// that may still be there, and nothing is said of the others: ask again for all.
    async fn delete_all(&self, keys: &[Key]) -> Result<(), StoreError> {
        for key in keys {
            self.delete(key).await?;
        }
        Ok(())
    }

    /// The time by the clock that dates the objects.
    async fn now(&self) -> Result<StoreTime, StoreError>;

    /// The whole object, as bytes that stay in the page cache where the store can map them; otherwise read.
    async fn map(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.read(key).await
    }

    /// Whether each request takes a round trip over a network: then many should be made at once, and more be asked for
    /// with each. Wrappers say what the store beneath says.
    fn is_far(&self) -> bool {
        false
    }

    /// The most bytes that an object created here may have, where that is less than anything that is written may need.
    fn largest(&self) -> Option<u64> {
        None
    }
}

/// What became of a creation.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Created {
    /// The object is ours.
    New,
    /// An object of that name was there: perhaps with other bytes.
    Exists,
}

/// What is known of an object without reading it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Bytes in the object.
    pub length: u64,
    /// When it was written, by the store's clock.
    pub created: StoreTime,
    /// The SHA-256 of its bytes, where the store computed it from what it holds and vouches for it; listings have none.
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

/// A part of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPage {
    /// In byte order of key.
    pub objects: Vec<Listed>,
    /// Whether objects follow: ask again after the last one.
    pub more: bool,
}

/// All objects under a prefix. For prefixes that hold few enough to keep in memory.
pub async fn list_all<S: Store + ?Sized>(store: &S, prefix: &str) -> Result<Vec<Listed>, StoreError> {
    let mut all: Vec<Listed> = Vec::new();
    loop {
        let after = all.last().map(|listed| &listed.key);
        let page = store.list(prefix, after, LIST_PAGE).await?;
        let more = page.more && !page.objects.is_empty();
        all.extend(page.objects);
        if !more {
            return Ok(all);
        }
    }
}

/// Objects asked for at once; stores may return fewer.
const LIST_PAGE: usize = 10_000;

macro_rules! store_by_reference {
    ($($reference:ty),*) => {$(
        #[async_trait]
        impl<S: Store + ?Sized> Store for $reference {
            async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
                (**self).create(key, bytes).await
            }
            async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
                (**self).read(key).await
            }
            async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
                (**self).read_range(key, range).await
            }
            async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
                (**self).stat(key).await
            }
            async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
                (**self).list(prefix, after, limit).await
            }
            async fn delete(&self, key: &Key) -> Result<(), StoreError> {
                (**self).delete(key).await
            }
            async fn delete_all(&self, keys: &[Key]) -> Result<(), StoreError> {
                (**self).delete_all(keys).await
            }
            async fn now(&self) -> Result<StoreTime, StoreError> {
                (**self).now().await
            }
            async fn map(&self, key: &Key) -> Result<Bytes, StoreError> {
                (**self).map(key).await
            }
            fn is_far(&self) -> bool {
                (**self).is_far()
            }
            fn largest(&self) -> Option<u64> {
                (**self).largest()
            }
        }
    )*};
}

store_by_reference!(&S, Arc<S>, Box<S>);
