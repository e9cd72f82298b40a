//! Folders on a WebDAV server, where a name is made by a MOVE that does not overwrite.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt;
use opendal::{ErrorKind, Metadata, Operator};

use super::Bucket;
use super::transport::Root;
use super::trouble::{Trouble, explain};
use crate::clock::Clock;
use crate::error::Causes;
use crate::key::is_segment;
use crate::walk::{Directories, Entry, Room, endless};
use crate::{Created, Key, Op, Stat, StoreError, StoreTime};

/// The folder that everything lies in.
pub(super) struct Tree(pub(super) Root);

impl Tree {
    /// Writes the bytes below `tmp/`, then moves them to their name unless that exists. How durable they are is the
    /// server's business: WebDAV has no word for it.
    pub(super) async fn create(&self, operator: &Operator, key: &Key, bytes: Bytes) -> opendal::Result<Created> {
        self.0.check().await?;
        let unrandom = |_| opendal::Error::new(ErrorKind::Unexpected, "there are no random numbers");
        let tmp = format!("{TMP}{:016x}", getrandom::u64().map_err(unrandom)?);
        operator.write(&tmp, bytes).await?;
        let named = operator.rename(&tmp, key.as_str()).await;
        if let Err(error) = named {
            let _ = operator.delete(&tmp).await;
            return if error.kind() == ErrorKind::ConditionNotMatch { Ok(Created::Exists) } else { Err(error) };
        }
        Ok(Created::New)
    }

    /// Removes what has been under `tmp/` for a day: its writers were killed.
    pub(super) async fn sweep(&self, bucket: &Bucket, now: StoreTime) {
        for (name, entry) in bucket.entries(TMP.trim_end_matches('/'), &Room::new()).await.unwrap_or_default() {
            if matches!(entry, Entry::File(stat) if now.since(stat.created) >= LEFT_BEHIND) {
                // A failure is no error: the next call tries again.
                let _ = bucket.operator.delete(&format!("{TMP}{name}")).await;
            }
        }
    }
}

#[async_trait]
impl Directories for Bucket {
    async fn entries(&self, directory: &str, room: &Room) -> Result<Vec<(String, Entry)>, StoreError> {
        let refused = |error: opendal::Error| explain(Op::List, directory, &error);
        let folder = format!("{directory}/");
        let mut lister = self.operator.lister(&folder).await.map_err(refused)?;
        let mut entries = Vec::new();
        while let Some(entry) = lister.try_next().await.map_err(refused)? {
            let (path, metadata) = entry.into_parts();
            if !room.take([path.len()]) {
                return Err(Trouble::Refused(endless(&self.name)).lasting(Op::List, directory));
            }
            // A folder is one of its own entries.
            let path =
                if directory.is_empty() { path.as_str() } else { path.strip_prefix(&folder).unwrap_or_default() };
            let name = path.trim_end_matches('/');
            if !is_segment(name) {
                continue;
            }
            let entry = if metadata.is_dir() {
                Entry::Directory
            } else {
                let stat = stat_of(&metadata, &self.clock);
                Entry::File(stat.ok_or_else(|| Trouble::Answer(UNTIMED).lasting(Op::List, directory))?)
            };
            entries.push((name.to_owned(), entry));
        }
        Ok(entries)
    }
}

/// What a server says about a file; nothing if it tells no time.
pub(super) fn stat_of(metadata: &Metadata, clock: &Clock) -> Option<Stat> {
    let modified = metadata.last_modified()?.into_inner().as_second();
    Some(Stat { length: metadata.content_length(), created: clock.object_time(modified), sha256: None })
}

pub(super) const UNTIMED: &str = "an object without a time";
/// The folder of unfinished writes.
const TMP: &str = "tmp/";
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 3600);
