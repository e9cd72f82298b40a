//! Blocks: supplied tables and blocks of packs, opened and checked. What is kept is bounded.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use copal_engine::read;
use copal_format::block::{OpenBlock, OpenTools};
use copal_format::id::{ChunkId, DomainId, PackId};
use copal_format::index::{Index, Location};
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::secret::Secret;
use copal_format::layout::{self, Place};
use copal_format::pack::{PackTable, TRAILER_BYTES, Trailer, parse_table};
use copal_format::seal::{BlockKind, NONCE};
use copal_format::tree::VerifiedPage;

use super::Obstacle;
use super::recent::{Recent, block_bytes, page_bytes};
use super::sessions::{Session, Sessions};
use crate::view::{Read, Shared};

/// A block as the host's cipher opened it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The nonce at the beginning of the block.
    pub nonce: [u8; NONCE],
    /// The plaintext.
    pub plaintext: Vec<u8>,
}

/// The place and id of a pack.
pub(super) type PackAt = (Place, PackId);

/// What a read is for.
#[derive(Clone, Debug)]
enum Wanted {
    /// The end of a pack: table and trailer. With the pack's length.
    Tail(PackAt, u64),
    /// The beginning of a pack: its header, if the guessed length is enough.
    Head(PackAt),
    /// A block with pages.
    Block(PackAt, u32),
    /// All of a small pack of pages. With its length, and the offset of the block that is wanted.
    Whole(PackAt, u64, u32),
}

/// The supplied parts of a pack whose table is not known yet.
#[derive(Default)]
struct Parts {
    tail: Option<Vec<u8>>,
    head: Option<Vec<u8>>,
}

/// Opens blocks of one repository.
pub(super) struct Blocks {
    owner: OwnerSecret,
    wanted: HashMap<Read, Wanted>,
    /// The last reads that a page was in need of.
    asked: Vec<Read>,
    parts: BTreeMap<PackAt, Parts>,
    tables: Recent<PackAt, Rc<PackTable>>,
    blocks: Recent<(PackAt, u32), Rc<OpenBlock>>,
    pages: Recent<ChunkId, VerifiedPage>,
    sessions: Sessions,
    keys: BTreeMap<DomainId, DomainKeys>,
    /// Why packs, or blocks of them, cannot be used.
    bad: HashMap<(PackAt, Option<u32>), String>,
    tools: OpenTools,
}

impl Blocks {
    pub(super) fn new(owner: OwnerSecret) -> Self {
        Self {
            owner,
            wanted: HashMap::new(),
            asked: Vec::new(),
            parts: BTreeMap::new(),
            tables: Recent::new(TABLES, usize::MAX),
            blocks: Recent::new(BLOCKS, ROOM),
            pages: Recent::new(PAGES, ROOM),
            sessions: Sessions::default(),
            keys: BTreeMap::new(),
            bad: HashMap::new(),
            tools: OpenTools::new(),
        }
    }

    /// The keys of a domain, derived once.
    pub(super) fn keys(&mut self, domain: DomainId) -> DomainKeys {
        let owner = &self.owner;
        self.keys.entry(domain).or_insert_with(|| DomainKeys::new(&owner.domain_key(domain))).clone()
    }

    /// Takes the bytes of a read; `None` if they do not exist.
    pub(super) fn supply(&mut self, read: &Read, bytes: Option<Vec<u8>>) {
        let Some(wanted) = self.wanted.remove(read) else { return };
        match (wanted, bytes) {
            (Wanted::Tail(pack, _) | Wanted::Head(pack) | Wanted::Whole(pack, _, _), None) => {
                self.spoil(pack, None, "it is not there")
            }
            (Wanted::Block(pack, offset), None) => self.spoil(pack, Some(offset), "it is not there"),
            (Wanted::Tail(pack, length), Some(bytes)) => {
                self.parts.entry(pack).or_default().tail = Some(bytes);
                self.join(pack, length);
            }
            (Wanted::Head(pack), Some(bytes)) => {
                let parts = self.parts.entry(pack).or_default();
                parts.head = Some(bytes);
            }
            (Wanted::Block(pack, offset), Some(bytes)) => self.put_block(pack, offset, &bytes),
            (Wanted::Whole(pack, length, offset), Some(bytes)) => {
                self.parts.insert(pack, Parts { tail: Some(bytes.clone()), head: Some(bytes.clone()) });
                self.join(pack, length);
                // Only the wanted block: its client decides what the others unpack to.
                let Some(table) = self.tables.get(&pack) else { return };
                let row = table.blocks.iter().find(|row| row.offset == offset);
                let stored = row.and_then(|row| bytes.get(offset as usize..)?.get(..row.length as usize));
                if let Some(stored) = stored {
                    self.put_block(pack, offset, stored);
                }
            }
        }
    }

    fn put_block(&mut self, pack: PackAt, offset: u32, stored: &[u8]) {
        match self.open(pack, offset, BlockKind::Tree, stored) {
            Ok(block) => {
                let bytes = block_bytes(&block);
                self.blocks.put((pack, offset), block, bytes);
            }
            Err(why) => self.spoil(pack, Some(offset), &why),
        }
    }

    /// A page that matches its id. Tries all copies.
    pub(super) fn page(
        &mut self,
        index: Option<&Index<Shared>>,
        domain: DomainId,
        id: &ChunkId,
    ) -> Result<VerifiedPage, Obstacle> {
        if let Some(page) = self.pages.get(id) {
            return Ok(page.clone());
        }
        let mut why = "no pack holds it".to_owned();
        for location in copies(index, id) {
            match self.page_at(domain, id, &location)? {
                Ok(page) => {
                    self.pages.put(*id, page.clone(), page_bytes(&page));
                    return Ok(page);
                }
                Err(words) => why = words,
            }
        }
        Err(Obstacle::Lost { id: *id, why })
    }

    fn page_at(
        &mut self,
        domain: DomainId,
        id: &ChunkId,
        location: &Location,
    ) -> Result<Result<VerifiedPage, String>, Obstacle> {
        let (pack, length) = ((location.place, location.pack), location.pack_length);
        let is_new = self.tables.get(&pack).is_none() && !self.bad.contains_key(&(pack, None));
        if is_new && length <= WHOLE && !self.parts.contains_key(&pack) {
            return Err(Obstacle::Needs(vec![self.want(
                pack,
                0..length,
                Wanted::Whole(pack, length, location.offset),
            )]));
        }
        let (table, block) = match self.table(location)? {
            Err(why) => return Ok(Err(why)),
            Ok(table) => match self.block(location)? {
                Err(why) => return Ok(Err(why)),
                Ok(block) => (table, block),
            },
        };
        let found = || -> Result<VerifiedPage, String> {
            let keys = self.keys.get(&domain).ok_or("its domain has no keys here")?;
            read::page(keys, id, location, &table, &block).map_err(|fault| fault.to_string())
        };
        Ok(found().map_err(|why| format!("{}: {why}", layout::pack(pack.0, pack.1))))
    }

    /// Whether a page is in need of the same reads as the last time: then what was read ahead has taken their room.
    pub(super) fn is_asked_again(&mut self, needs: &[Read]) -> bool {
        let is_again = self.asked == needs;
        if !is_again {
            self.asked = needs.to_vec();
        }
        is_again
    }

    /// Forgets the last reads that a page was in need of: they were not handed over.
    pub(super) fn forget_asked(&mut self) {
        self.asked.clear();
    }

    /// The table of a pack; the inner error says why it cannot be used.
    pub(super) fn table(&mut self, location: &Location) -> Result<Result<Rc<PackTable>, String>, Obstacle> {
        let pack = (location.place, location.pack);
        if let Some(why) = self.bad.get(&(pack, None)) {
            return Ok(Err(why.clone()));
        }
        if let Some(table) = self.tables.get(&pack) {
            return Ok(Ok(table.clone()));
        }
        let length = location.pack_length;
        self.join(pack, length);
        if let Some(table) = self.tables.get(&pack) {
            return Ok(Ok(table.clone()));
        }
        if let Some(why) = self.bad.get(&(pack, None)) {
            return Ok(Err(why.clone()));
        }
        let mut needs = Vec::new();
        let parts = self.parts.get(&pack);
        let is_needed = |part: Option<&Vec<u8>>| part.is_none();
        if is_needed(parts.and_then(|parts| parts.tail.as_ref())) {
            let start = length.saturating_sub(TRAILER_BYTES as u64 + u64::from(location.table_length));
            needs.push((start..length, Wanted::Tail(pack, length)));
        }
        if is_needed(parts.and_then(|parts| parts.head.as_ref())) {
            let trailer = parts.and_then(|parts| trailer_of(parts.tail.as_ref()?, length));
            let end = trailer.map_or(HEAD_GUESS, |trailer| trailer.header_range().end);
            needs.push((0..end.min(length), Wanted::Head(pack)));
        }
        Err(Obstacle::Needs(needs.into_iter().map(|(range, wanted)| self.want(pack, range, wanted)).collect()))
    }

    /// Parses the table of a pack from its supplied parts.
    fn join(&mut self, pack: PackAt, length: u64) {
        let Some(parts) = self.parts.get_mut(&pack) else { return };
        let Some(tail) = &parts.tail else { return };
        let Some(trailer) = trailer_of(tail, length) else {
            self.parts.remove(&pack);
            return self.spoil(pack, None, "its end is malformed");
        };
        let Some(head) = &parts.head else { return };
        let needed = trailer.header_length() as usize;
        if head.len() < needed {
            // The guessed length was too short.
            parts.head = None;
            return;
        }
        let table = trailer.table_range();
        let start = tail.len().checked_sub((length - table.start) as usize);
        let rows = start.and_then(|start| tail.get(start..start + (table.end - table.start) as usize));
        let parsed = rows.map(|rows| parse_table(&trailer, &head[..needed], rows).map_err(|error| error.to_string()));
        self.parts.remove(&pack);
        match parsed {
            Some(Ok(table)) => self.tables.put(pack, Rc::new(table), 0),
            Some(Err(why)) => self.spoil(pack, None, &why),
            None => self.spoil(pack, None, "its table has another length than the index says"),
        }
    }

    /// A block with pages.
    fn block(&mut self, location: &Location) -> Result<Result<Rc<OpenBlock>, String>, Obstacle> {
        let pack = (location.place, location.pack);
        if let Some(why) = self.bad.get(&(pack, Some(location.offset))) {
            return Ok(Err(why.clone()));
        }
        if let Some(block) = self.blocks.get(&(pack, location.offset)) {
            return Ok(Ok(block.clone()));
        }
        let start = u64::from(location.offset);
        let wanted = Wanted::Block(pack, location.offset);
        Err(Obstacle::Needs(vec![self.want(pack, start..start + u64::from(location.length), wanted)]))
    }

    /// Opens a stored block of a pack whose table is known.
    fn open(&mut self, pack: PackAt, offset: u32, kind: BlockKind, stored: &[u8]) -> Result<Rc<OpenBlock>, String> {
        let table = self.tables.get(&pack).cloned().ok_or("its table is not at hand")?;
        self.open_with(&table, offset, kind, stored).map(Rc::new)
    }

    /// Opens a stored block of a pack with this table.
    pub(super) fn open_with(
        &mut self,
        table: &PackTable,
        offset: u32,
        kind: BlockKind,
        stored: &[u8],
    ) -> Result<OpenBlock, String> {
        let (Session { cipher, .. }, counter) = self.sealed_by(table, offset)?;
        OpenBlock::open(&cipher, kind, counter, stored, &mut self.tools).map_err(|error| error.to_string())
    }

    /// The session's number and the associated data of a block: with the session's key, the host's cipher can open it.
    pub(super) fn terms(&mut self, table: &PackTable, offset: u32, kind: BlockKind) -> Result<(u32, Vec<u8>), String> {
        let (Session { number, cipher }, counter) = self.sealed_by(table, offset)?;
        Ok((number, cipher.associated(kind, counter)))
    }

    /// Reads a block that the host's cipher has opened; `None` if the plaintext is not the sealed one.
    pub(super) fn opened(
        &mut self,
        table: &PackTable,
        offset: u32,
        kind: BlockKind,
        opened: Opened,
    ) -> Option<OpenBlock> {
        let (Session { cipher, .. }, counter) = self.sealed_by(table, offset).ok()?;
        OpenBlock::opened(&cipher, kind, counter, &opened.nonce, opened.plaintext, &mut self.tools).ok()
    }

    /// The session that sealed a block, and the block's counter in it.
    fn sealed_by(&mut self, table: &PackTable, offset: u32) -> Result<(Session, u64), String> {
        let (row, record) = read::sealed_by(table, offset).map_err(|fault| fault.to_string())?;
        Ok((self.sessions.of(&self.owner, table.domain, record)?, row.counter))
    }

    /// The key of a session's blocks; given only once.
    pub(super) fn take_key(&mut self, session: u32) -> Option<Secret> {
        self.sessions.take_key(session)
    }

    fn want(&mut self, pack: PackAt, range: core::ops::Range<u64>, wanted: Wanted) -> Read {
        let read = Read { key: layout::pack(pack.0, pack.1), range: Some(range) };
        self.wanted.insert(read.clone(), wanted);
        read
    }

    fn spoil(&mut self, pack: PackAt, block: Option<u32>, why: &str) {
        self.bad.insert((pack, block), format!("{}: {why}", layout::pack(pack.0, pack.1)));
    }
}

/// The copies of a chunk or page in the order in which to try them.
pub(super) fn copies(index: Option<&Index<Shared>>, id: &ChunkId) -> Vec<Location> {
    index.map(|index| index.best_copies(id)).unwrap_or_default()
}

fn trailer_of(tail: &[u8], length: u64) -> Option<Trailer> {
    Trailer::parse(tail.last_chunk::<TRAILER_BYTES>()?, length).ok()
}

/// Bytes read at the beginning of a pack before the header's length is known from the trailer.
const HEAD_GUESS: u64 = 4 << 10;
/// A pack of pages up to this length is read at once, not in three parts. Backups with few changes make such packs.
const WHOLE: u64 = 64 << 10;
const TABLES: usize = 256;
/// A block with pages has about 256 KiB.
const BLOCKS: usize = 96;
const PAGES: usize = 512;
/// Bytes of blocks, and as many of pages. Two of the largest blocks fit in.
const ROOM: usize = 64 << 20;
