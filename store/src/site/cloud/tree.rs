//! Folders on a WebDAV server, where a name is made by a MOVE that does not overwrite.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt;
use http::{HeaderValue, Request, StatusCode, header};
use opendal::{Buffer, ErrorKind, HttpTransport, Metadata};
use tokio::sync::Semaphore;

use super::Bucket;
use super::transport::Transport;
use super::trouble::{Trouble, explain};
use crate::clock::Clock;
use crate::error::Causes;
use crate::key::is_segment;
use crate::probe::new_key;
use crate::walk::{self, Directories, Entry, Room, endless};
use crate::{Created, Op, Stat, Store, StoreError, StoreTime};

/// The folder that everything lies in.
pub(super) struct Tree {
    transport: Arc<Transport>,
    url: String,
    authorization: Option<HeaderValue>,
    /// Limits how many folders are listed at once: the answers lie in memory.
    turns: Semaphore,
}

impl Tree {
    /// A folder at an address that ends with a slash.
    pub(super) fn new(transport: Arc<Transport>, url: String, authorization: Option<HeaderValue>) -> Tree {
        Tree { transport, url, authorization, turns: Semaphore::new(FOLDERS_AT_ONCE) }
    }

    /// Writes the bytes below `tmp/`, then moves them to their name unless that exists. The server decides how durable
    /// they are: WebDAV has no request for it.
    pub(super) async fn create(&self, bucket: &Bucket, name: &str, bytes: Bytes) -> opendal::Result<Created> {
        self.check().await?;
        let unrandom = |_| opendal::Error::new(ErrorKind::Unexpected, "there are no random numbers");
        let tmp = bucket.at(&format!("{TMP}/{:016x}", getrandom::u64().map_err(unrandom)?));
        bucket.operator.write(&tmp, bytes).await?;
        let Err(error) = bucket.operator.rename(&tmp, name).await else { return Ok(Created::New) };
        let _ = bucket.operator.delete(&tmp).await;
        if error.kind() == ErrorKind::ConditionNotMatch { Ok(Created::Exists) } else { Err(error) }
    }

    /// Fails with [`ErrorKind::NotFound`] if it is missing.
    pub(super) async fn check(&self) -> opendal::Result<()> {
        let mut request = Request::builder().method("PROPFIND").uri(&self.url).header("depth", "0");
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let unbuilt = |_| opendal::Error::new(ErrorKind::ConfigInvalid, "no address");
        let status = self.transport.fetch(request.body(Buffer::new()).map_err(unbuilt)?).await?.status();
        let failed = |kind| Err(opendal::Error::new(kind, format!("the server says {status}")));
        match status {
            status if status.is_success() => Ok(()),
            StatusCode::NOT_FOUND | StatusCode::CONFLICT => failed(ErrorKind::NotFound),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => failed(ErrorKind::PermissionDenied),
            status if status.is_server_error() => failed(ErrorKind::RateLimited),
            _ => failed(ErrorKind::Unexpected),
        }
    }

    /// Whether a listing shows what was written, for the probe.
    pub(super) async fn lists_what_it_holds(&self, bucket: &Bucket) -> Result<(), StoreError> {
        let key = new_key()?;
        bucket.create(&key, Bytes::new()).await?;
        let listed = bucket.entries(TMP, &Room::new()).await;
        let _ = bucket.delete(&key).await;
        let mut names = listed?.unwrap_or_default().into_iter().map(|(name, _)| format!("{TMP}/{name}"));
        let is_shown = names.any(|name| name == key.as_str());
        if is_shown { Ok(()) } else { Err(StoreError::Unfit { lack: "its listings lack what was just written" }) }
    }
}

impl Bucket {
    /// Removes what has been under `tmp/` for a day.
    pub(super) async fn sweep(&self, now: StoreTime) {
        let Ok(Some(entries)) = self.entries(TMP, &Room::new()).await else { return };
        for name in walk::left_behind(entries, now) {
            // A failure is no error: the next call tries again.
            let _ = self.operator.delete(&self.at(&format!("{TMP}/{name}"))).await;
        }
    }
}

#[async_trait]
impl Directories for Bucket {
    async fn check(&self) -> Result<(), StoreError> {
        self.check_bucket(Op::List).await
    }

    async fn entries(&self, directory: &str, room: &Room) -> Result<Option<Vec<(String, Entry)>>, StoreError> {
        let _turn = match &self.tree {
            Some(tree) => Some(tree.turns.acquire().await.expect("nothing closes it")),
            None => None,
        };
        let refused = |error: opendal::Error| explain(Op::List, directory, &error);
        let folder = if directory.is_empty() { self.at("") } else { self.at(&format!("{directory}/")) };
        let mut lister = self.operator.lister(&folder).await.map_err(refused)?;
        // A folder is one of its own entries: an answer that does not name even the folder shows none.
        let (mut entries, mut exists) = (Vec::new(), false);
        loop {
            let entry = match lister.try_next().await {
                Ok(Some(entry)) => entry,
                Ok(None) => return Ok(exists.then_some(entries)),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(refused(error)),
            };
            exists = true;
            let (path, metadata) = entry.into_parts();
            if !room.take([path.len()]) {
                return Err(Trouble::Refused(endless(&self.name)).lasting(Op::List, directory));
            }
            // If it were skipped, objects of a server that names them in another way would seem lost.
            let below =
                path.strip_prefix(&folder).ok_or_else(|| Trouble::Answer(ELSEWHERE).lasting(Op::List, directory))?;
            let name = below.trim_end_matches('/');
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
    }
}

/// What a server says about a file; nothing if it tells no time.
pub(super) fn stat_of(metadata: &Metadata, clock: &Clock) -> Option<Stat> {
    let modified = metadata.last_modified()?.into_inner().as_second();
    Some(Stat { length: metadata.content_length(), created: clock.object_time(modified), sha256: None })
}

pub(super) const UNTIMED: &str = "an object without a time";
pub(super) const ELSEWHERE: &str = "a listing with a name that lies elsewhere";
/// The folder of unfinished writes.
const TMP: &str = "tmp";
/// Answers about this many folders are at most 2 GiB; usual ones are far smaller.
pub(super) const FOLDERS_AT_ONCE: usize = 4;
