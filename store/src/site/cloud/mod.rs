//! Stores of clouds, by OpenDAL: Azure Blob Storage (`azblob://CONTAINER/PREFIX`) and Google Cloud Storage
//! (`gcs://BUCKET/PREFIX`).
//!
//! A creation is one request that the server refuses if the name exists: with `If-None-Match: *` at Azure, with
//! `ifGenerationMatch=0` at Google. Times come from the servers' dates, in whole seconds. OpenDAL retries nothing;
//! [`retry`](crate::retry) does that.

mod listing;
mod services;
mod transport;
mod trouble;

use std::future::Future;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use opendal::{ErrorKind, Operator};

use super::Site;
use crate::clock::{Clock, Reading};
use crate::key::may_begin_a_key;
use crate::probe::creates_once;
use crate::worker::{RuntimePause, Worker};
use crate::{Created, Key, ListPage, Op, Stat, Store, StoreError, StoreTime};
use listing::{Listing, Listings, Stop};
use trouble::{Trouble, explain};

pub(super) use services::{is_complete, open_azblob, open_gcs};

/// Objects below a prefix of a cloud's container or bucket.
struct CloudStore {
    bucket: Arc<Bucket>,
    worker: Worker,
}

struct Bucket {
    /// The address, for errors.
    name: String,
    operator: Operator,
    clock: Clock,
    listings: Listings,
}

impl CloudStore {
    /// Runs a call on the runtime.
    async fn run<T, F>(&self, op: Op, key: &str, call: impl FnOnce(Arc<Bucket>) -> F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let ended = self.worker.run(call(self.bucket.clone())).await;
        ended.unwrap_or_else(|| Err(Trouble::Stopped.lasting(op, key)))
    }
}

#[async_trait]
impl Site for CloudStore {
    async fn probe(&self) -> Result<(), StoreError> {
        creates_once(self, REPLACES).await
    }

    fn pause(&self) -> RuntimePause {
        RuntimePause(self.worker.handle().clone())
    }
}

#[async_trait]
impl Store for CloudStore {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        let own = key.clone();
        self.run(Op::Create, key.as_str(), |bucket| async move { bucket.create(&own, bytes).await }).await
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        let own = key.clone();
        self.run(Op::Read, key.as_str(), |bucket| async move { bucket.read(&own).await }).await
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        let own = key.clone();
        self.run(Op::ReadRange, key.as_str(), |bucket| async move { bucket.read_range(&own, range).await }).await
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        let own = key.clone();
        self.run(Op::Stat, key.as_str(), |bucket| async move { bucket.stat(Op::Stat, &own).await }).await
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        let (own, after) = (prefix.to_owned(), after.cloned());
        self.run(Op::List, prefix, |bucket| async move { bucket.list(&own, after, limit).await }).await
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        let own = key.clone();
        self.run(Op::Delete, key.as_str(), |bucket| async move { bucket.delete(own).await }).await
    }

    /// Many at once.
    async fn delete_all(&self, keys: &[Key]) -> Result<(), StoreError> {
        let own = keys.to_vec();
        let first = keys.first().map_or("", Key::as_str);
        let delete = |bucket: Arc<Bucket>| async move {
            let deletions: Vec<_> = own.into_iter().map(|key| bucket.delete(key)).collect();
            stream::iter(deletions).buffer_unordered(DELETED_AT_ONCE).try_for_each(|()| async { Ok(()) }).await
        };
        self.run(Op::Delete, first, delete).await
    }

    async fn now(&self) -> Result<StoreTime, StoreError> {
        self.run(Op::Now, "", |bucket| async move { bucket.now().await }).await
    }

    fn is_remote(&self) -> bool {
        true
    }
}

impl Bucket {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        #[cfg(feature = "faults")]
        crate::faults::point();
        match self.operator.write_with(key.as_str(), bytes).if_not_exists(true).await {
            Ok(_) => Ok(Created::New),
            Err(error) if matches!(error.kind(), ErrorKind::ConditionNotMatch | ErrorKind::AlreadyExists) => {
                Ok(Created::Exists)
            }
            Err(error) => Err(self.explain(Op::Create, key.as_str(), &error).await),
        }
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        match self.operator.read(key.as_str()).await {
            Ok(buffer) => Ok(buffer.to_bytes()),
            Err(error) => Err(self.unread(Op::Read, key, &error).await),
        }
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        let wanted = range.end.checked_sub(range.start);
        let mut failure = Trouble::Answer("a range that is cut short").passing(Op::ReadRange, key.as_str());
        if let Some(wanted) = wanted.filter(|wanted| *wanted > 0) {
            match self.operator.read_with(key.as_str()).range(range.clone()).await {
                Ok(buffer) if buffer.len() as u64 == wanted => return Ok(buffer.to_bytes()),
                Ok(_) => (),
                Err(error) if error.kind() == ErrorKind::NotFound || error.is_temporary() => {
                    return Err(self.unread(Op::ReadRange, key, &error).await);
                }
                // OpenDAL does not say that the object ends before the range does: its length does.
                Err(error) => failure = explain(Op::ReadRange, key.as_str(), &error),
            }
        }
        match self.stat(Op::ReadRange, key).await? {
            None => Err(StoreError::NotFound { key: key.clone() }),
            Some(stat) if wanted.is_none() || range.end > stat.length => {
                Err(StoreError::OutOfRange { key: key.clone(), range, length: stat.length })
            }
            Some(_) if wanted == Some(0) => Ok(Bytes::new()),
            Some(_) => Err(failure),
        }
    }

    async fn unread(&self, op: Op, key: &Key, error: &opendal::Error) -> StoreError {
        match self.explain(op, key.as_str(), error).await {
            StoreError::Io { .. } if error.kind() == ErrorKind::NotFound => StoreError::NotFound { key: key.clone() },
            explained => explained,
        }
    }

    async fn stat(&self, op: Op, key: &Key) -> Result<Option<Stat>, StoreError> {
        let metadata = match self.operator.stat(key.as_str()).await {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => return self.check_bucket(op).await.map(|()| None),
            Err(error) => return Err(explain(op, key.as_str(), &error)),
        };
        let untimed = || Trouble::Answer("an object without a time").lasting(op, key.as_str());
        let modified = metadata.last_modified().ok_or_else(untimed)?.into_inner().as_second();
        Ok(Some(Stat { length: metadata.content_length(), created: self.clock.object_time(modified), sha256: None }))
    }

    async fn list(&self, prefix: &str, after: Option<Key>, limit: usize) -> Result<ListPage, StoreError> {
        let (mut objects, limit) = (Vec::new(), limit.max(1));
        if !may_begin_a_key(prefix) {
            return Ok(ListPage { objects, more: false });
        }
        let begun = after.as_ref().and_then(|after| self.listings.take(prefix, after));
        let page = (limit + 1).min(LISTED_AT_ONCE);
        let mut listing = match begun {
            Some(listing) => listing,
            None => match Listing::begin(&self.operator, prefix, after.as_ref(), page).await {
                Ok(listing) => listing,
                Err(error) => return Err(self.explain(Op::List, prefix, &error).await),
            },
        };
        loop {
            let listed = match listing.next(&self.clock).await {
                Ok(Some(listed)) => listed,
                Ok(None) => return Ok(ListPage { objects, more: false }),
                Err(Stop::Answer(what)) => return Err(Trouble::Answer(what).lasting(Op::List, prefix)),
                Err(Stop::Refused(error)) => return Err(self.explain(Op::List, prefix, &error).await),
            };
            if objects.len() == limit {
                let end = objects.last().map(|listed: &crate::Listed| listed.key.clone());
                listing.put_back(listed);
                if let Some(end) = end {
                    self.listings.keep(listing, end);
                }
                return Ok(ListPage { objects, more: true });
            }
            objects.push(listed);
        }
    }

    async fn delete(&self, key: Key) -> Result<(), StoreError> {
        #[cfg(feature = "faults")]
        crate::faults::point();
        match self.operator.delete(key.as_str()).await {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => self.check_bucket(Op::Delete).await,
            Err(error) => Err(explain(Op::Delete, key.as_str(), &error)),
        }
    }

    async fn now(&self) -> Result<StoreTime, StoreError> {
        for _ in 0..DATES {
            self.check_bucket(Op::Now).await?;
            match self.clock.read() {
                Reading::Time(time) => return Ok(time),
                Reading::Doubtful => {}
                Reading::None => return Err(Trouble::Answer("it has no date").lasting(Op::Now, "")),
            }
        }
        Err(Trouble::Answer("its dates contradict each other").passing(Op::Now, ""))
    }

    /// Fails if the container or bucket is not there: then nothing else is, and that says nothing about objects.
    async fn check_bucket(&self, op: Op) -> Result<(), StoreError> {
        let listed = async { self.operator.lister_with("").recursive(true).limit(1).await?.try_next().await };
        match listed.await {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(self.gone()),
            Err(error) => Err(explain(op, "", &error)),
        }
    }

    /// The store error of a call on `key`.
    async fn explain(&self, op: Op, key: &str, error: &opendal::Error) -> StoreError {
        if error.kind() == ErrorKind::NotFound
            && let Err(gone) = self.check_bucket(op).await
        {
            return gone;
        }
        explain(op, key, error)
    }

    fn gone(&self) -> StoreError {
        StoreError::Gone { root: PathBuf::from(&self.name) }
    }
}

const REPLACES: &str = "it creates a name that exists once more, so one writer could replace another's object";
const DELETED_AT_ONCE: usize = 32;
/// What Google gives at most; Azure gives more.
const LISTED_AT_ONCE: usize = 1_000;
/// Most requests for a date.
const DATES: u32 = 8;
