//! Packs: reads packs once, hashes them, and opens every block to compare each chunk and page with its id in the table.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use copal_engine::read;
use copal_format::block::{OpenBlock, OpenTools};
use copal_format::id::{ChunkId, DomainId, ObjectHash, PackId};
use copal_format::index::Location;
use copal_format::keys::domain::DomainKeys;
use copal_format::layout::{self, Place};
use copal_format::pack::{self, BlockRow, PackKind, PackTable};
use copal_format::seal::BlockKind;
use copal_format::state::PackRecord;
use copal_format::time::Time;
use copal_format::tree::VerifiedPage;
use copal_jobs::check::Harm;
use copal_jobs::error::JobError;
use copal_jobs::objects;
use copal_jobs::witness::{Witnessed, denial, refusal};
use copal_store::{Store, StoreError};

use super::findings::DamageKind;
use crate::progress::Progress;
use crate::reader::{BlockReader, CopyError};
use crate::repository::Repository;
use crate::wait::wait;

/// The findings about opened packs.
#[derive(Default)]
pub(super) struct Opened {
    pub(super) packs_read: u64,
    pub(super) bytes_read: u64,
    pub(super) faults: BTreeMap<PackId, Fault>,
    whole: BTreeMap<PackId, Time>,
    /// Packs that have the right hash and do not hold what their tables say.
    forged: BTreeSet<PackId>,
    /// The records of the packs in the checked state.
    before: BTreeMap<PackId, PackRecord>,
    /// Packs whose table could be read, so that every block was opened.
    tried: BTreeSet<PackId>,
    /// For faulty packs among these: the entries that can be read.
    held: HashMap<PackId, HashSet<Entry>>,
}

/// A sound entry of a pack: its id, the offset and length of its block, and its position in the block.
type Entry = (ChunkId, u32, u32, u16);

/// What is wrong with a pack.
pub(super) struct Fault {
    pub(super) kind: DamageKind,
    pub(super) why: String,
    /// Whether the pack itself is at fault; false if this machine lacks the rights to read it.
    is_certain: bool,
}

impl Opened {
    pub(super) fn has_only_good(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether a copy can be read; `None` if its pack was not opened. Compares the position too, because a pack with
    /// the wrong hash may be another pack that is sound.
    pub(super) fn is_good(&self, id: &ChunkId, copy: &Location) -> Option<bool> {
        let entry = (*id, copy.offset, copy.length, copy.ordinal);
        self.tried.contains(&copy.pack).then(|| self.held.get(&copy.pack).is_none_or(|held| held.contains(&entry)))
    }

    /// Packs that hold what their tables say.
    pub(super) fn whole(&self) -> impl Iterator<Item = PackId> + '_ {
        self.whole.keys().copied()
    }

    /// Packs with the right hash that do not hold what their tables say.
    pub(super) fn forged(&self) -> impl Iterator<Item = PackId> + '_ {
        self.forged.iter().copied()
    }

    /// Adds these findings to `harm`.
    pub(super) fn tell(&self, harm: &mut Harm) {
        for (id, fault) in &self.faults {
            match fault.kind {
                _ if !fault.is_certain => {}
                DamageKind::Missing => drop(harm.missing.insert(*id)),
                _ => harm.add_damaged(*id, &self.before[id]),
            }
        }
        harm.forged.extend(&self.forged);
        for (id, time) in &self.whole {
            harm.add_whole(*id, &self.before[id], *time);
            harm.opened.insert(*id);
            // Its table was recorded as damaged before; now the whole pack was read and is sound.
            harm.damaged.remove(id);
        }
    }
}

pub(super) fn open(
    repository: &Repository,
    packs: &[(PackId, &PackRecord)],
    threads: usize,
    progress: &Progress,
) -> Result<Opened, StoreError> {
    progress.expect(0, packs.iter().map(|(_, record)| record.length).sum());
    let witnessed = Arc::new(Witnessed::new(repository.store().clone()));
    let store: Arc<dyn Store> = witnessed.clone();
    let domains: BTreeSet<DomainId> = packs.iter().map(|(_, record)| record.domain).collect();
    let readers = domains.into_iter().map(|domain| {
        let blocks = BlockReader::new(store.clone(), repository.owner.clone(), domain);
        (domain, (blocks, repository.domain_keys(domain)))
    });
    let readers: BTreeMap<DomainId, (BlockReader, DomainKeys)> = readers.collect();
    // Every pack is read after this time.
    let now = wait(repository.job().now_to_note())?;
    let todo = Mutex::new(packs.iter());
    let next = || todo.lock().expect("no worker panics").next();
    let opened = Mutex::new(Ok(Opened::default()));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let mut tools = OpenTools::new();
                while let Some((id, record)) = next() {
                    let (blocks, keys) = &readers[&record.domain];
                    let name = layout::pack(record.place, *id);
                    progress.now_at(name.as_bytes());
                    let tried = Trial::run(*id, &name, blocks, keys, &mut tools);
                    progress.add_done(record.length);
                    let mut opened = opened.lock().expect("no worker panics");
                    match (opened.as_mut(), tried) {
                        (Ok(opened), Ok(trial)) => opened.add(*id, trial),
                        (Ok(_), Err(error)) => *opened = Err(error),
                        (Err(_), _) => return,
                    }
                }
            });
        }
    });
    let mut opened = opened.into_inner().expect("no worker panics")?;
    wait(witnessed.verdict())?;
    opened.whole.values_mut().for_each(|time| *time = now);
    opened.before = packs.iter().map(|(id, record)| (*id, (*record).clone())).collect();
    Ok(opened)
}

/// Selects packs in `packs/` that hold what their tables say, sealed in sessions of their domain. They can be trusted
/// even if no manifest names them any more.
pub fn genuine(repository: &Repository, packs: impl IntoIterator<Item = PackId>) -> Result<BTreeSet<PackId>, JobError> {
    let witnessed = Arc::new(Witnessed::new(repository.store().clone()));
    let store: Arc<dyn Store> = witnessed.clone();
    let mut tools = OpenTools::new();
    let mut genuine = BTreeSet::new();
    for id in packs {
        let name = layout::pack(Place::Packs, id);
        let Some(stat) = wait(store.stat(&objects::key(name.as_str())))? else { continue };
        let table = match wait(objects::read_table(store.as_ref(), Place::Packs, id, stat.length)) {
            Err(error) => {
                error.blame()?;
                continue;
            }
            Ok(table) => table,
        };
        let blocks = BlockReader::new(store.clone(), repository.owner.clone(), table.domain);
        let keys = repository.domain_keys(table.domain);
        if Trial::run(id, &name, &blocks, &keys, &mut tools)?.fault.is_none() {
            genuine.insert(id);
        }
    }
    wait(witnessed.verdict())?;
    Ok(genuine)
}

/// The result of opening one pack.
#[derive(Default)]
struct Trial {
    bytes: u64,
    fault: Option<Fault>,
    has_hash: bool,
    is_tried: bool,
    held: HashSet<Entry>,
}

impl Opened {
    fn add(&mut self, id: PackId, trial: Trial) {
        self.packs_read += u64::from(trial.bytes > 0);
        self.bytes_read += trial.bytes;
        if trial.is_tried {
            self.tried.insert(id);
        }
        match trial.fault {
            Some(fault) => {
                if trial.has_hash {
                    self.forged.insert(id);
                }
                self.faults.insert(id, fault);
                if trial.is_tried {
                    self.held.insert(id, trial.held);
                }
            }
            None => drop(self.whole.insert(id, Time(0))),
        }
    }
}

impl Trial {
    fn run(
        id: PackId,
        name: &str,
        blocks: &BlockReader,
        keys: &DomainKeys,
        tools: &mut OpenTools,
    ) -> Result<Self, StoreError> {
        let mut trial = Self::default();
        let bytes = match wait(objects::read(blocks.store().as_ref(), name)) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                trial.fail(DamageKind::Missing, "it is not there".into(), true);
                return Ok(trial);
            }
            Err(error) => {
                match (denial(&error), refusal(&error)) {
                    // A lack of rights is not damage.
                    (Some(why), _) => trial.fail(DamageKind::Damaged, why, false),
                    (None, Some((_, why))) => trial.fail(DamageKind::Damaged, why, true),
                    (None, None) => return Err(error),
                }
                return Ok(trial);
            }
        };
        trial.bytes = bytes.len() as u64;
        trial.has_hash = ObjectHash::of(&bytes).0 == id.0;
        if !trial.has_hash {
            trial.fail(DamageKind::Damaged, "its bytes do not have the hash it is named by".into(), true);
        }
        match pack::parse(&bytes) {
            Ok(table) => trial.open_blocks(&table, &bytes, blocks, keys, tools),
            Err(error) => trial.fail(DamageKind::Damaged, error.to_string(), true),
        }
        Ok(trial)
    }

    fn open_blocks(
        &mut self,
        table: &PackTable,
        bytes: &Bytes,
        blocks: &BlockReader,
        keys: &DomainKeys,
        tools: &mut OpenTools,
    ) {
        self.is_tried = true;
        for row in &table.blocks {
            let stored = &bytes[row.offset as usize..(row.offset + row.length) as usize];
            let opened = open_block(table, row, stored, blocks, keys, tools);
            let why = match opened {
                Ok(wrong) => {
                    let ids = table.block_ids(row).iter().zip(0u16..).filter(|(_, ordinal)| !wrong.contains(ordinal));
                    self.held.extend(ids.map(|(id, ordinal)| (*id, row.offset, row.length, ordinal)));
                    if wrong.is_empty() {
                        continue;
                    }
                    "an entry does not have the id that the table says".to_owned()
                }
                Err(why) => why,
            };
            self.fail(DamageKind::Forged, format!("the block at {}: {why}", row.offset), true);
        }
    }

    /// Sets the fault; the first one counts.
    fn fail(&mut self, kind: DamageKind, why: String, is_certain: bool) {
        self.fault.get_or_insert(Fault { kind, why, is_certain });
    }
}

/// The positions of entries that do not have their ids; an error if the block cannot be opened.
fn open_block(
    table: &PackTable,
    row: &BlockRow,
    stored: &[u8],
    blocks: &BlockReader,
    keys: &DomainKeys,
    tools: &mut OpenTools,
) -> Result<BTreeSet<u16>, String> {
    let (_, session) = read::sealed_by(table, row.offset).map_err(|fault| fault.to_string())?;
    let cipher = blocks.cipher(session).map_err(CopyError::words)?;
    let kind = match table.kind {
        PackKind::Data => BlockKind::Data,
        PackKind::Tree => BlockKind::Tree,
    };
    let block = OpenBlock::open(&cipher, kind, row.counter, stored, tools).map_err(|error| error.to_string())?;
    let ids = table.block_ids(row);
    if block.len() != ids.len() {
        return Err(format!("it holds {} entries, the table says {}", block.len(), ids.len()));
    }
    let is_right = |ordinal: usize| {
        let Some(plaintext) = block.chunk(ordinal) else { return false };
        match table.page(row.entries.start as usize + ordinal) {
            None => keys.chunk_id(plaintext) == ids[ordinal],
            Some(page) => VerifiedPage::open(keys, ids[ordinal], page.height, page.references, plaintext).is_ok(),
        }
    };
    Ok((0..ids.len()).filter(|&ordinal| !is_right(ordinal)).map(|ordinal| ordinal as u16).collect())
}
