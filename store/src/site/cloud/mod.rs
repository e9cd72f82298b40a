//! Stores of clouds, by OpenDAL: Azure Blob Storage (`azblob://CONTAINER/PREFIX`), Google Cloud Storage
//! (`gcs://BUCKET/PREFIX`) and folders on a WebDAV server (`webdav://HOST/PATH`).
//!
//! A creation is one request that the server refuses if the name exists: with `If-None-Match: *` at Azure, with
//! `ifGenerationMatch=0` at Google. WebDAV needs two: a PUT below `tmp/`, and a MOVE with `Overwrite: F`. Times come from
//! the servers' dates, in whole seconds. OpenDAL retries nothing; [`retry`](crate::retry) does that.

mod listing;
mod services;
#[cfg(test)]
mod tests;
mod transport;
mod tree;
mod trouble;

use std::ops::Range;
use std::path::PathBuf;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use opendal::{ErrorKind, Operator};

use super::hosted::Place;
use crate::clock::{Clock, Reading};
use crate::error::Causes;
use crate::key::may_begin_a_key;
use crate::probe::creates_once;
use crate::under_way::UnderWay;
use crate::{Created, Key, ListPage, Op, Stat, Store, StoreError, StoreTime, walk};
use listing::{Listing, Stop};
use tree::{Tree, UNTIMED, stat_of};
use trouble::{Trouble, explain};

pub(super) use services::{is_complete, is_folder, open_azblob, open_gcs, open_webdav};

/// Objects below a prefix of a cloud's container or bucket.
struct Bucket {
    /// The address, for errors.
    name: String,
    /// Works on the whole container: with a prefix of its own, it could not tell names elsewhere from names below the
    /// prefix.
    operator: Operator,
    /// The folder of each key: empty, or a prefix that ends with a slash.
    folder: String,
    clock: Clock,
    /// Listings of which a caller may want the next page.
    listings: UnderWay<Listing>,
    /// Only on a WebDAV server, whose folders are listed one by one.
    tree: Option<Tree>,
}

#[async_trait]
impl Place for Bucket {
    /// Makes only folders: an operator makes containers and buckets.
    async fn make(&self) -> Result<(), StoreError> {
        let Some(_) = &self.tree else { return Ok(()) };
        self.operator.create_dir(&self.at("")).await.map_err(|error| explain(Op::Create, "", &error))
    }

    async fn probe(&self) -> Result<(), StoreError> {
        creates_once(self, REPLACES).await?;
        match &self.tree {
            Some(tree) => tree.lists_what_it_holds(self).await,
            None => Ok(()),
        }
    }
}

#[async_trait]
impl Store for Bucket {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        #[cfg(feature = "faults")]
        crate::faults::point();
        let name = self.at(key.as_str());
        let created = match &self.tree {
            Some(tree) => tree.create(self, &name, bytes).await,
            None => match self.operator.write_with(&name, bytes).if_not_exists(true).await {
                Ok(_) => Ok(Created::New),
                Err(error) if matches!(error.kind(), ErrorKind::ConditionNotMatch | ErrorKind::AlreadyExists) => {
                    Ok(Created::Exists)
                }
                Err(error) => Err(error),
            },
        };
        match created {
            Ok(created) => Ok(created),
            Err(error) => Err(self.explain(Op::Create, key.as_str(), &error).await),
        }
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        match self.operator.read(&self.at(key.as_str())).await {
            Ok(buffer) => Ok(buffer.to_bytes()),
            Err(error) => Err(self.unread(Op::Read, key, &error).await),
        }
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        let wanted = range.end.checked_sub(range.start);
        let mut failure = Trouble::Answer("a range that is cut short").passing(Op::ReadRange, key.as_str());
        if let Some(wanted) = wanted.filter(|wanted| *wanted > 0) {
            match self.operator.read_with(&self.at(key.as_str())).range(range.clone()).await {
                Ok(buffer) if buffer.len() as u64 == wanted => return Ok(buffer.to_bytes()),
                Ok(_) => (),
                Err(error) if error.kind() == ErrorKind::NotFound || error.is_temporary() => {
                    return Err(self.unread(Op::ReadRange, key, &error).await);
                }
                // OpenDAL does not say that the range is beyond the end: only the object's length tells.
                Err(error) => failure = explain(Op::ReadRange, key.as_str(), &error),
            }
        }
        match self.stat_for(Op::ReadRange, key).await? {
            None => Err(StoreError::NotFound { key: key.clone() }),
            Some(stat) if wanted.is_none() || range.end > stat.length => {
                Err(StoreError::OutOfRange { key: key.clone(), range, length: stat.length })
            }
            Some(_) if wanted == Some(0) => Ok(Bytes::new()),
            Some(_) => Err(failure),
        }
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        self.stat_for(Op::Stat, key).await
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        let (mut objects, limit) = (Vec::new(), limit.max(1));
        if !may_begin_a_key(prefix) {
            return Ok(ListPage { objects, more: false });
        }
        if self.tree.is_some() {
            return walk::list(self, prefix, after, limit).await;
        }
        let begun = after.and_then(|after| self.listings.take(prefix, after.as_str()));
        let mut listing = match begun {
            Some(listing) => listing,
            None => match Listing::begin(&self.operator, &self.folder, prefix, after, limit).await {
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
                    self.listings.note(prefix, end.as_str(), listing);
                }
                return Ok(ListPage { objects, more: true });
            }
            objects.push(listed);
        }
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        #[cfg(feature = "faults")]
        crate::faults::point();
        // On a WebDAV server the same request would delete a folder with all that is in it.
        if self.tree.is_some() && self.stat_for(Op::Delete, key).await?.is_none() {
            return Ok(());
        }
        match self.operator.delete(&self.at(key.as_str())).await {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => self.check_bucket(Op::Delete).await,
            Err(error) => Err(explain(Op::Delete, key.as_str(), &error)),
        }
    }

    /// Many at once.
    async fn delete_all(&self, keys: &[Key]) -> Result<(), StoreError> {
        let deletions: Vec<_> = keys.iter().map(|key| self.delete(key)).collect();
        stream::iter(deletions).buffer_unordered(DELETED_AT_ONCE).try_for_each(|()| async { Ok(()) }).await
    }

    async fn now(&self) -> Result<StoreTime, StoreError> {
        for _ in 0..DATES {
            self.check_bucket(Op::Now).await?;
            match self.clock.read() {
                Reading::Time(time) => {
                    if self.tree.is_some() {
                        self.sweep(time).await;
                    }
                    return Ok(time);
                }
                Reading::Doubtful => {}
                Reading::None => {
                    return Err(Trouble::Answer("the server's answers have no Date header").lasting(Op::Now, ""));
                }
            }
        }
        Err(Trouble::Answer("its dates contradict each other").passing(Op::Now, ""))
    }
}

impl Bucket {
    /// The name of a key, or of a prefix or folder of keys, in the whole container.
    fn at(&self, key: &str) -> String {
        format!("{}{key}", self.folder)
    }

    async fn stat_for(&self, op: Op, key: &Key) -> Result<Option<Stat>, StoreError> {
        if let Some(stat) = self.look(op, key).await? {
            return Ok(Some(stat));
        }
        self.check_bucket(op).await?;
        // The disk of a WebDAV server may have been away for a moment.
        if self.tree.is_some() { self.look(op, key).await } else { Ok(None) }
    }

    /// What the server tells of an object. `None` means that the object is missing only if the container or folder exists:
    /// the caller has to look.
    async fn look(&self, op: Op, key: &Key) -> Result<Option<Stat>, StoreError> {
        let metadata = match self.operator.stat(&self.at(key.as_str())).await {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            // Some servers refuse to look below a file.
            Err(_) if self.tree.is_some() && self.is_below_an_object(key).await => return Ok(None),
            Err(error) => return Err(explain(op, key.as_str(), &error)),
        };
        if metadata.is_dir() {
            return Ok(None);
        }
        let stat = stat_of(&metadata, &self.clock);
        stat.map(Some).ok_or_else(|| Trouble::Answer(UNTIMED).lasting(op, key.as_str()))
    }

    async fn unread(&self, op: Op, key: &Key, error: &opendal::Error) -> StoreError {
        let explained = self.explain(op, key.as_str(), error).await;
        let is_missing = error.kind() == ErrorKind::NotFound && matches!(explained, StoreError::Io { .. });
        let looked = match &self.tree {
            None if is_missing => Ok(None),
            None => return explained,
            // The root was checked just now, but its disk may have been away for a moment.
            Some(_) if is_missing => self.look(op, key).await,
            // Servers answer a GET of a folder in different ways. A folder is no object.
            Some(_) => self.stat_for(op, key).await,
        };
        match looked {
            Ok(None) => StoreError::NotFound { key: key.clone() },
            Ok(Some(_)) if is_missing => Trouble::Answer(UNFOUND).passing(op, key.as_str()),
            Err(error) if is_missing => error,
            _ => explained,
        }
    }

    async fn is_below_an_object(&self, key: &Key) -> bool {
        for (end, _) in key.as_str().match_indices('/') {
            if self.operator.stat(&self.at(&key.as_str()[..end])).await.is_ok_and(|metadata| metadata.is_file()) {
                return true;
            }
        }
        false
    }

    /// Fails if the container or bucket is missing: then a missing object means nothing.
    async fn check_bucket(&self, op: Op) -> Result<(), StoreError> {
        let listed = async {
            if let Some(tree) = &self.tree {
                return tree.check().await.map(|()| None);
            }
            self.operator.lister_with(&self.folder).recursive(true).limit(1).await?.try_next().await
        };
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
const UNFOUND: &str = "an object that exists is not found";
const DELETED_AT_ONCE: usize = 32;
/// Most requests for a date.
const DATES: u32 = 8;
