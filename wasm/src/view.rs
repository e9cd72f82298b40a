//! View: the state that the newest root names, and the index of some domains.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use copal_format::id::{ChunkId, DomainId, ObjectHash};
use copal_format::index::{Index, Overlay, OverlayRun, Segment, Status};
use copal_format::layout;
use copal_format::pack::PackKind;
use copal_format::root::Root;
use copal_format::state::{RunReader, State, StateFold};
use copal_format::time::Time;

use crate::fault::Fault;
pub use crate::newest::Read;
use crate::newest::{Newest, named, present};

/// Bytes of a segment, shared by the indexes that search them.
#[derive(Clone, Debug)]
pub struct Shared(Rc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The repository at one root. The host supplies what [`View::needs`] returns until nothing is needed.
#[derive(Debug, Default)]
pub struct View {
    newest: Newest,
    domains: BTreeSet<DomainId>,
    runs: BTreeMap<ObjectHash, Vec<u8>>,
    state: Option<State>,
    segments: BTreeMap<ObjectHash, Segment<Shared>>,
    overlays: BTreeMap<ObjectHash, OverlayRun<Shared>>,
    indexes: BTreeMap<DomainId, Index<Shared>>,
}

/// Bytes of packs accepted on a day.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// The start of the day.
    pub time: Time,
    /// The bytes.
    pub bytes: u64,
}

/// Numbers about packs and index, from the state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packs.
    pub packs: u64,
    /// Bytes of data packs.
    pub data_bytes: u64,
    /// Bytes of tree packs.
    pub tree_bytes: u64,
    /// Packs that a check found missing.
    pub missing: u64,
    /// Packs that a check found damaged.
    pub damaged: u64,
    /// Index segments.
    pub segments: u64,
    /// Their entries.
    pub entries: u64,
    /// By day, oldest first.
    pub growth: Vec<Growth>,
    /// The oldest and the newest time at which a pack was read completely, and how many packs ever were.
    pub checked: Option<(Time, Time, u64)>,
}

impl View {
    /// A view of the root with this name; `None` for a repository without roots.
    pub fn new(root_key: Option<&str>, domains: BTreeSet<DomainId>) -> Result<Self, Fault> {
        Ok(Self { newest: Newest::new(root_key)?, domains, ..Self::default() })
    }

    /// A view of a newer root with the same domains, to be filled before [`View::replace`]; `None` if it is not newer.
    /// Reuses segments and overlays that both roots name.
    pub fn newer(&self, root_key: Option<&str>) -> Result<Option<Self>, Fault> {
        let newest = Newest::new(root_key)?;
        let (domains, segments, overlays) = (self.domains.clone(), self.segments.clone(), self.overlays.clone());
        let is_newer = newest.number > self.newest.number;
        Ok(is_newer.then(|| Self { newest, domains, segments, overlays, ..Self::default() }))
    }

    /// Replaces this view by a newer one, for all domains that are wanted now. Returns false if the newer one must
    /// first be filled for them. Does nothing if it is not newer any more.
    pub fn replace(&mut self, newer: &mut Self) -> bool {
        if newer.newest.number <= self.newest.number {
            return true;
        }
        self.domains.iter().for_each(|domain| newer.want(*domain));
        let is_complete = newer.is_complete();
        if is_complete {
            *self = core::mem::take(newer);
        }
        is_complete
    }

    /// Adds a domain whose index is wanted.
    pub fn want(&mut self, domain: DomainId) {
        if self.domains.insert(domain) {
            self.join_indexes();
        }
    }

    /// The next reads; empty once the view is complete.
    pub fn needs(&self) -> Vec<Read> {
        let mut needs = self.newest.needs();
        let Some((root, _)) = &self.newest.root else { return needs };
        let Some(state) = &self.state else {
            let missing = root.runs.iter().filter(|run| !self.runs.contains_key(&run.hash));
            needs.extend(missing.map(|run| Read::whole(layout::state(run.hash))));
            return needs;
        };
        for domain in &self.domains {
            let missing = overlays_of(state, *domain).filter(|hash| !self.overlays.contains_key(hash));
            needs.extend(missing.map(|hash| Read::whole(layout::state(hash))));
            let missing = segments_of(state, *domain).filter(|hash| !self.segments.contains_key(hash));
            needs.extend(missing.map(|hash| Read::whole(layout::segment(hash))));
        }
        needs
    }

    /// Whether nothing more is needed.
    pub fn is_complete(&self) -> bool {
        self.needs().is_empty()
    }

    /// Takes an object that was needed; `None` if it does not exist.
    pub fn supply(&mut self, key: &str, bytes: Option<Vec<u8>>) -> Result<(), Fault> {
        let bytes = present(key, bytes)?;
        if key.starts_with("roots/") {
            return if self.newest.supply(key, &bytes)? { self.fold() } else { Ok(()) };
        }
        let hash = named(key, &bytes)?;
        if key.starts_with("index/") {
            self.segments.insert(hash, Segment::parse(Shared(Rc::new(bytes)))?);
        } else if self.state.is_some() {
            self.overlays.insert(hash, OverlayRun::parse(Shared(Rc::new(bytes)))?);
        } else {
            self.runs.insert(hash, bytes);
            self.fold()?;
        }
        self.join_indexes();
        Ok(())
    }

    /// Folds the runs once all have been supplied.
    fn fold(&mut self) -> Result<(), Fault> {
        let Some((root, _)) = &self.newest.root else { return Ok(()) };
        let runs: Option<Vec<&Vec<u8>>> = root.runs.iter().map(|run| self.runs.get(&run.hash)).collect();
        let Some(runs) = runs else { return Ok(()) };
        let mut fold = StateFold::default();
        for run in runs {
            fold.add(&RunReader::parse(run)?)?;
        }
        let state = fold.finish();
        self.segments.retain(|hash, segment| state.segments.contains_key(&(segment.domain(), *hash)));
        self.overlays.retain(|hash, run| state.overlays.contains_key(&(run.domain(), *hash)));
        self.runs.clear();
        self.state = Some(state);
        self.join_indexes();
        Ok(())
    }

    fn join_indexes(&mut self) {
        let Some(state) = &self.state else { return };
        for domain in &self.domains {
            if self.indexes.contains_key(domain) {
                continue;
            }
            let segments = segments_of(state, *domain).map(|hash| self.segments.get(&hash).cloned());
            let overlays = overlays_of(state, *domain).map(|hash| self.overlays.get(&hash).cloned());
            let (segments, overlays) = (segments.collect::<Option<Vec<_>>>(), overlays.collect::<Option<Vec<_>>>());
            let (Some(segments), Some(overlays)) = (segments, overlays) else { continue };
            // A segment or overlay with another domain than the state says counts as lost.
            if let Ok(index) = Index::new(*domain, segments, Overlay::new(overlays)) {
                self.indexes.insert(*domain, index);
            }
        }
    }

    /// The number and hash of the root.
    pub fn base(&self) -> Option<(u64, ObjectHash)> {
        self.newest.root.as_ref().map(|(root, hash)| (root.number, *hash))
    }

    /// The root.
    pub fn root(&self) -> Option<&Root> {
        self.newest.root.as_ref().map(|(root, _)| root)
    }

    /// The state; empty where there is no root.
    pub fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    /// The index of a wanted domain; `None` if the repository has nothing in it.
    pub fn index(&self, domain: DomainId) -> Option<&Index<Shared>> {
        self.indexes.get(&domain)
    }

    /// The status of a chunk or page, which says what a client may do about it.
    pub fn status(&self, domain: DomainId, id: &ChunkId) -> Status {
        self.index(domain).map_or(Status::Absent, |index| index.status(id))
    }

    /// Numbers about packs and index, from the state.
    pub fn statistics(&self) -> Statistics {
        let Some(state) = &self.state else { return Statistics::default() };
        let mut sums = Statistics {
            packs: state.packs.len() as u64,
            segments: state.segments.len() as u64,
            entries: state.segments.values().map(|segment| segment.entries).sum(),
            ..Statistics::default()
        };
        let mut days: BTreeMap<i64, u64> = BTreeMap::new();
        for pack in state.packs.values() {
            match pack.kind {
                PackKind::Data => sums.data_bytes += pack.length,
                PackKind::Tree => sums.tree_bytes += pack.length,
            }
            sums.missing += u64::from(pack.is_missing);
            sums.damaged += u64::from(pack.is_damaged);
            *days.entry(pack.accepted.0.div_euclid(DAY)).or_default() += pack.length;
            if pack.read > Time(0) {
                let (oldest, newest, packs) = sums.checked.unwrap_or((pack.read, pack.read, 0));
                sums.checked = Some((oldest.min(pack.read), newest.max(pack.read), packs + 1));
            }
        }
        sums.growth = days.into_iter().map(|(day, bytes)| Growth { time: Time(day * DAY), bytes }).collect();
        sums
    }
}

fn segments_of(state: &State, domain: DomainId) -> impl Iterator<Item = ObjectHash> + '_ {
    state.segments.keys().filter(move |(of, _)| *of == domain).map(|(_, hash)| *hash)
}

fn overlays_of(state: &State, domain: DomainId) -> impl Iterator<Item = ObjectHash> + '_ {
    state.overlays_of(domain).into_iter().map(|(hash, _)| hash)
}

const DAY: i64 = 86_400 * 1_000_000_000;
