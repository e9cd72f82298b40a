//! The directory behind an SFTP server: one call of a store each, except creation.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::future::{join, try_join_all};
use futures::stream::{self, StreamExt, TryStreamExt};

use super::packet::{Answer, Field, Request};
use super::session::{Line, OpenFile, Session, UNEXPECTED};
use super::trouble::{END, Trouble};
use crate::key::is_segment;
use crate::walk::{self, Directories, Entry, Room, endless};
use crate::{Created, Key, ListPage, Op, Stat, Store, StoreError, StoreTime};

/// A directory and the way to it.
pub(super) struct Directory {
    /// The address, for errors.
    name: String,
    root: String,
    line: Line,
    /// Directories known to be durable in their parents.
    pub(super) durable: Mutex<HashSet<String>>,
}

impl Directory {
    pub(super) fn new(name: String, root: String, command: impl Fn() -> Command + Send + Sync + 'static) -> Directory {
        Directory { name, root, line: Line::new(command), durable: Mutex::default() }
    }

    pub(super) async fn session(&self) -> Result<Arc<Session>, Trouble> {
        self.line.session().await
    }

    /// The path of a key or of a directory of keys; the empty one is the root.
    pub(super) fn path(&self, key: &str) -> String {
        if key.is_empty() { self.root.clone() } else { format!("{}/{key}", self.root.trim_end_matches('/')) }
    }

    /// Fails if the root is missing: then a missing object means nothing.
    pub(super) async fn check_root(&self, op: Op) -> Result<(), StoreError> {
        let looked = async { self.session().await?.look(Request::Stat, &self.root).await?.entry() };
        match looked.await {
            Ok(Entry::Directory) => Ok(()),
            Err(trouble) if !trouble.is_absence() => Err(trouble.explain(op, "")),
            _ => Err(StoreError::Gone { root: PathBuf::from(&self.name) }),
        }
    }

    /// The store error of a call on `key`.
    pub(super) async fn explain(&self, op: Op, key: &str, trouble: Trouble) -> StoreError {
        match trouble {
            Trouble::Status { .. } => match self.check_root(op).await {
                Err(gone @ StoreError::Gone { .. }) => gone,
                _ => trouble.explain(op, key),
            },
            _ => trouble.explain(op, key),
        }
    }

    /// What has the name of an object.
    async fn look(&self, key: &Key) -> Result<Entry, Trouble> {
        self.session().await?.look(Request::Lstat, &self.path(key.as_str())).await?.entry()
    }

    /// Reads a range of an object, or all of it.
    async fn read_some(&self, op: Op, key: &Key, range: Option<Range<u64>>) -> Result<Bytes, StoreError> {
        let mut read = self.try_to_read(key, range.clone()).await;
        if matches!(&read, Err(trouble) if trouble.is_absence()) {
            self.check_root(op).await?;
            // The disk may have been away for a moment.
            read = self.try_to_read(key, range).await;
        }
        match read {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(Some((range, length)))) => Err(StoreError::OutOfRange { key: key.clone(), range, length }),
            Ok(Err(None)) => Err(StoreError::NotFound { key: key.clone() }),
            Err(trouble) if trouble.is_absence() => Err(StoreError::NotFound { key: key.clone() }),
            Err(trouble) => Err(self.explain(op, key.as_str(), trouble).await),
        }
    }

    /// The bytes; else the range that is not there and the length, or nothing if a directory has this name.
    async fn try_to_read(&self, key: &Key, range: Option<Range<u64>>) -> Result<Read, Trouble> {
        let file = self.session().await?.open_file(&self.path(key.as_str()), READ).await?;
        // The first piece comes with the length: most objects have no second one.
        let start = range.as_ref().map_or(0, |range| range.start);
        let wanted = range.as_ref().map_or(PIECE, |range| range.end.saturating_sub(start).min(PIECE));
        let (attributes, first) = join(file.attributes(), piece(&file, start, wanted)).await;
        let length = match attributes?.entry()? {
            Entry::File(stat) => stat.length,
            Entry::Directory => return Ok(Err(None)),
            Entry::Other => return Err(Trouble::Obstructed),
        };
        let range = range.unwrap_or(0..length);
        if range.start > range.end || range.end > length {
            return Ok(Err(Some((range, length))));
        }
        let first = first?;
        // The length comes from the server and may be false: fail, do not abort, if memory for it is lacking.
        let mut bytes = Vec::new();
        let room =
            usize::try_from(range.end - range.start).map(|length| bytes.try_reserve_exact(length.max(first.len())));
        if !matches!(room, Ok(Ok(()))) {
            return Err(Trouble::Answer("a file that is larger than memory"));
        }
        let from = range.start + first.len() as u64;
        let count = range.end.saturating_sub(from).div_ceil(PIECE);
        let pieces = (0..count).map(|at| from + at * PIECE).map(|at| (at, PIECE.min(range.end - at)));
        let file = &file;
        let read = |(at, length)| async move {
            match piece(file, at, length).await? {
                bytes if bytes.len() as u64 == length => Ok(bytes),
                _ => Err(Trouble::Answer("a file that is shorter than its length")),
            }
        };
        let mut rest = stream::iter(pieces).map(read).buffered(PIECES_AT_ONCE);
        bytes.extend_from_slice(&first);
        while let Some(more) = rest.try_next().await? {
            bytes.extend_from_slice(&more);
        }
        bytes.truncate(usize::try_from(range.end - range.start).unwrap_or(usize::MAX));
        Ok(Ok(bytes.into()))
    }

    async fn sync_deletions(&self, home: &str) -> Result<(), StoreError> {
        match self.sync_directory(home).await {
            Ok(()) => Ok(()),
            // Without its directory there is no object, unless the root is missing.
            Err(trouble) if trouble.is_absence() => self.check_root(Op::Delete).await,
            Err(trouble) => Err(self.explain(Op::Delete, home, trouble).await),
        }
    }

    async fn remove(&self, key: &Key) -> Result<(), StoreError> {
        match self.unlink(&self.path(key.as_str())).await {
            Err(trouble) if !trouble.is_absence() => match self.stat(key).await? {
                // A directory of that name is not the object of that name.
                None => Ok(()),
                Some(_) => Err(self.explain(Op::Delete, key.as_str(), trouble).await),
            },
            _ => Ok(()),
        }
    }

    pub(super) async fn unlink(&self, path: &str) -> Result<(), Trouble> {
        self.session().await?.ask(Request::Remove, &[Field::Text(path.as_bytes())]).await.map(drop)
    }

    /// Makes the names in a directory of keys durable.
    pub(super) async fn sync_directory(&self, key: &str) -> Result<(), Trouble> {
        self.sync_path(&self.path(key)).await
    }

    /// Makes the names in a directory durable. The probe detects a server that opens no directory.
    pub(super) async fn sync_path(&self, path: &str) -> Result<(), Trouble> {
        let directory = self.session().await?.open_file(path, READ).await?;
        match directory.sync().await {
            // Some network file systems cannot sync a directory: there the server ensures the order of names.
            Err(trouble) if trouble.is_unsupported() => Ok(()),
            synced => synced,
        }
    }

    async fn try_to_list(&self, directory: &str, room: &Room) -> Result<Vec<(String, Entry)>, Trouble> {
        let open = self.session().await?.open_directory(&self.path(directory)).await?;
        let mut entries = Vec::new();
        loop {
            // Servers give about a hundred names at a time.
            let (first, second) =
                join(open.ask(Request::ReadDirectory, &[]), open.ask(Request::ReadDirectory, &[])).await;
            for page in [first, second] {
                match page {
                    Ok(Answer::Names(names)) => {
                        if !room.take(names.iter().map(|(name, _)| name.len()).chain([ANSWER])) {
                            return Err(Trouble::Endless(endless(&self.name)));
                        }
                        for (name, attributes) in names.into_iter().filter(|(name, _)| is_segment(name)) {
                            entries.push((name, attributes.entry()?));
                        }
                    }
                    Err(Trouble::Status { code: END, .. }) => return Ok(entries),
                    Err(trouble) => return Err(trouble),
                    Ok(_) => return Err(UNEXPECTED),
                }
            }
        }
    }
}

#[async_trait]
impl Store for Directory {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        self.put(key, bytes).await
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.read_some(Op::Read, key, None).await
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.read_some(Op::ReadRange, key, Some(range)).await
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        let mut looked = self.look(key).await;
        if matches!(&looked, Err(trouble) if trouble.is_absence()) {
            self.check_root(Op::Stat).await?;
            // The disk may have been away for a moment.
            looked = self.look(key).await;
        }
        match looked {
            Ok(Entry::File(stat)) => Ok(Some(stat)),
            Ok(Entry::Other) => Err(StoreError::Obstructed { key: key.to_string() }),
            Ok(Entry::Directory) => Ok(None),
            Err(trouble) if trouble.is_absence() => Ok(None),
            Err(trouble) => Err(self.explain(Op::Stat, key.as_str(), trouble).await),
        }
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        walk::list(self, prefix, after, limit).await
    }

    /// Durable on return, so that deletions happen in the order they were made.
    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        self.delete_all(std::slice::from_ref(key)).await
    }

    /// Many at once. Each directory is synced once, also if the names are gone: a call whose connection ended may have
    /// removed them.
    async fn delete_all(&self, keys: &[Key]) -> Result<(), StoreError> {
        let removals: Vec<_> = keys.iter().map(|key| self.remove(key)).collect();
        stream::iter(removals).buffer_unordered(REQUESTS_AT_ONCE).try_for_each(|()| async { Ok(()) }).await?;
        let homes: BTreeSet<&str> = keys.iter().map(|key| home(key.as_str())).collect();
        let synced: Vec<_> = homes.into_iter().map(|home| self.sync_deletions(home)).collect();
        try_join_all(synced).await.map(drop)
    }

    /// Makes a file under `tmp/` and reads its time. Also removes files that writers left there when they were killed.
    async fn now(&self) -> Result<StoreTime, StoreError> {
        let made = async {
            let (path, file) = self.new_tmp().await?;
            let room = Room::new();
            let (attributes, left) = join(file.attributes(), self.try_to_list(TMP, &room)).await;
            self.unlink(&path).await?;
            Ok((attributes?.entry()?, left?))
        };
        let (stat, left) = match made.await {
            Ok((Entry::File(stat), left)) => (stat, left),
            Ok(_) => return Err(UNEXPECTED.explain(Op::Now, "")),
            Err(trouble) => return Err(self.unwritten(Op::Create, "tmp/", 0, trouble).await),
        };
        for name in walk::left_behind(left, stat.created) {
            // A failure is no error: the next call tries again.
            let _ = self.unlink(&self.path(&format!("{TMP}/{name}"))).await;
        }
        Ok(stat.created)
    }
}

#[async_trait]
impl Directories for Directory {
    async fn check(&self) -> Result<(), StoreError> {
        self.check_root(Op::List).await
    }

    async fn entries(&self, directory: &str, room: &Room) -> Result<Option<Vec<(String, Entry)>>, StoreError> {
        match self.try_to_list(directory, room).await {
            Err(trouble) if trouble.is_absence() => Ok(None),
            Err(trouble) => Err(self.explain(Op::List, directory, trouble).await),
            Ok(entries) => Ok(Some(entries)),
        }
    }
}

type Read = Result<Bytes, Option<(Range<u64>, u64)>>;

/// A piece of a file; shorter only where the file ends.
async fn piece(file: &OpenFile, at: u64, length: u64) -> Result<Bytes, Trouble> {
    let mut bytes = BytesMut::new();
    while (bytes.len() as u64) < length {
        let left = length - bytes.len() as u64;
        let fields = [Field::U64(at.saturating_add(bytes.len() as u64)), Field::U32(left.min(PIECE) as u32)];
        match file.ask(Request::Read, &fields).await {
            Ok(Answer::Data(data)) if data.is_empty() || data.len() as u64 > left => return Err(UNEXPECTED),
            Ok(Answer::Data(data)) if bytes.is_empty() && data.len() as u64 == length => return Ok(data),
            Ok(Answer::Data(data)) => bytes.extend_from_slice(&data),
            Err(Trouble::Status { code: END, .. }) => break,
            Err(trouble) => return Err(trouble),
            Ok(_) => return Err(UNEXPECTED),
        }
    }
    Ok(bytes.freeze())
}

/// The directory of a key; empty for the root.
pub(super) fn home(key: &str) -> &str {
    key.rsplit_once('/').map_or("", |(home, _)| home)
}

/// The directory of unfinished writes.
pub(super) const TMP: &str = "tmp";
/// What every server takes in one packet.
pub(super) const PIECE: u64 = 32 << 10;
/// Pieces of one object on the way: 2 MiB.
pub(super) const PIECES_AT_ONCE: usize = 64;
const REQUESTS_AT_ONCE: usize = 64;
/// Room that an answer takes besides its names: else answers without names could go on for ever.
const ANSWER: usize = 1 << 10;
const READ: u32 = 1;
