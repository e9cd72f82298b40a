//! Objects: reads objects by their names, with the checks that every reader makes.

use core::future::Future;
use core::ops::Range;
use core::pin::Pin;

use bytes::Bytes;
use copal_format::id::{ObjectHash, PackId};
use copal_format::layout::{self, Place, Prunable};
use copal_format::pack::{self, PackTable, TRAILER_BYTES, Trailer};
use copal_store::{Created, Key, Listed, Op, Store, StoreError};
use futures::{StreamExt, TryStreamExt, stream};
use sha2::{Digest, Sha256};

use crate::error::JobError;
use crate::faults::windows;
use crate::share_id::ShareId;

pub use copal_store::{list_after, list_all as list};

/// A boxed future. Boxing compiles a job once, not in every crate that awaits it.
pub type Call<'a, T> = Pin<Box<dyn Future<Output = Result<T, JobError>> + Send + 'a>>;

/// Like [`Call`], but stays on one thread.
pub type Local<'a, T> = Pin<Box<dyn Future<Output = Result<T, JobError>> + 'a>>;

/// A bounded join: runs calls concurrently, at most [`Windows::at_once`](crate::faults::Windows) at a time, and returns
/// their answers in order.
pub(crate) fn join<'a, T: Send + 'a>(
    calls: impl Iterator<Item: Future<Output = Result<T, JobError>> + Send + 'a>,
) -> Call<'a, Vec<T>> {
    join_few(windows().at_once, calls)
}

/// Like [`join`], at most `few` at a time, for calls that need much memory each.
pub(crate) fn join_few<'a, T: Send + 'a>(
    few: usize,
    calls: impl Iterator<Item: Future<Output = Result<T, JobError>> + Send + 'a>,
) -> Call<'a, Vec<T>> {
    // Collected here, so that the data from which the caller built the calls is freed while they run.
    let calls: Vec<Call<'a, T>> = calls.map(|call| -> Call<'a, T> { Box::pin(call) }).collect();
    Box::pin(stream::iter(calls).buffered(few).try_collect())
}

/// The key for a name that the layout made.
pub fn key(name: impl Into<String>) -> Key {
    Key::new(name).expect("the layout makes sound names")
}

/// Creates an object; false if the name is taken by other bytes. An object with the same bytes is our own: an earlier
/// try of this very call created it, and its answer was lost.
pub async fn create_own(store: &dyn Store, name: &str, bytes: Bytes) -> Result<bool, StoreError> {
    let created = store.create(&key(name), bytes.clone()).await?;
    Ok(created == Created::New || read(store, name).await?.is_some_and(|found| found == bytes))
}

/// Prefixes of objects that are named by their hash and read often: the index and the state.
pub const COPIED: &[&str] = &["index/", "state/"];

/// Reads an object; none if it does not exist.
pub async fn read(store: &dyn Store, name: &str) -> Result<Option<Bytes>, StoreError> {
    match store.read(&key(name)).await {
        Ok(bytes) => Ok(Some(bytes)),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Looks up an object that a listing lacks, and fails if it is there. Some servers leave names out while a disk fails,
/// and nothing may count as lost because of that.
pub(crate) async fn prove_absent(store: &dyn Store, name: &str) -> Result<(), JobError> {
    if store.stat(&key(name)).await?.is_none() {
        return Ok(());
    }
    let source = "the object is there, and the store's listing lacks it".into();
    Err(StoreError::Transient { op: Op::List, key: name.to_owned(), source }.into())
}

/// Reads several objects at the same time, in order; none for each that does not exist.
pub async fn read_many(store: &dyn Store, names: &[String]) -> Vec<Result<Option<Bytes>, StoreError>> {
    let reads: Vec<_> = names.iter().map(|name| read(store, name)).collect();
    stream::iter(reads).buffered(windows().at_once).collect().await
}

/// Reads an object that is named by the hash of its bytes, and verifies the hash; none if it does not exist.
pub async fn read_hashed(store: &dyn Store, name: &str, hash: ObjectHash) -> Result<Option<Bytes>, JobError> {
    match read(store, name).await? {
        Some(bytes) if ObjectHash::of(&bytes) == hash => Ok(Some(bytes)),
        Some(_) => Err(JobError::damaged(name, "its bytes do not have the hash it is named by")),
        None => Ok(None),
    }
}

/// Like [`read_hashed`], but mapped if the store can map objects: for objects as large as an index.
pub async fn map_hashed(store: &dyn Store, name: &str, hash: ObjectHash) -> Result<Option<Bytes>, JobError> {
    match store.map(&key(name)).await {
        Ok(bytes) if ObjectHash::of(&bytes) == hash => Ok(Some(bytes)),
        Ok(_) => Err(JobError::damaged(name, "its bytes do not have the hash it is named by")),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The hash of the first `length` bytes of an object, read piece by piece; none if it does not exist or is shorter.
pub async fn hash(store: &dyn Store, name: &str, length: u64) -> Result<Option<ObjectHash>, StoreError> {
    hash_ahead(store, name, length, 1).await
}

/// Like [`hash`], with several pieces of 8 MiB read at the same time.
pub async fn hash_ahead(
    store: &dyn Store,
    name: &str,
    length: u64,
    pieces: usize,
) -> Result<Option<ObjectHash>, StoreError> {
    let mut hasher = Sha256::new();
    match pass(store, &key(name), (length, pieces), |piece| hasher.update(piece)).await {
        Ok(()) => Ok(Some(ObjectHash(hasher.finalize().into()))),
        Err(StoreError::NotFound { .. } | StoreError::OutOfRange { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads the first `length` bytes of an object, several pieces at the same time, and passes them on in order.
async fn pass(
    store: &dyn Store,
    object: &Key,
    (length, pieces): (u64, usize),
    mut take: impl FnMut(&[u8]) + Send,
) -> Result<(), StoreError> {
    let starts = (0..length).step_by(PIECE as usize);
    let reads = starts.map(|start| store.read_range(object, start..length.min(start + PIECE)));
    let mut pieces = stream::iter(reads).buffered(pieces);
    while let Some(piece) = pieces.next().await {
        take(&piece?);
    }
    Ok(())
}

/// Reads an object of a known length and hash and passes its pieces to `take`, in order, without holding the whole.
/// Results made from the pieces count only if this returns true. False if the object does not exist.
pub(crate) async fn pass_hashed(
    store: &dyn Store,
    name: &str,
    (hash, length): (ObjectHash, u64),
    mut take: impl FnMut(&[u8]) -> Result<(), JobError> + Send,
) -> Result<bool, JobError> {
    let (mut hasher, mut taken) = (Sha256::new(), Ok(()));
    let object = key(name);
    let passed = pass(store, &object, (length, PIECES), |piece| {
        hasher.update(piece);
        if taken.is_ok() {
            taken = take(piece);
        }
    });
    match passed.await {
        Ok(()) => taken?,
        Err(StoreError::NotFound { .. }) => return Ok(false),
        Err(error @ StoreError::OutOfRange { .. }) => return Err(JobError::damaged(name, error)),
        Err(error) => return Err(error.into()),
    }
    if ObjectHash(hasher.finalize().into()) == hash {
        return Ok(true);
    }
    Err(JobError::damaged(name, "its bytes do not have the hash it is named by"))
}

/// Reads the table of a pack, not its blocks. It agrees with the pack's trailer; the pack's hash is not checked.
pub async fn read_table(store: &dyn Store, place: Place, id: PackId, length: u64) -> Result<PackTable, JobError> {
    Ends::read(store, place, id, length).await?.table(store).await
}

/// Like [`read_table`], but reads the whole pack and verifies its hash: a table has no hash of its own.
pub(crate) async fn read_table_hashed(
    store: &dyn Store,
    place: Place,
    id: PackId,
    length: u64,
) -> Result<PackTable, JobError> {
    let name = layout::pack(place, id);
    let trailer = Ends::read(store, place, id, length).await?.trailer;
    let (header_end, table_start) = (trailer.header_range().end, trailer.table_range().start);
    let (mut at, mut first, mut last) = (0, Vec::new(), Vec::new());
    let is_there = pass_hashed(store, &name, (ObjectHash(id.0), length), |piece| {
        let end = at + piece.len() as u64;
        first.extend_from_slice(&piece[..header_end.clamp(at, end).saturating_sub(at) as usize]);
        last.extend_from_slice(&piece[table_start.clamp(at, end).saturating_sub(at) as usize..]);
        at = end;
        Ok(())
    });
    if !is_there.await? {
        return Err(StoreError::NotFound { key: key(name) }.into());
    }
    let (table, trailer) = last.split_at(last.len() - TRAILER_BYTES);
    // The trailer that told where header and table lie came from an earlier read: parse the hashed one.
    let parsed = Trailer::parse(trailer, length).and_then(|trailer| pack::parse_table(&trailer, &first, table));
    parsed.map_err(|error| JobError::damaged(name, error))
}

/// The first and last bytes of a pack. The trailer among them tells how long the table is.
pub(crate) struct Ends {
    object: Key,
    length: u64,
    first: Bytes,
    last: Bytes,
    trailer: Trailer,
}

impl Ends {
    /// Reads both ends. For most packs they include header and table, so that no further request is needed.
    pub(crate) async fn read(store: &dyn Store, place: Place, id: PackId, length: u64) -> Result<Self, JobError> {
        let object = key(layout::pack(place, id));
        if length < TRAILER_BYTES as u64 {
            return Err(JobError::damaged(object.as_str(), "it is too short for a pack"));
        }
        let tail = (length / TAIL_SHARE).clamp(TAIL_LEAST, TAIL_MOST);
        let (head, start) = (length.min(HEAD_GUESS), length - length.min(tail));
        let (first, last) =
            futures::try_join!(part_of(store, &object, 0..head), part_of(store, &object, start..length))?;
        let trailer = Trailer::parse(&last[last.len() - TRAILER_BYTES..], length);
        let trailer = trailer.map_err(|error| JobError::damaged(object.as_str(), error))?;
        Ok(Self { object, length, first, last, trailer })
    }

    /// Length of header and table, in bytes.
    pub(crate) fn clear_length(&self) -> u64 {
        u64::from(self.trailer.header_length()) + u64::from(self.trailer.table_length())
    }

    /// The table; requests only the parts that [`Self::read`] has not read.
    pub(crate) async fn table(self, store: &dyn Store) -> Result<PackTable, JobError> {
        let start = self.length - self.last.len() as u64;
        let (header, table) = (self.trailer.header_range(), self.trailer.table_range());
        let header = if header.end <= self.first.len() as u64 {
            self.first.slice(..header.end as usize)
        } else {
            part_of(store, &self.object, header).await?
        };
        let table = if table.start >= start {
            self.last.slice((table.start - start) as usize..(table.end - start) as usize)
        } else {
            part_of(store, &self.object, table).await?
        };
        let parsed = pack::parse_table(&self.trailer, &header, &table);
        parsed.map_err(|error| JobError::damaged(self.object.as_str(), error))
    }
}

async fn part_of(store: &dyn Store, object: &Key, range: Range<u64>) -> Result<Bytes, JobError> {
    match store.read_range(object, range).await {
        // The object was cut since its length was determined.
        Err(error @ StoreError::OutOfRange { .. }) => Err(JobError::damaged(object.as_str(), error)),
        read => Ok(read?),
    }
}

/// Like [`list`], for objects named by hashes, of which there may be millions. After the first page, lists the 16 first
/// digits at the same time.
pub(crate) async fn list_wide(store: &dyn Store, prefix: &str) -> Result<Vec<Listed>, JobError> {
    let page = store.list(prefix, None, LIST_PAGE).await?;
    let last = match page.objects.last() {
        Some(last) if page.more => last.key.clone(),
        // The listing itself says what is wrong with such a page.
        None if page.more => return Ok(list(store, prefix).await?),
        _ => return Ok(page.objects),
    };
    let parts: Vec<String> = "0123456789abcdef".chars().map(|digit| format!("{prefix}{digit}")).collect();
    let is_open = |part: &&String| part.as_str() > last.as_str() || last.as_str().starts_with(part.as_str());
    let calls = parts.iter().filter(is_open).map(|part| {
        let after = last.as_str().starts_with(part.as_str()).then_some(&last);
        async move { Ok(list_after(store, part, after).await?) }
    });
    let rest = join(calls).await?;
    Ok(page.objects.into_iter().chain(rest.into_iter().flatten()).collect())
}

/// Ignores a full disk for objects that only inform: a job must be able to finish without them.
pub(crate) fn without_room(noted: Result<(), JobError>) -> Result<(), JobError> {
    match noted {
        Err(JobError::Store(StoreError::Full { .. })) => Ok(()),
        noted => noted,
    }
}

/// Deletes objects, in no particular order. Every deletion by a job goes through here, and only packs, segments, runs,
/// roots, reports, shares and `work/` can be deleted, whoever has listed other names.
pub(crate) async fn delete(store: &dyn Store, keys: &[Key]) -> Result<(), JobError> {
    if let Some(key) = keys.iter().find(|key| !is_deletable(key.as_str())) {
        return Err(JobError::NotDeletable { name: key.as_str().to_owned() });
    }
    Ok(store.delete_all(keys).await?)
}

fn is_deletable(name: &str) -> bool {
    let is_note = || ["reports/", "work/"].iter().any(|folder| name.starts_with(folder));
    Prunable::parse(name).is_some() || layout::root_number(name).is_some() || is_note() || ShareId::of(name).is_some()
}

const LIST_PAGE: usize = 1000;
/// Bytes of an object held while it is hashed.
const PIECE: u64 = 8 << 20;
/// Pieces of one object held at the same time, where few objects are read at once.
pub(crate) const PIECES: usize = 4;
/// Bytes read at a pack's start and end before the positions of header and table are known. A pack of small files has a
/// table of about a hundredth of its length.
const HEAD_GUESS: u64 = 8 << 10;
const TAIL_SHARE: u64 = 64;
const TAIL_LEAST: u64 = 32 << 10;
const TAIL_MOST: u64 = 512 << 10;

#[cfg(test)]
mod tests {
    use copal_format::id::{ClientId, SlotId};
    use copal_store::memory::MemoryStore;
    use futures::executor::block_on;

    use super::*;

    #[test]
    fn nothing_is_deleted_where_one_name_is_of_what_no_job_deletes() {
        let store = MemoryStore::default();
        let [slot, _] = layout::slot(SlotId([1; 16]));
        let client = ClientId([3; 16]);
        let kept = [slot, layout::descriptor(1), layout::manifest(client, 1), layout::client(client, 1)];
        let kept = kept.into_iter().chain([layout::change(1), layout::receipt(client, 1), layout::expiry(1)]);
        let own = [layout::state(ObjectHash([1; 32])), layout::root(1), "work/prune/1".into(), "reports/plan/1".into()];
        let kept: Vec<Key> = kept.chain([layout::deletion(1, &[1; 16])]).map(key).collect();
        let own = own.map(key);
        for name in kept.iter().chain(&own) {
            block_on(store.create(name, Bytes::from_static(b"x"))).unwrap();
        }
        for name in &kept {
            let asked: Vec<Key> = own.iter().chain([name]).cloned().collect();
            assert!(matches!(block_on(delete(&store, &asked)), Err(JobError::NotDeletable { .. })), "{name}");
        }
        assert_eq!(block_on(list(&store, "")).unwrap().len(), kept.len() + own.len());
        block_on(delete(&store, &own)).unwrap();
        assert_eq!(block_on(list(&store, "")).unwrap().len(), kept.len());
    }
}
