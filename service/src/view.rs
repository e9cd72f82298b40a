//! View: the state of the repository as one root names it.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use copal_engine::id::{ChunkId, DomainId, ObjectHash, PackId};
use copal_engine::index::{Bits, Index, Overlay, OverlayRun, Segment};
use copal_engine::layout;
use copal_engine::receipt::Receipt;
use copal_engine::root::Root;
use copal_engine::state::{RunKind, RunReader, State, StateFold};
use copal_store::{Store, StoreError};

use crate::clients;
use crate::error::JobError;
use crate::faults::{Fault, is_planted};
use crate::host::Host;
use crate::objects;

/// The state as one root names it.
pub struct View {
    /// The root and its hash; none in a repository to which nothing was written.
    pub root: Option<(Root, ObjectHash)>,
    /// Segments, snapshots, heads of clients, packs and doomed names.
    pub state: State,
    /// The index of each domain.
    pub indexes: BTreeMap<DomainId, Index<Bytes>>,
}

impl View {
    /// The root's number; 0 where there is none.
    pub fn number(&self) -> u64 {
        self.root.as_ref().map_or(0, |(root, _)| root.number)
    }

    /// The index of a domain, if it holds anything.
    pub fn index(&self, domain: DomainId) -> Option<&Index<Bytes>> {
        self.indexes.get(&domain)
    }

    /// The segments of a domain, with the hashes that name them.
    pub fn segments_of(&self, domain: DomainId) -> impl Iterator<Item = (ObjectHash, &Segment<Bytes>)> {
        let hashes = self.state.segments.keys().filter(move |(of, _)| *of == domain).map(|(_, hash)| *hash);
        hashes.zip(self.index(domain).map(Index::segments).unwrap_or_default().iter())
    }

    /// The same, the smallest first.
    pub fn segments_by_size(&self, domain: DomainId) -> Vec<(ObjectHash, &Segment<Bytes>)> {
        let mut segments: Vec<_> = self.segments_of(domain).collect();
        segments.sort_by_key(|(hash, segment)| (segment.len(), *hash));
        segments
    }

    /// The height of an id in a domain; none if it has no copy there.
    pub fn height(&self, domain: DomainId, id: &ChunkId) -> Option<u8> {
        self.index(domain)?.copies(id).next().map(|(location, _)| location.height)
    }

    /// The height of an id that a new page of a domain may refer to: one of which a copy is not lost.
    pub fn resolve(&self, domain: DomainId, id: &ChunkId) -> Option<u8> {
        let mut copies = self.index(domain)?.copies(id);
        copies.find(|(_, mark)| !mark.bits.contains(Bits::LOST)).map(|(location, _)| location.height)
    }

    /// Whether a pack may not be named any more: a root dooms it, or its name was used up.
    pub fn is_doomed(&self, pack: PackId) -> bool {
        [layout::Place::Packs, layout::Place::Moved]
            .into_iter()
            .any(|place| self.state.doomed.contains_key(&layout::pack(place, pack)))
    }

    /// The number and hash that a next root names as its base.
    pub fn base(&self) -> Option<(u64, ObjectHash)> {
        self.root.as_ref().map(|(root, hash)| (root.number, *hash))
    }
}

/// Reads the newest root and what it names. A root counts only if, after reading it, its base is still there with the
/// hash it names: a writer that slept may have created a number that was deleted long ago.
pub async fn read(store: &dyn Store) -> Result<View, JobError> {
    let (mut newest, mut failed) = (None, 0);
    loop {
        match attempt(store).await? {
            Attempt::Read(view) => return Ok(*view),
            // As long as newer roots appear, others are merely faster.
            Attempt::Again { root, .. } if newest < root => (newest, failed) = (root, 0),
            Attempt::Again { gone, .. } if failed == ATTEMPTS => return Err(JobError::StateLost { evidence: gone }),
            Attempt::Again { .. } => failed += 1,
        }
    }
}

enum Attempt {
    Read(Box<View>),
    /// Something the newest root needs was gone.
    Again {
        root: Option<u64>,
        gone: String,
    },
}

async fn attempt(store: &dyn Store) -> Result<Attempt, JobError> {
    let page = store.list("roots/", None, 1).await?;
    let Some(newest) = page.objects.into_iter().next() else {
        return Ok(Attempt::Read(Box::new(View { root: None, state: State::default(), indexes: BTreeMap::new() })));
    };
    let name = newest.key.as_str();
    let number = layout::root_number(name).ok_or_else(|| JobError::damaged(name, "it is not a root's name"))?;
    let again = |gone| Ok(Attempt::Again { root: Some(number), gone });
    let Some(bytes) = objects::read(store, name).await? else {
        return again(format!("{name} is gone"));
    };
    let root = Root::decode(number, &bytes).map_err(|error| JobError::damaged(name, error))?;
    match root.base {
        _ if is_planted(Fault::BaseUnchecked) => {}
        Some((base, hash)) if !is_there(store, base, hash).await? => {
            return again(format!("the base of {name}, {}, is gone", layout::root(base)));
        }
        Some(_) => {}
        // Without a base only the newest counts: this may be what a writer made that slept since there was none.
        None if !is_newest(store, name).await? => return again(format!("{name} is not the newest any more")),
        None => {}
    }
    let hash = ObjectHash::of(&bytes);
    match read_state(store, &root).await? {
        Ok((state, indexes)) => Ok(Attempt::Read(Box::new(View { root: Some((root, hash)), state, indexes }))),
        Err(gone) => again(format!("{gone}, which {name} names, is gone")),
    }
}

/// The number of a newer root than the newest one there is, and what tells of it: that was lost, and nobody may write on
/// an older one.
pub async fn lost_newer(host: &Host<'_>, view: &View) -> Result<Option<(u64, String)>, JobError> {
    let Some((evidence, number)) = evidence(host.store, view).await? else { return Ok(None) };
    let newest = read(host.store).await?.number();
    let words = || format!("{evidence} tells of root {number}, and the newest there is {newest}");
    Ok((newest < number).then(|| (number, words())))
}

/// An object that tells of a newer root than the view's, and its number.
async fn evidence(store: &dyn Store, view: &View) -> Result<Option<(String, u64)>, JobError> {
    let after = objects::key(format!("{}-z", layout::deletion(view.number(), &[0xff; 16])));
    if let Some(newer) = store.list("deletions/", Some(&after), 1).await?.objects.into_iter().next() {
        let name = newer.key.as_str();
        let number = name.strip_prefix("deletions/").and_then(|rest| rest.get(..20)?.parse().ok());
        return Ok(Some((name.to_owned(), number.unwrap_or(view.number() + 1))));
    }
    for client in clients::below(store, "receipts/").await? {
        let number = view.state.heads.get(&client).map_or(1, |head| head.number + 1);
        let name = layout::receipt(client, number);
        if let Some(bytes) = objects::read(store, &name).await? {
            let root = Receipt::decode(client, number, &bytes).map(|receipt| receipt.root);
            return Ok(Some((name, root.unwrap_or(view.number() + 1))));
        }
    }
    Ok(None)
}

/// Whether a root is there with the hash that another one names.
pub async fn is_there(store: &dyn Store, number: u64, hash: ObjectHash) -> Result<bool, StoreError> {
    Ok(objects::read(store, &layout::root(number)).await?.is_some_and(|bytes| ObjectHash::of(&bytes) == hash))
}

/// Whether no newer root than that of this name is listed.
pub(crate) async fn is_newest(store: &dyn Store, name: &str) -> Result<bool, StoreError> {
    let page = store.list("roots/", None, 1).await?;
    Ok(page.objects.first().is_some_and(|newest| newest.key.as_str() == name))
}

type Folded = (State, BTreeMap<DomainId, Index<Bytes>>);

async fn read_state(store: &dyn Store, root: &Root) -> Result<Result<Folded, String>, JobError> {
    let mut fold = StateFold::default();
    for run in &root.runs {
        let name = layout::state(run.hash);
        let Some(bytes) = objects::read_hashed(store, &name, run.hash).await? else {
            return Ok(Err(name));
        };
        let reader = RunReader::parse(&bytes).map_err(|error| JobError::damaged(&name, error))?;
        fold.add(&reader).map_err(|error| JobError::damaged(&name, error))?;
    }
    let state = fold.finish();
    let mut segments: BTreeMap<DomainId, Vec<Segment<Bytes>>> = BTreeMap::new();
    for (domain, hash) in state.segments.keys() {
        let name = layout::segment(*hash);
        let bytes = match store.map(&objects::key(&name)).await {
            Ok(bytes) => bytes,
            Err(StoreError::NotFound { .. }) => return Ok(Err(name)),
            Err(error) => return Err(error.into()),
        };
        let segment = Segment::parse(bytes).map_err(|error| JobError::damaged(&name, error))?;
        segments.entry(*domain).or_default().push(segment);
    }
    let mut indexes = BTreeMap::new();
    let marked = state.overlays.keys().map(|(domain, _)| *domain);
    let domains: BTreeSet<DomainId> = segments.keys().copied().chain(marked).collect();
    for domain in domains {
        let segments = segments.remove(&domain).unwrap_or_default();
        let overlay = match read_overlay(store, &state, domain).await? {
            Ok(overlay) => overlay,
            Err(gone) => return Ok(Err(gone)),
        };
        let index = Index::new(domain, segments, overlay);
        indexes.insert(domain, index.map_err(|error| JobError::damaged("index/", error))?);
    }
    Ok(Ok((state, indexes)))
}

async fn read_overlay(
    store: &dyn Store,
    state: &State,
    domain: DomainId,
) -> Result<Result<Overlay<Bytes>, String>, JobError> {
    let mut runs = Vec::new();
    for (hash, _) in state.overlays_of(domain) {
        let name = layout::state(hash);
        let Some(bytes) = objects::read_hashed(store, &name, hash).await? else { return Ok(Err(name)) };
        let run = OverlayRun::parse(bytes).map_err(|error| JobError::damaged(&name, error))?;
        run.verify().map_err(|error| JobError::damaged(&name, error))?;
        runs.push(run);
    }
    Ok(Ok(Overlay::new(runs)))
}

/// The runs that a root names: those of keys and values, and with these those of the overlays. None if one of them is
/// gone or cannot be read, so that not all can be told.
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

/// A reader that finds something gone starts again from the newest root; if that stays the same for so long, it is lost.
const ATTEMPTS: u32 = 8;
