//! Blocks: reads, opens and checks stored blocks; unwraps each session key once.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, RwLock};

use bytes::Bytes;
use copal_engine::read::{CopyFault, Session, sealed_by};
use copal_format::block::{OpenBlock, OpenTools};
use copal_format::id::{ChunkId, DomainId, PackId};
use copal_format::index::Location;
use copal_format::keys::owner::OwnerSecret;
use copal_format::layout::{self, Place};
use copal_format::pack::PackTable;
use copal_format::seal::{BlockKind, SessionCipher};
use copal_jobs::error::JobError;
use copal_jobs::objects;
use copal_store::{Store, StoreError};

use crate::wait::wait;

/// Why a page or chunk cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ReadError {
    /// The index knows no copy.
    #[error("no pack holds {id}")]
    Absent { id: ChunkId },
    /// Every copy is damaged or missing; `object` and `why` are those of the last copy tried.
    #[error("{id} cannot be read from {object}: {why}")]
    Damaged {
        id: ChunkId,
        /// The pack of the last copy tried.
        object: String,
        why: String,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads blocks of one domain. Threads share it.
pub struct BlockReader {
    store: Arc<dyn Store>,
    owner: Arc<OwnerSecret>,
    pub(super) domain: DomainId,
    tables: RwLock<HashMap<PackId, Arc<TableCell>>>,
    ciphers: Mutex<HashMap<Vec<u8>, SessionCipher>>,
    /// Parts of packs that were read in one request, the newest last. Used for remote stores only.
    stretches: Mutex<VecDeque<Stretch>>,
}

/// A pack's table, once it is read. One thread reads it, and others wait for the lock.
type TableCell = Mutex<Option<Arc<PackTable>>>;

/// A part of a pack.
struct Stretch {
    pack: PackId,
    start: u64,
    bytes: Bytes,
}

/// The reason why one copy cannot be read.
pub(crate) enum CopyError {
    Damaged(String),
    Store(StoreError),
}

impl CopyError {
    /// The reason as text.
    pub(crate) fn words(self) -> String {
        match self {
            CopyError::Damaged(why) => why,
            CopyError::Store(error) => error.to_string(),
        }
    }
}

impl From<StoreError> for CopyError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { .. } => CopyError::Damaged("it is not there".into()),
            StoreError::OutOfRange { .. } => CopyError::Damaged("it is shorter than the index says".into()),
            // A bad sector hits one object, not the others.
            StoreError::Io { source, .. } => CopyError::Damaged(source.to_string()),
            StoreError::Denied { source, .. } => CopyError::Damaged(format!("it may not be read: {source}")),
            StoreError::Obstructed { .. } => CopyError::Damaged("something else is in its place".into()),
            other => CopyError::Store(other),
        }
    }
}

impl From<JobError> for CopyError {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Store(error) => error.into(),
            // The damaged object is the pack, which the caller names.
            JobError::Damaged { why, .. } => CopyError::Damaged(why),
            other => CopyError::Damaged(other.to_string()),
        }
    }
}

impl From<CopyFault> for CopyError {
    fn from(fault: CopyFault) -> Self {
        CopyError::Damaged(fault.to_string())
    }
}

impl BlockReader {
    /// Makes a reader that opens blocks with the owner secret.
    pub fn new(store: Arc<dyn Store>, owner: Arc<OwnerSecret>, domain: DomainId) -> Self {
        let (tables, ciphers, stretches) = Default::default();
        Self { store, owner, domain, tables, ciphers, stretches }
    }

    /// Reads the block at a location from the store and opens it.
    pub(crate) fn open_at(
        &self,
        location: &Location,
        kind: BlockKind,
        tools: &mut OpenTools,
    ) -> Result<OpenBlock, CopyError> {
        let stored = self.stored(location, kind)?;
        self.open_stored(location.place, location.pack, location.pack_length, location.offset, kind, &stored, tools)
    }

    /// The stored bytes of a block. If the store is remote, one request also reads its neighbours: for content the
    /// blocks that follow, for a tree also those before, because pages lie in front of the pages that refer to them.
    fn stored(&self, location: &Location, kind: BlockKind) -> Result<Bytes, CopyError> {
        let start = u64::from(location.offset);
        let wanted = start..start + u64::from(location.length);
        if !self.store.is_remote() {
            let name = objects::key(layout::pack(location.place, location.pack));
            return Ok(wait(self.store.read_range(&name, wanted))?);
        }
        let part = |have: &Stretch| {
            let within = have.pack == location.pack && have.start <= wanted.start;
            let from = wanted.start.checked_sub(have.start)? as usize;
            let to = from + location.length as usize;
            (within && to <= have.bytes.len()).then(|| have.bytes.slice(from..to))
        };
        if let Some(bytes) = self.stretches.lock().expect("no reader panics").iter().find_map(part) {
            return Ok(bytes);
        }
        let first = if kind == BlockKind::Tree { start - start % STRETCH } else { start };
        let end = location.pack_length.min(first + STRETCH).max(wanted.end);
        let bytes = self.read_part(location.place, location.pack, location.pack_length, first..end)?;
        let mut stretches = self.stretches.lock().expect("no reader panics");
        if stretches.len() >= STRETCHES {
            stretches.pop_front();
        }
        stretches.push_back(Stretch { pack: location.pack, start: first, bytes: bytes.clone() });
        let at = (start - first) as usize;
        Ok(bytes.slice(at..at + location.length as usize))
    }

    /// Opens a block whose stored bytes are already read.
    #[expect(clippy::too_many_arguments, reason = "a block is named by all of these")]
    pub(crate) fn open_stored(
        &self,
        place: Place,
        pack: PackId,
        pack_length: u64,
        offset: u32,
        kind: BlockKind,
        stored: &[u8],
        tools: &mut OpenTools,
    ) -> Result<OpenBlock, CopyError> {
        let table = self.table(place, pack, pack_length)?;
        let (row, session) = sealed_by(&table, offset)?;
        let cipher = self.cipher(session)?;
        OpenBlock::open(&cipher, kind, row.counter, stored, tools)
            .map_err(|error| CopyError::Damaged(error.to_string()))
    }

    /// The table of a pack; read once.
    pub(crate) fn table(&self, place: Place, pack: PackId, length: u64) -> Result<Arc<PackTable>, CopyError> {
        let cell = self.cell(pack);
        let mut known = cell.lock().expect("no reader panics");
        if let Some(table) = &*known {
            return Ok(table.clone());
        }
        let table = Arc::new(wait(objects::read_table(self.store.as_ref(), place, pack, length))?);
        Ok(known.insert(table).clone())
    }

    /// Reads a part of a pack. If the store is remote, also reads the pack's table in parallel: it is needed next.
    pub(crate) fn read_part(
        &self,
        place: Place,
        pack: PackId,
        length: u64,
        range: Range<u64>,
    ) -> Result<Bytes, StoreError> {
        let name = objects::key(layout::pack(place, pack));
        let part = self.store.read_range(&name, range);
        let cell = self.cell(pack);
        // If another thread reads the table now, the code that needs it waits for it.
        let Some(mut known) = cell.try_lock().ok().filter(|known| self.store.is_remote() && known.is_none()) else {
            return wait(part);
        };
        let table = objects::read_table(self.store.as_ref(), place, pack, length);
        let (part, table) = wait(futures::future::join(part, table));
        // An error is dropped here: `table` reads again and reports it.
        *known = table.ok().map(Arc::new);
        part
    }

    fn cell(&self, pack: PackId) -> Arc<TableCell> {
        if let Some(cell) = self.tables.read().expect("no reader panics").get(&pack) {
            return cell.clone();
        }
        let mut tables = self.tables.write().expect("no reader panics");
        // Tables are small, but there may be many packs: a full cache is cleared.
        if tables.len() >= TABLES && !tables.contains_key(&pack) {
            tables.clear();
        }
        tables.entry(pack).or_default().clone()
    }

    /// The cipher of the session with this record; cached, because unwrapping takes a key agreement.
    pub(crate) fn cipher(&self, record: &[u8]) -> Result<SessionCipher, CopyError> {
        let mut ciphers = self.ciphers.lock().expect("no reader panics");
        if let Some(cipher) = ciphers.get(record) {
            return Ok(cipher.clone());
        }
        let session = Session::open(&self.owner, self.domain, record);
        let Session { cipher, .. } = session.map_err(|fault| CopyError::Damaged(fault.to_string()))?;
        ciphers.insert(record.to_vec(), cipher.clone());
        Ok(cipher)
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }
}

/// Bytes read in one request from a remote store.
const STRETCH: u64 = 4 << 20;
/// Number of these parts that are cached.
const STRETCHES: usize = 8;
/// Number of tables that are cached.
const TABLES: usize = 1024;
