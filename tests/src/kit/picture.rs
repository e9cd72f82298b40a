//! Picture: the state as the objects of the store tell it, decoded here and not by the service, and what must hold of it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use copal_format::id::{ChunkId, DomainId, ObjectHash, PackId, PackTag};
use copal_format::index::{Bits, OverlayRun, Segment};
use copal_format::layout::{self, Place, Prunable};
use copal_format::pack::{self, PackTable, PageView};
use copal_format::root::Root;
use copal_format::state::{DoomedState, RunKind, RunReader, SnapshotState, State, StateFold};
use copal_store::Store;
use futures::executor::block_on;

use super::repository::key;

/// The tables of packs, kept although the packs are deleted.
#[derive(Default)]
pub struct Tables(Mutex<HashMap<String, Arc<PackTable>>>);

/// The state that one root names.
pub struct Picture {
    pub root: Root,
    pub hash: ObjectHash,
    pub state: State,
    pub entries: Vec<Present>,
    /// What the overlay says, newest first for each copy.
    pub marks: HashMap<(DomainId, ChunkId, PackTag), Bits>,
    tables: HashMap<(Place, PackId), Arc<PackTable>>,
}

/// An entry of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Present {
    pub domain: DomainId,
    pub id: ChunkId,
    pub pack: PackId,
    pub place: Place,
    pub offset: u32,
    pub ordinal: u16,
    pub is_page: bool,
}

impl Tables {
    /// Remembers the table of a pack that is being created.
    pub fn learn(&self, name: &str, bytes: &[u8]) {
        if let Ok(table) = pack::parse(bytes) {
            self.lock().insert(name.to_owned(), table.into());
        }
    }

    fn get(&self, name: &str) -> Option<Arc<PackTable>> {
        self.lock().get(name).cloned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<PackTable>>> {
        self.0.lock().expect("nothing panics while it holds the map")
    }
}

impl Picture {
    /// Reads the state that the root of this number names. `store` must answer at once.
    pub fn read(store: &dyn Store, number: u64, tables: &Tables) -> Result<Self, String> {
        let bytes = read(store, &layout::root(number))?;
        let root = Root::decode(number, &bytes).map_err(|error| error.to_string())?;
        let mut fold = StateFold::default();
        for run in &root.runs {
            let bytes = read(store, &layout::state(run.hash))?;
            let reader = RunReader::parse(&bytes).map_err(|error| error.to_string())?;
            fold.add(&reader).map_err(|error| error.to_string())?;
        }
        let state = fold.finish();
        let mut overlays: Vec<_> = state.overlays.iter().collect();
        overlays.sort_by_key(|(_, record)| std::cmp::Reverse(record.root));
        let mut marks = HashMap::new();
        for ((domain, hash), _) in overlays {
            let bytes = read(store, &layout::state(*hash))?;
            let overlay = OverlayRun::parse(&bytes[..]).map_err(|error| error.to_string())?;
            for ((id, tag), mark) in overlay.iter() {
                marks.entry((*domain, id, tag)).or_insert(mark.bits);
            }
        }
        let mut picture =
            Self { root, hash: ObjectHash::of(&bytes), state, entries: Vec::new(), marks, tables: HashMap::new() };
        picture.read_segments(store, tables)?;
        Ok(picture)
    }

    fn read_segments(&mut self, store: &dyn Store, tables: &Tables) -> Result<(), String> {
        for (domain, hash) in self.state.segments.keys() {
            let bytes = read(store, &layout::segment(*hash))?;
            let segment = Segment::parse(&bytes[..]).map_err(|error| error.to_string())?;
            segment.verify().map_err(|error| error.to_string())?;
            for entry in segment.entries() {
                let at = entry.location;
                if let Entry::Vacant(vacant) = self.tables.entry((at.place, at.pack)) {
                    let name = layout::pack(at.place, at.pack);
                    vacant.insert(tables.get(&name).ok_or_else(|| format!("{name} was never written"))?);
                }
                self.entries.push(Present {
                    domain: *domain,
                    id: entry.id,
                    pack: at.pack,
                    place: at.place,
                    offset: at.offset,
                    ordinal: at.ordinal,
                    is_page: at.is_page,
                });
            }
        }
        self.entries.sort_unstable();
        self.entries.dedup();
        Ok(())
    }

    /// A present page, as its pack's table has it.
    pub fn page(&self, entry: &Present) -> Option<PageView<'_>> {
        let table = &self.tables[&(entry.place, entry.pack)];
        let row = table.blocks.iter().find(|row| row.offset == entry.offset)?;
        table.page(row.entries.start as usize + usize::from(entry.ordinal))
    }

    pub fn references(&self, entry: &Present) -> &[ChunkId] {
        self.page(entry).map(|page| page.references).unwrap_or_default()
    }

    /// The names of the packs that entries lie in.
    pub fn packs(&self) -> BTreeSet<String> {
        self.entries.iter().map(|entry| layout::pack(entry.place, entry.pack)).collect()
    }

    /// Every object that this state cannot do without.
    pub fn needed(&self) -> BTreeSet<String> {
        let mut needed = self.packs();
        needed.extend(self.state.segments.keys().map(|(_, hash)| layout::segment(*hash)));
        needed.extend(self.root.runs.iter().map(|run| layout::state(run.hash)));
        needed.extend(self.state.overlays.keys().map(|(_, hash)| layout::state(*hash)));
        needed.insert(layout::root(self.root.number));
        needed.extend(self.root.base.map(|(number, _)| layout::root(number)));
        needed
    }

    pub fn ids(&self) -> BTreeSet<(DomainId, ChunkId)> {
        self.entries.iter().map(|entry| (entry.domain, entry.id)).collect()
    }

    pub fn is_lost(&self, (domain, id): &(DomainId, ChunkId)) -> bool {
        self.marks.get(&(*domain, *id, PackTag::NONE)).is_some_and(|bits| bits.contains(Bits::LOST))
    }

    /// Ids reached from the kept snapshots of all domains.
    pub fn reached(&self) -> BTreeSet<(DomainId, ChunkId)> {
        let kept = self.state.snapshots.values().filter(|snapshot| snapshot.state == SnapshotState::Kept);
        self.reached_from(kept.filter(|kept| !kept.partial).map(|snapshot| (snapshot.domain, snapshot.root)))
    }

    pub fn reached_from(&self, pages: impl IntoIterator<Item = (DomainId, ChunkId)>) -> BTreeSet<(DomainId, ChunkId)> {
        self.reached_through(|_| true, pages)
    }

    /// The same, following only pages that pass a test.
    pub fn reached_through(
        &self,
        is_followed: impl Fn(&Present) -> bool,
        pages: impl IntoIterator<Item = (DomainId, ChunkId)>,
    ) -> BTreeSet<(DomainId, ChunkId)> {
        let mut present: HashMap<(DomainId, ChunkId), Vec<&Present>> = HashMap::new();
        for entry in self.entries.iter().filter(|entry| entry.is_page && is_followed(entry)) {
            present.entry((entry.domain, entry.id)).or_default().push(entry);
        }
        let mut open: Vec<_> = pages.into_iter().collect();
        let mut reached = BTreeSet::new();
        while let Some(at) = open.pop() {
            if reached.insert(at) {
                let copies = present.get(&at).into_iter().flatten();
                open.extend(copies.flat_map(|entry| self.references(entry)).map(|id| (at.0, *id)));
            }
        }
        reached
    }

    /// What must hold of every root: the first thing that does not. A copy that is not what its id says is no page: what
    /// it claims to refer to need not be there. `is_sound` tells of them.
    pub fn check(&self, is_sound: impl Fn(&Present) -> bool) -> Result<(), String> {
        let present = self.ids();
        let is_there = |domain, id: &ChunkId| present.contains(&(domain, *id)) || self.is_lost(&(domain, *id));
        for entry in self.entries.iter().filter(|entry| entry.is_page && is_sound(entry)) {
            if let Some(id) = self.references(entry).iter().find(|id| !is_there(entry.domain, id)) {
                return Err(format!("page {} is present and refers to {id}, which is absent", entry.id));
            }
        }
        for snapshot in self.state.snapshots.values() {
            if snapshot.state == SnapshotState::Kept && !is_there(snapshot.domain, &snapshot.root) {
                return Err(format!("the root page of kept snapshot {} is absent", snapshot.id));
            }
        }
        let packs = self.packs();
        for name in self.state.doomed.keys() {
            let names_segment = self.state.segments.keys().any(|(_, hash)| Prunable::Segment(*hash) == *name);
            if packs.contains(&name.to_string()) || names_segment {
                return Err(format!("{name} is doomed and present"));
            }
        }
        if let Some(name) = packs.iter().find(|name| {
            let pack = layout::pack_of(name).map(|(_, pack)| pack);
            pack.is_none_or(|pack| !self.state.packs.contains_key(&pack))
        }) {
            return Err(format!("{name} holds entries and is not in the state"));
        }
        Ok(())
    }

    /// What must hold of a root and the one before it.
    pub fn check_after(&self, before: &Picture) -> Result<(), String> {
        for (client, head) in &before.state.heads {
            if self.state.heads.get(client).is_none_or(|now| now.number < head.number) {
                return Err(format!("the chain of client {client} went back"));
            }
        }
        for (key, snapshot) in &before.state.snapshots {
            match self.state.snapshots.get(key) {
                Some(now) if now.id == snapshot.id => {}
                _ => return Err(format!("accepted snapshot {} is not known any more", snapshot.id)),
            }
        }
        let old = before.packs();
        if let Some(name) = self
            .packs()
            .difference(&old)
            .find(|name| Prunable::parse(name).is_some_and(|name| before.state.doomed.contains_key(&name)))
        {
            return Err(format!("{name} was doomed and is present again"));
        }
        Ok(())
    }

    /// Names that this state says are deleted.
    pub fn spent(&self) -> impl Iterator<Item = String> + '_ {
        let spent = self.state.doomed.iter().filter(|(_, record)| record.state == DoomedState::Spent);
        spent.map(|(name, _)| name.to_string())
    }

    pub fn copies(&self) -> BTreeMap<(DomainId, ChunkId), Vec<Present>> {
        let mut copies: BTreeMap<_, Vec<Present>> = BTreeMap::new();
        for entry in &self.entries {
            copies.entry((entry.domain, entry.id)).or_default().push(*entry);
        }
        copies
    }
}

/// The names of the runs that a root needs, those of the overlays among them.
pub fn runs_of(store: &dyn Store, root: &Root) -> Result<BTreeSet<String>, String> {
    let mut fold = StateFold::default();
    for run in root.runs.iter().filter(|run| run.kind == RunKind::OverlayRuns) {
        let bytes = read(store, &layout::state(run.hash))?;
        let reader = RunReader::parse(&bytes).map_err(|error| error.to_string())?;
        fold.add(&reader).map_err(|error| error.to_string())?;
    }
    let overlays = fold.finish().overlays.into_keys().map(|(_, hash)| hash);
    Ok(root.runs.iter().map(|run| run.hash).chain(overlays).map(layout::state).collect())
}

pub fn newest(store: &dyn Store) -> Option<u64> {
    let page = block_on(store.list("roots/", None, 1)).ok()?;
    layout::root_number(page.objects.first()?.key.as_str())
}

fn read(store: &dyn Store, name: &str) -> Result<Vec<u8>, String> {
    block_on(store.read(&key(name))).map(|bytes| bytes.to_vec()).map_err(|error| error.to_string())
}
