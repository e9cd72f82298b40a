//! Truth: what packs hold once they are opened, whatever their tables say.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use copal_format::block::{OpenBlock, OpenTools};
use copal_format::id::{DomainId, PackId};
use copal_format::keys::domain::DomainKeys;
use copal_format::layout::{self, Place};
use copal_format::pack::{self, BlockRow, PackKind, PackTable};
use copal_format::seal::BlockKind;
use copal_format::tree::VerifiedPage;

use super::Repository;
use super::picture::Present;
use super::reader::Ciphers;

/// Entries of a pack: where their blocks begin, and their places there.
type Entries = HashSet<(u32, u16)>;

/// Opens packs with the owner's secret and remembers which entries are what their ids say.
#[derive(Default)]
pub struct Truth {
    repository: Repository,
    ciphers: Ciphers,
    keys: Mutex<HashMap<DomainId, DomainKeys>>,
    sound: Mutex<HashMap<(Place, PackId), Entries>>,
    /// Packs of which every entry is sound.
    whole: Mutex<HashSet<PackId>>,
}

impl Truth {
    /// Opens a pack that is being created.
    pub fn learn(&self, name: &str, bytes: &[u8]) {
        let (Some(at), Ok(table)) = (layout::pack_of(name), pack::parse(bytes)) else { return };
        let keys = self.keys_of(table.domain);
        let sound: HashSet<_> =
            table.blocks.iter().flat_map(|row| self.sound_entries(&keys, &table, row, bytes)).collect();
        if sound.len() == table.ids.len() {
            self.whole.lock().expect("nothing panics while it holds the set").insert(at.1);
        }
        self.sound.lock().expect("nothing panics while it holds the map").insert(at, sound);
    }

    /// Whether a copy is what its id says.
    pub fn holds(&self, entry: &Present) -> bool {
        let sound = self.sound.lock().expect("nothing panics while it holds the map");
        sound.get(&(entry.place, entry.pack)).is_some_and(|of| of.contains(&(entry.offset, entry.ordinal)))
    }

    /// Whether every entry of a pack is what its id says.
    pub fn is_whole(&self, pack: &PackId) -> bool {
        self.whole.lock().expect("nothing panics while it holds the set").contains(pack)
    }

    fn sound_entries(&self, keys: &DomainKeys, table: &PackTable, row: &BlockRow, bytes: &[u8]) -> Vec<(u32, u16)> {
        let kind = match table.kind {
            PackKind::Data => BlockKind::Data,
            PackKind::Tree => BlockKind::Tree,
        };
        let cipher = self.ciphers.of(&self.repository.owner, &table.sessions[usize::from(row.session)]);
        let stored = &bytes[row.offset as usize..][..row.length as usize];
        let block = cipher
            .ok()
            .and_then(|cipher| OpenBlock::open(&cipher, kind, row.counter, stored, &mut OpenTools::new()).ok());
        let is_sound = |ordinal: usize| {
            let (at, block) = (row.entries.start as usize + ordinal, block.as_ref()?);
            let (id, plain) = (table.ids[at], block.chunk(ordinal)?);
            let is_sound = match table.page(at) {
                None => keys.chunk_id(plain) == id,
                Some(page) => VerifiedPage::open(keys, id, page.height, page.references, plain).is_ok(),
            };
            is_sound.then_some((row.offset, ordinal as u16))
        };
        (0..row.entries.len()).filter_map(is_sound).collect()
    }

    fn keys_of(&self, domain: DomainId) -> DomainKeys {
        let mut keys = self.keys.lock().expect("nothing panics while it holds the map");
        keys.entry(domain).or_insert_with(|| DomainKeys::new(&self.repository.owner.domain_key(domain))).clone()
    }
}
