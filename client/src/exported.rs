//! Exported: the store in an export, which is a tar archive of a whole repository. It takes objects until it is finished, and is
//! read-only from then on.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::{Bound, Range};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
pub use copal_reader::export::NotExport;
use copal_reader::export::{BLOCK, Index, README, header};
use copal_store::{Created, Key, ListPage, Listed, Op, Stat, Store, StoreError, StoreTime};

use crate::clock::now;
use crate::system::FileExt;

/// The objects of an export.
pub struct ExportStore {
    file: File,
    state: Mutex<State>,
}

struct State {
    objects: BTreeMap<Key, (Range<u64>, StoreTime)>,
    /// The offset of the next object in the file; none once the export is finished.
    end: Option<u64>,
}

impl ExportStore {
    /// Opens an export.
    pub fn open(path: &Path) -> Result<Self, NotExport> {
        let file = File::open(path)?;
        let Index { objects, .. } = Index::read(&file)?;
        let time = |seconds: u64| StoreTime(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(SECOND));
        // A name that is no key cannot be asked for.
        let keyed = |(name, (range, seconds))| Some((Key::new(name).ok()?, (range, time(seconds))));
        let objects = objects.into_iter().filter_map(keyed).collect();
        Ok(Self { file, state: Mutex::new(State { objects, end: None }) })
    }

    /// Begins an export in an empty file.
    pub fn begin(file: File, text: &str) -> io::Result<Self> {
        let store = Self { file, state: Mutex::new(State { objects: BTreeMap::new(), end: Some(0) }) };
        let mut state = store.state();
        let end = store.append(0, README, text.as_bytes(), 0)?;
        state.end = Some(end);
        drop(state);
        Ok(store)
    }

    /// Writes the end mark: from now on the export is whole, and durable once this returns.
    pub fn finish(&self) -> io::Result<()> {
        let Some(end) = self.state().end.take() else { return Ok(()) };
        self.file.write_all_at(&[0; 2 * BLOCK], end)?;
        // A longer write that failed may have left bytes behind.
        self.file.set_len(end + 2 * BLOCK as u64)?;
        copal_store::sync(&self.file)
    }

    /// Writes a file of the archive; returns where the next one begins.
    fn append(&self, at: u64, name: &str, bytes: &[u8], seconds: u64) -> io::Result<u64> {
        let header = header(name, bytes.len() as u64, seconds);
        self.file.write_all_at(header.as_bytes(), at)?;
        self.file.write_all_at(bytes, at + BLOCK as u64)?;
        let end = at + (BLOCK + bytes.len()) as u64;
        let next = end.next_multiple_of(BLOCK as u64);
        self.file.write_all_at(&[0; BLOCK][..(next - end) as usize], end)?;
        Ok(next)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, key: &Key) -> Result<Range<u64>, StoreError> {
        let state = self.state();
        let (range, _) = state.objects.get(key).ok_or_else(|| StoreError::NotFound { key: key.clone() })?;
        Ok(range.clone())
    }

    fn bytes(&self, op: Op, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        let failed = |error: io::Error| StoreError::Io { op, key: key.to_string(), source: error.into() };
        // The file was as long as its headers say when it was opened.
        let length = usize::try_from(range.end - range.start).map_err(|_| failed(io::ErrorKind::OutOfMemory.into()))?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| failed(io::ErrorKind::OutOfMemory.into()))?;
        bytes.resize(length, 0);
        self.file.read_exact_at(&mut bytes, range.start).map_err(failed)?;
        Ok(bytes.into())
    }
}

#[async_trait]
impl Store for ExportStore {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        let mut state = self.state();
        let Some(end) = state.end else { return Err(read_only(Op::Create, key)) };
        if state.objects.contains_key(key) {
            return Ok(Created::Exists);
        }
        let time = now().0;
        let appended = self.append(end, key.as_str(), &bytes, (time / SECOND).max(0) as u64);
        let failed = |error: io::Error| {
            let (op, key, is_full) = (Op::Create, key.to_string(), error.kind() == io::ErrorKind::StorageFull);
            let source = error.into();
            if is_full { StoreError::Full { op, key, source } } else { StoreError::Io { op, key, source } }
        };
        state.end = Some(appended.map_err(failed)?);
        let start = end + BLOCK as u64;
        state.objects.insert(key.clone(), (start..start + bytes.len() as u64, StoreTime(time)));
        Ok(Created::New)
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.bytes(Op::Read, key, self.find(key)?)
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        let object = self.find(key)?;
        let length = object.end - object.start;
        if range.start > range.end || range.end > length {
            return Err(StoreError::OutOfRange { key: key.clone(), range, length });
        }
        self.bytes(Op::ReadRange, key, object.start + range.start..object.start + range.end)
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        Ok(self.state().objects.get(key).map(stat))
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        let start = match after {
            Some(after) if after.as_str() >= prefix => Bound::Excluded(after.as_str()),
            _ => Bound::Included(prefix),
        };
        let state = self.state();
        let following = state.objects.range::<str, _>((start, Bound::Unbounded));
        let mut following = following.take_while(|(key, _)| key.as_str().starts_with(prefix));
        let listed = |(key, object): (&Key, _)| Listed { key: key.clone(), stat: stat(object) };
        let objects = following.by_ref().take(limit.max(1)).map(listed).collect();
        Ok(ListPage { objects, more: following.next().is_some() })
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        if self.state().objects.contains_key(key) { Err(read_only(Op::Delete, key)) } else { Ok(()) }
    }

    async fn now(&self) -> Result<StoreTime, StoreError> {
        Ok(StoreTime(now().0))
    }
}

fn stat((range, created): &(Range<u64>, StoreTime)) -> Stat {
    Stat { length: range.end - range.start, created: *created, sha256: None }
}

/// Why an export takes no writes.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("an export is never changed: unpack it with \"tar -xf\" to go on with it as a repository")]
pub struct IsExport;

fn read_only(op: Op, key: &Key) -> StoreError {
    StoreError::ReadOnly { op, key: key.to_string(), source: IsExport.into() }
}

/// Nanoseconds.
const SECOND: i64 = 1_000_000_000;
