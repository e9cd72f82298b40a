//! Commit: writing the next root. Roots are numbered and create-only; the highest number wins.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use copal_format::id::{ChunkId, DomainId, ObjectHash, PackTag};
use copal_format::index::{FoldedRun, Mark, NewMarks};
use copal_format::layout::{self, Prunable};
use copal_format::limits::NUMBER;
use copal_format::policy::Lingering;
use copal_format::root::Root;
use copal_format::state::{
    self, DoomedRecord, DoomedState, Older, OverlayRecord, RunKind, RunReader, RunRef, State, StateDelta,
};
use copal_format::time::Time;
use copal_store::{Created, Store};

use crate::baseline;
use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::{Mistake, is_planted};
use crate::objects::{self, Call};
use crate::view::{self, View};

/// The changes that a writer wants to make to the state.
#[derive(Clone, Default)]
pub struct Proposal {
    /// Changes of segments, snapshots, heads, packs and doomed names.
    pub delta: StateDelta,
    /// New segments; the delta names them.
    pub segments: Vec<(ObjectHash, Vec<u8>)>,
    /// Changes of the overlay by domain. A mark with empty bits removes the mark.
    pub overlay: BTreeMap<DomainId, BTreeMap<(ChunkId, PackTag), Mark>>,
    /// The last change that was folded in, if there is a new one.
    pub change_head: Option<(u64, ObjectHash)>,
    /// The change that holds the policy in force, if there is a new one.
    pub policy: Option<(u64, ObjectHash)>,
    /// The guard (floor and hold) of replaced policies that still lasts, if it changed.
    pub lingering: Option<Lingering>,
    /// The last expiry that was folded in, if there is a new one.
    pub expiry_head: Option<(u64, ObjectHash)>,
    /// Ids that have no copy left in the index.
    pub removed_ids: BTreeSet<(DomainId, ChunkId)>,
    /// The number of a rebuilt root, which has no base. None for all other roots.
    pub rebuilt_as: Option<u64>,
    /// Whether the writer has verified the state, so that this root becomes the baseline for later verification.
    pub is_baseline: bool,
}

impl Proposal {
    /// Whether this would change no record and no mark.
    pub fn is_empty(&self) -> bool {
        self.delta.is_empty() && self.overlay.is_empty()
    }

    /// Lists an object as doomed from the root after `view` on.
    pub(crate) fn doom(&mut self, view: &View, name: Prunable, now: Time) {
        let doomed = DoomedRecord { state: DoomedState::Doomed, time: now, root: view.next_number() };
        self.delta.doomed.insert(name, Some(doomed));
    }
}

/// A root that is about to be created; all that it names is stored.
pub(crate) struct Prepared {
    root: Root,
    bytes: Vec<u8>,
    /// The base's passed-over roots.
    unreached: BTreeSet<u64>,
}

/// Writes the runs and the next root. Returns the root if this writer won. None if another writer won: then everything
/// has to be decided again on the new root.
pub fn commit<'a>(job: &'a JobContext<'_>, view: &'a View, proposal: Proposal) -> Call<'a, Option<(Root, ObjectHash)>> {
    Box::pin(async move {
        let Some(prepared) = prepare(job, view, proposal).await? else { return Ok(None) };
        create(job.store, prepared).await
    })
}

/// Writes all that the next root names. None if another writer won.
pub(crate) async fn prepare(
    job: &JobContext<'_>,
    view: &View,
    proposal: Proposal,
) -> Result<Option<Prepared>, JobError> {
    let nothing = State::default();
    let (old, state) = match (&proposal.rebuilt_as, &view.root) {
        (None, Some((root, _))) => (root.runs.as_slice(), &view.state),
        _ => (&[][..], &nothing),
    };
    let number = proposal.rebuilt_as.unwrap_or(view.next_number());
    if number > NUMBER {
        let evidence = format!("no number is left behind that of root {}", view.number());
        return Err(JobError::StateLost { evidence });
    }
    let (overlay, mut delta) = (proposal.overlay, proposal.delta);
    let segments = proposal
        .segments
        .into_iter()
        .map(|(hash, bytes)| async move { put(job.store, layout::segment(hash), bytes).await });
    let runs = async {
        if !write_overlays(job, state, number, overlay, &mut delta).await? {
            return Ok(None);
        }
        let delta = &delta;
        let kinds = RunKind::RECORDS.into_iter().map(|kind| async move { fold_records(job, old, kind, delta).await });
        Ok(objects::join(kinds).await?.into_iter().collect::<Option<Vec<Folded>>>())
    };
    let is_newest_known = async { if proposal.rebuilt_as.is_some() { Ok(()) } else { refuse_older(job, view).await } };
    let now = async { Ok(job.now().await?) };
    // Nobody deletes notes of baselines, so do not write one for a root that has already lost the race.
    let has_lost = async {
        let may_lose = proposal.is_baseline && proposal.rebuilt_as.is_none();
        Ok(may_lose && view::is_superseded(job.store, view).await?)
    };
    // None of these objects refers to another, and none counts before a root names it.
    let (_, runs, (), time, has_lost) =
        futures::try_join!(objects::join(segments), runs, is_newest_known, now, has_lost)?;
    let Some(runs) = runs.filter(|_| !has_lost) else { return Ok(None) };
    let before = view.root.as_ref().map(|(root, _)| root);
    let lingering = proposal.lingering.or(before.and_then(|root| root.lingering));
    let root = Root {
        number,
        random: job.random(),
        base: if proposal.rebuilt_as.is_some() { None } else { view.base() },
        time,
        rebuilt: proposal.rebuilt_as.is_some(),
        runs: runs.iter().flat_map(|folded| folded.runs.iter().cloned()).collect(),
        change_head: proposal.change_head.or(before.and_then(|root| root.change_head)),
        policy: proposal.policy.or(before.and_then(|root| root.policy)),
        expiry_head: proposal.expiry_head.or(before.and_then(|root| root.expiry_head)),
        lingering: lingering.filter(|lingering| lingering.lasts(time)),
    };
    let bytes = root.encode().map_err(|_| JobError::RootSize { number })?;
    let hash = ObjectHash::of(&bytes);
    let new = runs.into_iter().filter_map(|folded| folded.new);
    let new = new.map(|(hash, bytes)| async move { put(job.store, layout::state(hash), bytes).await });
    // Noted before the root is created: no other record accounts for what this root removes.
    let noted = async {
        match proposal.is_baseline {
            true => baseline::note(job, view.number(), (number, hash)).await,
            false => Ok(()),
        }
    };
    futures::try_join!(objects::join(new), noted)?;
    Ok(Some(Prepared { root, bytes, unreached: view.unreached.clone() }))
}

/// Fails if a record is evidence of a newer root that is gone: nobody may write on an older one.
async fn refuse_older(job: &JobContext<'_>, view: &View) -> Result<(), JobError> {
    let lost = match view.root {
        Some(_) => view::lost_by_deletions(job.store, view).await?,
        None => view::lost_newer(job, view).await?,
    };
    lost.map_or(Ok(()), |(_, evidence)| Err(JobError::StateLost { evidence }))
}

/// Creates a root; none if it did not win. It wins if the object is new or our own, and afterwards its base still
/// exists. A root without a base wins if no newer root exists.
pub(crate) async fn create(
    store: &dyn Store,
    Prepared { root, bytes, unreached }: Prepared,
) -> Result<Option<(Root, ObjectHash)>, JobError> {
    let (number, hash) = (root.number, ObjectHash::of(&bytes));
    let name = layout::root(number);
    if !objects::create_own(store, &name, Bytes::from(bytes)).await? {
        return Ok(None);
    }
    let has_won = match root.base {
        _ if is_planted(Mistake::WinUnchecked) => true,
        Some((base, base_hash)) => view::is_there(store, base, base_hash).await?,
        // Number 1 may be free because it was deleted long ago, so a root without a base must also be the newest.
        None => view::Listed::read(store).await?.newest(&unreached) == Some(number),
    };
    Ok(has_won.then_some((root, hash)))
}

/// Creates an object named by its hash. If it exists with another length, fails.
pub async fn put(store: &dyn Store, name: String, bytes: impl Into<Bytes>) -> Result<(), JobError> {
    let bytes = bytes.into();
    let length = bytes.len() as u64;
    let object = objects::key(&name);
    if store.create(&object, bytes).await? == Created::Exists {
        let stat = store.stat(&object).await?;
        if stat.is_some_and(|stat| stat.length != length) {
            return Err(JobError::damaged(name, "an object of another length has its name"));
        }
    }
    Ok(())
}

/// The runs of one kind that a root names.
struct Folded {
    runs: Vec<RunRef>,
    /// The new one among them, which is not stored yet.
    new: Option<(ObjectHash, Vec<u8>)>,
}

/// Makes the run of one kind: the changes, merged with enough of the newest runs to keep their number small. None if
/// one of these is gone: the root is superseded, or the state is lost. The next read of the state tells which.
async fn fold_records(
    job: &JobContext<'_>,
    old: &[RunRef],
    kind: RunKind,
    delta: &StateDelta,
) -> Result<Option<Folded>, JobError> {
    let old: Vec<&RunRef> = old.iter().filter(|run| run.kind == kind).collect();
    let mut records = delta.records(kind);
    if records.is_empty() {
        return Ok(Some(Folded { runs: old.into_iter().cloned().collect(), new: None }));
    }
    let folded = state::runs_to_fold(records.len() as u64, &old.iter().map(|run| run.records).collect::<Vec<_>>());
    for run in &old[..folded] {
        let name = layout::state(run.hash);
        let Some(bytes) = objects::read_hashed(job.store, &name, run.hash).await? else { return Ok(None) };
        let reader = RunReader::parse(&bytes).map_err(|error| JobError::damaged(&name, error))?;
        for (key, value) in reader.records() {
            records.entry(key.to_vec()).or_insert_with(|| value.map(<[u8]>::to_vec));
        }
    }
    if folded == old.len() {
        records.retain(|_, value| value.is_some());
    }
    let (mut runs, mut new) = (Vec::new(), None);
    if !records.is_empty() {
        let run = state::write_run(kind, job.random(), &records);
        new = Some((run.reference.hash, run.bytes));
        runs.push(run.reference);
    }
    runs.extend(old[folded..].iter().map(|run| (*run).clone()));
    Ok(Some(Folded { runs, new }))
}

/// Writes the overlay runs that change, and notes their names in the delta. False if a run to be merged is gone.
async fn write_overlays(
    job: &JobContext<'_>,
    old: &State,
    root: u64,
    changes: BTreeMap<DomainId, BTreeMap<(ChunkId, PackTag), Mark>>,
    delta: &mut StateDelta,
) -> Result<bool, JobError> {
    for (domain, records) in changes {
        let mut marks = NewMarks::new(job.scratch);
        records.into_iter().for_each(|(copy, mark)| marks.push(copy, mark));
        if !write_marks(job, old, (root, domain), &marks, delta).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes an overlay run of a domain for the root of this number: the new marks, merged with enough of the newest runs
/// to keep their number small. Notes its name in the delta. False if a run to be merged is gone.
pub(crate) async fn write_marks(
    job: &JobContext<'_>,
    old: &State,
    (root, domain): (u64, DomainId),
    marks: &NewMarks<'_>,
    delta: &mut StateDelta,
) -> Result<bool, JobError> {
    if marks.is_empty() {
        return Ok(true);
    }
    let old = old.overlays_of(domain);
    let counts: Vec<u64> = old.iter().map(|(_, run)| run.records).collect();
    let folded = state::runs_to_fold(marks.len() as u64, &counts);
    let mut runs = Vec::new();
    for (hash, _) in &old[..folded] {
        let Some(run) = view::overlay_run(job.store, *hash).await? else { return Ok(false) };
        if run.domain() != domain {
            return Err(JobError::damaged(layout::state(*hash), "it is of another domain"));
        }
        runs.push(run);
        delta.overlays.insert((domain, *hash), None);
    }
    let older = if folded == old.len() { Older::Nothing } else { Older::Runs };
    if let Some(FoldedRun { reference, room }) = marks.fold(domain, job.random(), &runs, older) {
        let record = OverlayRecord { root, length: reference.length, records: reference.records };
        delta.overlays.insert((domain, reference.hash), Some(record));
        let bytes = Bytes::from_owner(room).slice(..reference.length as usize);
        put(job.store, layout::state(reference.hash), bytes).await?;
    }
    Ok(true)
}
