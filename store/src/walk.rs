//! Walks the directories of a remote store for a listing: in byte order of the whole key, several directories at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::error::Causes;
use crate::key::{LENGTH_MAX, is_segment};
use crate::{Key, ListPage, Listed, Op, Stat, StoreError, StoreTime};

/// A tree of directories, each of which is read whole.
#[async_trait]
pub(crate) trait Directories: Sync {
    /// Fails if the root is missing: then a missing directory means nothing.
    async fn check(&self) -> Result<(), StoreError>;

    /// The entries of a directory in no order, without names that cannot be part of a key; `None` if the server says
    /// that there is no such directory. Every name that the server sends takes room.
    async fn entries(&self, directory: &str, room: &Room) -> Result<Option<Vec<(String, Entry)>>, StoreError>;
}

/// Room in memory for the names of one listing. A server may send names, or directories in directories, without end.
pub(crate) struct Room(AtomicUsize);

impl Room {
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(ROOM))
    }

    /// Takes room for names of these lengths. False if there is too little left.
    pub(crate) fn take(&self, names: impl IntoIterator<Item = usize>) -> bool {
        let wanted = names.into_iter().fold(0, |sum, length| sum + length + EACH_NAME);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(wanted)).is_ok()
    }
}

/// The error about a server whose listing has no end.
pub(crate) fn endless(server: &str) -> String {
    format!("{server} lists more names than {} MiB hold", ROOM >> 20)
}

/// What a directory holds by a name.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    File(Stat),
    Directory,
    Other,
}

/// A page of objects; empty if the directory does not exist.
pub(crate) async fn list(
    tree: &impl Directories,
    prefix: &str,
    after: Option<&Key>,
    limit: usize,
) -> Result<ListPage, StoreError> {
    tree.check().await?;
    let start = prefix.rsplit_once('/').map_or("", |(directory, _)| directory);
    // A prefix with other segments matches no key, and its path could lead out of the root.
    if !start.is_empty() && !start.split('/').all(is_segment) {
        return Ok(ListPage { objects: Vec::new(), more: false });
    }
    let limit = limit.max(1);
    let walk = Walk { tree, prefix, start, after: after.map_or("", Key::as_str), limit, room: Room::new() };
    let mut objects = walk.visit(start.to_owned()).await?;
    let more = objects.len() > limit;
    objects.truncate(limit);
    Ok(ListPage { objects, more })
}

struct Walk<'a, D> {
    tree: &'a D,
    prefix: &'a str,
    /// The directory that the walk begins with; empty for the root.
    start: &'a str,
    /// Empty to begin at the first key.
    after: &'a str,
    limit: usize,
    room: Room,
}

impl<D: Directories> Walk<'_, D> {
    /// The objects below a directory; stops once there are more than fit.
    fn visit(&self, directory: String) -> BoxFuture<'_, Result<Vec<Listed>, StoreError>> {
        Box::pin(async move {
            let visited = self.candidates(&directory).await?.into_iter().map(|(path, entry)| async move {
                match entry {
                    Entry::Directory => self.visit(path.trim_end_matches('/').to_owned()).await,
                    Entry::File(stat) => {
                        let key = Key::new(path).expect("joined from checked segments, and not too long");
                        Ok(vec![Listed { key, stat }])
                    }
                    // If this were skipped, everything behind a symbolic link would seem lost.
                    Entry::Other => Err(StoreError::Obstructed { key: path }),
                }
            });
            let mut visited = stream::iter(visited).buffered(AT_ONCE);
            let mut found = Vec::new();
            while let Some(more) = visited.try_next().await? {
                found.extend(more);
                if found.len() > self.limit {
                    break;
                }
            }
            Ok(found)
        })
    }

    /// The entries that are, or can hold, wanted keys, in the order of keys: as if directory names ended in a slash
    /// (`a-b` before `a/b` before `a0`).
    async fn candidates(&self, directory: &str) -> Result<Vec<(String, Entry)>, StoreError> {
        let path = |name: &str| if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
        let entries = self.entries(directory).await?.into_iter().map(|(name, entry)| match entry {
            Entry::Directory => (path(&name) + "/", entry),
            _ => (path(&name), entry),
        });
        let mut candidates: Vec<_> = entries.filter(|(path, entry)| self.wants(path, *entry)).collect();
        candidates.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(candidates)
    }

    /// The entries of a directory. Only the one that the walk begins with may be missing, and then has none. The others
    /// were just named by their parents: if one seems to be missing, its objects must not seem lost.
    async fn entries(&self, directory: &str) -> Result<Vec<(String, Entry)>, StoreError> {
        if let Some(entries) = self.tree.entries(directory, &self.room).await? {
            return Ok(entries);
        }
        // The disk may be away for a moment only.
        self.tree.check().await?;
        match self.tree.entries(directory, &self.room).await? {
            Some(entries) => Ok(entries),
            None if directory == self.start && !directory.is_empty() => Ok(Vec::new()),
            None => Err(VANISHED.passing(Op::List, directory)),
        }
    }

    fn wants(&self, path: &str, entry: Entry) -> bool {
        let is_directory = entry == Entry::Directory;
        let follows = path > self.after || (is_directory && self.after.starts_with(path));
        path.starts_with(self.prefix) && follows && path.len() <= LENGTH_MAX && path != UNFINISHED
    }
}

/// The names among the entries of `tmp/` that have been there for a day: their writers were killed. A writer that takes
/// longer loses its file and gets an error, never a damaged object.
pub(crate) fn left_behind(entries: Vec<(String, Entry)>, now: StoreTime) -> impl Iterator<Item = String> {
    let is_old = move |entry| matches!(entry, Entry::File(stat) if now.since(stat.created) >= LEFT_BEHIND);
    entries.into_iter().filter_map(move |(name, entry)| is_old(entry).then_some(name))
}

const VANISHED: &str = "a folder vanished while it was listed";
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 3600);
/// Unfinished writes are no objects.
const UNFINISHED: &str = "tmp/";
/// Directories read at once.
const AT_ONCE: usize = 16;
/// Room for about four million objects of the usual names; no directory of a repository has nearly as many.
const ROOM: usize = if cfg!(test) { 1 << 20 } else { 512 << 20 };
/// What a name takes in memory besides its bytes.
const EACH_NAME: usize = 64;
