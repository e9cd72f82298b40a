//! View: the state of the repository as one root names it.

mod lost;
mod members;
mod newest;

pub use lost::lost_newer;
pub(crate) use lost::{is_told_far, lost_by_deletions, lost_by_receipts, refuse_rootless, tells_of};
pub use newest::newest_reached;
pub(crate) use newest::{Listed, is_rebuilt_since, newest_heads, read_root};
pub use newest::{is_superseded, is_there, newest_number, read, read_parts};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use bytes::Bytes;
use copal_format::id::{ChunkId, DomainId, ObjectHash, PackId};
use copal_format::index::{Bits, Index, Overlay, OverlayRun, Segment};
use copal_format::layout::{self, Prunable};
use copal_format::root::Root;
use copal_format::state::{PackRecord, RunKind, RunReader, State, StateFold};
use copal_store::{Store, StoreError};

use crate::error::JobError;
use crate::faults::windows;
use crate::objects;
use members::Members;

/// A state as one root names it: all of it, or the requested [`Parts`].
#[derive(Default)]
pub struct View {
    /// The root and its hash. None in a repository to which nothing was written.
    pub root: Option<(Root, ObjectHash)>,
    /// Roots that were passed over, each with the reason in words. Leaves out what a killed sync has left in a replica.
    pub passed: Vec<String>,
    /// Numbers of the passed-over roots whose base is gone. The next root gets a number above them.
    pub unreached: BTreeSet<u64>,
    /// The records of the kinds that were read: segments, snapshots, client heads, packs, doomed names.
    pub state: State,
    /// The index of each domain that was read.
    pub indexes: BTreeMap<DomainId, Index<Bytes>>,
    pub(crate) members: OnceLock<Members>,
}

/// Selects which parts of the state are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Kinds of records to read. The view's state has no records of other kinds.
    pub kinds: &'static [RunKind],
    /// Domains whose index is read; none means all domains.
    pub domains: Option<BTreeSet<DomainId>>,
}

impl Parts {
    /// All records and all indexes.
    pub const ALL: Parts = Parts { kinds: &RunKind::RECORDS, domains: None };
    /// What every decision about a manifest needs, whatever its domain. Leaves out indexes, snapshots and packs,
    /// because their number grows with the repository.
    pub const HEADS: Parts = Parts {
        kinds: &[RunKind::Segments, RunKind::Heads, RunKind::Doomed, RunKind::OverlayRuns],
        domains: Some(BTreeSet::new()),
    };

    /// Only which root is the newest.
    pub const NOTHING: Parts = Parts { kinds: &[], domains: Some(BTreeSet::new()) };
    /// All records, and no index.
    pub const RECORDS: Parts = Parts { kinds: &RunKind::RECORDS, domains: Some(BTreeSet::new()) };

    /// All records, and the index of one domain.
    pub fn of_domain(domain: DomainId) -> Self {
        Self { domains: Some([domain].into()), ..Self::ALL }
    }

    /// The index of one domain alone.
    pub fn index_of(domain: DomainId) -> Self {
        Self { kinds: &[RunKind::Segments, RunKind::OverlayRuns], ..Self::of_domain(domain) }
    }
}

impl View {
    /// The root's number; 0 without a root.
    pub fn number(&self) -> u64 {
        self.root.as_ref().map_or(0, |(root, _)| root.number)
    }

    /// The index of a domain, if it holds anything.
    pub fn index(&self, domain: DomainId) -> Option<&Index<Bytes>> {
        self.indexes.get(&domain)
    }

    /// The segments of a domain, with the hashes that name them.
    pub fn segments_of(&self, domain: DomainId) -> impl Iterator<Item = (ObjectHash, &Segment<Bytes>)> {
        let hashes = self.state.segments_of(domain).map(|(hash, _)| hash);
        hashes.zip(self.index(domain).map(Index::segments).unwrap_or_default().iter())
    }

    /// Like [`Self::segments_of`], the smallest segment first.
    pub fn segments_by_size(&self, domain: DomainId) -> Vec<(ObjectHash, &Segment<Bytes>)> {
        let mut segments: Vec<_> = self.segments_of(domain).collect();
        segments.sort_by_key(|(hash, segment)| (segment.len(), *hash));
        segments
    }

    /// The height of an id in a domain; none if the id has no copy there.
    pub fn height(&self, domain: DomainId, id: &ChunkId) -> Option<u8> {
        self.index(domain)?.copies(id).next().map(|(location, _)| location.height)
    }

    /// The height of an id that a new page of a domain may refer to; none unless a copy exists that is not lost.
    pub fn resolve(&self, domain: DomainId, id: &ChunkId) -> Option<u8> {
        let mut copies = self.index(domain)?.copies(id);
        copies.find(|(_, mark)| !mark.bits.contains(Bits::LOST)).map(|(location, _)| location.height)
    }

    /// Whether no manifest may name this pack any more: a root lists it as doomed, or it was deleted (spent).
    pub fn is_doomed(&self, pack: PackId) -> bool {
        [layout::Place::Packs, layout::Place::Moved]
            .into_iter()
            .any(|place| self.state.doomed.contains_key(&Prunable::Pack(place, pack)))
    }

    /// A view with the parts of [`Parts::HEADS`] only. This view must have them.
    pub(crate) fn heads(&self) -> View {
        let State { segments, heads, doomed, overlays, .. } = &self.state;
        let (segments, heads, doomed) = (segments.clone(), heads.clone(), doomed.clone());
        let state = State { segments, heads, doomed, overlays: overlays.clone(), ..State::default() };
        View { root: self.root.clone(), state, unreached: self.unreached.clone(), ..View::default() }
    }

    /// The domains that have an index, ascending.
    pub fn domains(&self) -> Vec<DomainId> {
        let named = self.state.segments.keys().chain(self.state.overlays.keys()).map(|(domain, _)| *domain);
        named.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Reads the index of one domain and drops all others, so that only one index is in memory.
    pub async fn turn_to(&mut self, store: &dyn Store, domain: DomainId) -> Result<(), JobError> {
        self.indexes.retain(|of, _| *of == domain);
        self.load_indexes(store, [domain].into()).await
    }

    /// Like [`Self::turn_to`], for the first of several domains in ascending order. Reads small indexes of the next ones
    /// at the same time, and keeps them until it is their turn.
    pub async fn turn_along(&mut self, store: &dyn Store, domains: &[DomainId]) -> Result<(), JobError> {
        let Some(first) = domains.first() else { return Ok(()) };
        self.indexes.retain(|of, _| of >= first);
        if self.indexes.contains_key(first) || !has_index(&self.state, *first) {
            return Ok(());
        }
        let mut bytes = 0;
        let few = domains.iter().take(ALONG).take_while(|domain| {
            bytes += self.state.segments_of(**domain).map(|(_, record)| record.length).sum::<u64>();
            bytes <= IN_FLIGHT
        });
        let few: BTreeSet<DomainId> = few.chain([first]).copied().collect();
        match self.load_indexes(store, few).await {
            Ok(()) => Ok(()),
            // An unreadable index of a later domain must not fail this one.
            Err(_) => self.turn_to(store, *first).await,
        }
    }

    /// Reads the indexes of these domains that were not read yet.
    pub async fn load_indexes(&mut self, store: &dyn Store, domains: BTreeSet<DomainId>) -> Result<(), JobError> {
        let (state, indexes) = (&self.state, &self.indexes);
        let missing = domains.into_iter().filter(|domain| !indexes.contains_key(domain) && has_index(state, *domain));
        let calls = missing.map(|domain| async move { Ok((domain, read_index(store, state, domain).await?)) });
        for (domain, index) in objects::join(calls).await? {
            match index {
                Ok(index) => drop(self.indexes.insert(domain, index)),
                Err(gone) => return Err(JobError::StateLost { evidence: self.needs(&gone) }),
            }
        }
        Ok(())
    }

    /// Reads the snapshots into the state; [`Parts::HEADS`] leaves them out.
    pub async fn load_snapshots(&mut self, store: &dyn Store) -> Result<(), JobError> {
        self.members = OnceLock::new();
        self.state.snapshots = self.records(store, &[RunKind::Snapshots]).await?.snapshots;
        Ok(())
    }

    /// Reads the packs, which [`Parts::HEADS`] leaves out too.
    pub(crate) async fn packs(&self, store: &dyn Store) -> Result<BTreeMap<PackId, PackRecord>, JobError> {
        Ok(self.records(store, &[RunKind::Packs]).await?.packs)
    }

    async fn records(&self, store: &dyn Store, kinds: &'static [RunKind]) -> Result<State, JobError> {
        let Some((root, _)) = &self.root else { return Ok(State::default()) };
        let read = read_records(store, root, kinds).await?;
        read.map_err(|gone| JobError::StateLost { evidence: self.needs(&gone) })
    }

    fn needs(&self, gone: &str) -> String {
        format!("{gone}, which {} names, is gone", layout::root(self.number()))
    }

    /// The number for the next root: above this view's root and above all unreached ones.
    pub(crate) fn next_number(&self) -> u64 {
        self.unreached.last().copied().unwrap_or(0).max(self.number()) + 1
    }

    /// The number and hash of this root, which the next root names as its base.
    pub fn base(&self) -> Option<(u64, ObjectHash)> {
        self.root.as_ref().map(|(root, hash)| (root.number, *hash))
    }
}

type Folded = (State, BTreeMap<DomainId, Index<Bytes>>);

async fn read_state(store: &dyn Store, root: &Root, parts: &Parts) -> Result<Result<Folded, String>, JobError> {
    let state = match read_records(store, root, parts.kinds).await? {
        Ok(state) => state,
        Err(gone) => return Ok(Err(gone)),
    };
    let named = state.segments.keys().chain(state.overlays.keys()).map(|(domain, _)| *domain);
    let is_asked_for = |domain: &DomainId| parts.domains.as_ref().is_none_or(|domains| domains.contains(domain));
    let mut indexes = BTreeMap::new();
    for domain in named.filter(is_asked_for).collect::<BTreeSet<DomainId>>() {
        match read_index(store, &state, domain).await? {
            Ok(index) => drop(indexes.insert(domain, index)),
            Err(gone) => return Ok(Err(gone)),
        }
    }
    Ok(Ok((state, indexes)))
}

/// Reads the records of some kinds. The inner error is the name of a run that is gone.
async fn read_records(
    store: &dyn Store,
    root: &Root,
    kinds: &'static [RunKind],
) -> Result<Result<State, String>, JobError> {
    let runs: Vec<ObjectHash> = root.runs.iter().filter(|run| kinds.contains(&run.kind)).map(|run| run.hash).collect();
    let read = match read_runs(store, &runs).await? {
        Ok(read) => read,
        Err(gone) => return Ok(Err(gone)),
    };
    let mut fold = StateFold::default();
    for (hash, bytes) in runs.iter().zip(read) {
        let damaged = |error| JobError::damaged(layout::state(*hash), error);
        fold.add(&RunReader::parse(&bytes).map_err(damaged)?).map_err(damaged)?;
    }
    Ok(Ok(fold.finish()))
}

/// Reads several runs at the same time. The inner error is the name of a run that is gone.
async fn read_runs(store: &dyn Store, runs: &[ObjectHash]) -> Result<Result<Vec<Bytes>, String>, JobError> {
    let calls = runs.iter().map(|hash| {
        let hash = *hash;
        async move { objects::read_hashed(store, &layout::state(hash), hash).await }
    });
    let read = objects::join(calls).await?;
    let gone = runs.iter().zip(&read).find(|(_, bytes)| bytes.is_none()).map(|(hash, _)| layout::state(*hash));
    Ok(gone.map_or_else(|| Ok(read.into_iter().flatten().collect()), Err))
}

fn has_index(state: &State, domain: DomainId) -> bool {
    state.segments_of(domain).next().is_some() || !state.overlays_of(domain).is_empty()
}

/// Reads the index of a domain. The inner error is the name of a segment or overlay run that is gone.
async fn read_index(
    store: &dyn Store,
    state: &State,
    domain: DomainId,
) -> Result<Result<Index<Bytes>, String>, JobError> {
    let calls = state.segments_of(domain).map(|(hash, _)| {
        let name = layout::segment(hash);
        async move {
            let bytes = match store.map(&objects::key(&name)).await {
                Ok(bytes) => bytes,
                Err(StoreError::NotFound { .. }) => return Ok(Err(name)),
                Err(error) => return Err(error.into()),
            };
            Segment::parse(bytes).map(Ok).map_err(|error| JobError::damaged(&name, error))
        }
    });
    // A store that does not map objects holds each segment in memory while it is read.
    let longest = state.segments_of(domain).map(|(_, record)| record.length).max().unwrap_or(0);
    let few = (IN_FLIGHT / longest.max(1)).max(2).min(windows().at_once as u64) as usize;
    let mut segments = Vec::new();
    for segment in objects::join_few(few, calls).await? {
        match segment {
            Ok(segment) => segments.push(segment),
            Err(gone) => return Ok(Err(gone)),
        }
    }
    let overlay = match read_overlay(store, state, domain).await? {
        Ok(overlay) => overlay,
        Err(gone) => return Ok(Err(gone)),
    };
    Ok(Ok(Index::new(domain, segments, overlay).map_err(|error| JobError::damaged("index/", error))?))
}

/// The overlay of a domain. Fails with [`JobError::StateLost`] if one of its runs is gone.
pub(crate) async fn overlay_of(store: &dyn Store, state: &State, domain: DomainId) -> Result<Overlay<Bytes>, JobError> {
    let read = read_overlay(store, state, domain).await?;
    read.map_err(|gone| JobError::StateLost { evidence: format!("{gone}, which a root names, is gone") })
}

async fn read_overlay(
    store: &dyn Store,
    state: &State,
    domain: DomainId,
) -> Result<Result<Overlay<Bytes>, String>, JobError> {
    let names: Vec<ObjectHash> = state.overlays_of(domain).into_iter().map(|(hash, _)| hash).collect();
    let read = objects::join(names.iter().map(|hash| overlay_run(store, *hash))).await?;
    let mut runs = Vec::new();
    for (hash, run) in names.iter().zip(read) {
        let Some(run) = run else { return Ok(Err(layout::state(*hash))) };
        runs.push(run);
    }
    Ok(Ok(Overlay::new(runs)))
}

/// Reads an overlay run and verifies it; none if it is gone. Mapped, because it may have a mark for every entry of the
/// index.
pub(crate) async fn overlay_run(store: &dyn Store, hash: ObjectHash) -> Result<Option<OverlayRun<Bytes>>, JobError> {
    let name = layout::state(hash);
    let Some(bytes) = objects::map_hashed(store, &name, hash).await? else { return Ok(None) };
    let damaged = |error| JobError::damaged(&name, error);
    let run = OverlayRun::parse(bytes).map_err(damaged)?;
    run.verify().map_err(damaged)?;
    Ok(Some(run))
}

/// All runs that a root names, including the overlay runs that its `OverlayRuns` records name. None if one of those
/// records' runs is gone or cannot be read, because the list would be incomplete.
pub(crate) async fn runs_named_by(store: &dyn Store, root: &Root) -> Result<Option<Vec<ObjectHash>>, JobError> {
    let mut fold = StateFold::default();
    for run in root.runs.iter().filter(|run| run.kind == RunKind::OverlayRuns) {
        let bytes = match objects::read_hashed(store, &layout::state(run.hash), run.hash).await {
            Ok(Some(bytes)) => bytes,
            Ok(None) | Err(JobError::Damaged { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        if RunReader::parse(&bytes).and_then(|run| fold.add(&run)).is_err() {
            return Ok(None);
        }
    }
    let overlays = fold.finish().overlays.into_keys().map(|(_, hash)| hash);
    Ok(Some(root.runs.iter().map(|run| run.hash).chain(overlays).collect()))
}

/// Domains whose indexes are read at the same time.
const ALONG: usize = 64;
/// About how many bytes of segments are read at the same time.
const IN_FLIGHT: u64 = 64 << 20;
