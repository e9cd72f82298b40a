//! Blocks: reads, opens and checks stored blocks of one domain.

use std::collections::HashMap;
use std::rc::Rc;

use copal_engine::read::{Session, sealed_by};
use copal_format::block::{OpenBlock, OpenTools};
use copal_format::id::{DomainId, PackId};
use copal_format::keys::owner::OwnerSecret;
use copal_format::layout::{self, Place};
use copal_format::pack::PackTable;
use copal_format::seal::{BlockKind, SessionCipher};

use crate::directory::{Directory, Object, read_range};
use crate::scan::read_table;

/// A reader of blocks.
pub(crate) struct Blocks<'a> {
    directory: &'a Directory,
    owner: &'a OwnerSecret,
    domain: DomainId,
    packs: HashMap<PackId, Rc<Pack>>,
    /// The entries in the tables of these packs.
    entries: usize,
    ciphers: HashMap<Vec<u8>, SessionCipher>,
    tools: OpenTools,
}

/// A pack and its table.
pub(crate) struct Pack {
    file: Object,
    pub(crate) table: PackTable,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(directory: &'a Directory, owner: &'a OwnerSecret, domain: DomainId) -> Self {
        Self {
            directory,
            owner,
            domain,
            packs: HashMap::new(),
            entries: 0,
            ciphers: HashMap::new(),
            tools: OpenTools::new(),
        }
    }

    /// A pack, with its table read once while it is cached; the error is text.
    pub(crate) fn pack(&mut self, place: Place, id: PackId) -> Result<Rc<Pack>, String> {
        if let Some(pack) = self.packs.get(&id) {
            return Ok(pack.clone());
        }
        let file = self.directory.file(&layout::pack(place, id)).map_err(|error| error.to_string())?;
        let table = read_table(&file)?;
        if self.packs.len() >= PACKS || self.entries >= ENTRIES {
            self.packs.clear();
            self.entries = 0;
        }
        self.entries += table.ids.len() + table.pages.references().len();
        let pack = Rc::new(Pack { file, table });
        self.packs.insert(id, pack.clone());
        Ok(pack)
    }

    /// Opens the block at an offset of a pack; the error is text.
    pub(crate) fn open(&mut self, pack: &Pack, offset: u32, kind: BlockKind) -> Result<OpenBlock, String> {
        let table = &pack.table;
        let (row, session) = sealed_by(table, offset).map_err(|fault| fault.to_string())?;
        let start = u64::from(row.offset);
        let stored = read_range(&pack.file, start..start + u64::from(row.length)).map_err(|error| error.to_string())?;
        let cipher = self.cipher(session)?;
        OpenBlock::open(&cipher, kind, row.counter, &stored, &mut self.tools).map_err(|error| error.to_string())
    }

    /// The cipher of the session with this record. Unwrapping needs a key agreement, so it is cached.
    fn cipher(&mut self, record: &[u8]) -> Result<SessionCipher, String> {
        if let Some(cipher) = self.ciphers.get(record) {
            return Ok(cipher.clone());
        }
        let session = Session::open(self.owner, self.domain, record).map_err(|fault| fault.to_string())?;
        let Session { cipher, .. } = session;
        if self.ciphers.len() >= CIPHERS {
            self.ciphers.clear();
        }
        self.ciphers.insert(record.to_vec(), cipher.clone());
        Ok(cipher)
    }
}

/// Most packs kept open, and the number of table entries above which the cache is emptied.
const PACKS: usize = 64;
const ENTRIES: usize = 1 << 20;
/// Session keys kept.
const CIPHERS: usize = 1024;
