//! Newest: the newest root, and the parts of its state that answers need.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use copal_format::id::{DomainId, ObjectHash, PackId};
use copal_format::layout;
use copal_format::root::Root;
use copal_format::state::{RunKind, RunReader, RunRef, State, StateFold};
use copal_format::time::Time;
use copal_format::wire::DecodeError;
use copal_jobs::error::JobError;
use copal_jobs::objects;
use copal_jobs::view;
use copal_store::Store;

use super::age::is_young;
use super::holdings::{Holdings, PackRun};
use super::problem::Problem;

/// The newest root, its segments and overlays, and where quotas are set its packs.
#[derive(Debug)]
pub(super) struct Newest {
    /// The root's name.
    pub name: String,
    pub root: Root,
    pub state: State,
    holdings: Holdings,
}

/// The newest root that was read. Requests that come while it is read again wait for that reading.
pub(super) struct NewestRoot {
    /// Whether the packs are read too.
    with_packs: bool,
    kept: Mutex<Option<Kept>>,
    reading: tokio::sync::Mutex<()>,
    /// How many readings have begun.
    begun: AtomicU64,
}

#[derive(Clone)]
struct Kept {
    /// Seconds since 1970.
    since: u64,
    /// Which reading brought it.
    reading: u64,
    newest: Arc<Newest>,
}

impl NewestRoot {
    pub(super) fn new(with_packs: bool) -> Self {
        Self { with_packs, kept: Mutex::default(), reading: tokio::sync::Mutex::default(), begun: AtomicU64::new(0) }
    }

    /// The newest root and its state; none if nothing was written. With `is_fresh`, looks for a newer root now.
    pub(super) async fn get(
        &self,
        store: &dyn Store,
        now: u64,
        is_fresh: bool,
    ) -> Result<Option<Arc<Newest>>, Problem> {
        let come = self.begun.load(Ordering::SeqCst);
        let is_good = |kept: &Kept| kept.reading > come || (!is_fresh && is_young(kept.since, now, ROOTS_KEPT));
        if let Some(kept) = self.kept().filter(is_good) {
            return Ok(Some(kept.newest));
        }
        let _alone = self.reading.lock().await;
        let before = self.kept();
        if let Some(kept) = before.clone().filter(is_good) {
            return Ok(Some(kept.newest));
        }
        let reading = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let before = before.map(|kept| kept.newest);
        let Some(newest) = self.read(store, before, now).await? else { return Ok(None) };
        let kept = Kept { since: now, reading, newest: newest.clone() };
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        Ok(Some(newest))
    }

    fn kept(&self) -> Option<Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn read(
        &self,
        store: &dyn Store,
        before: Option<Arc<Newest>>,
        now: u64,
    ) -> Result<Option<Arc<Newest>>, Problem> {
        let known = before.as_ref().and_then(|newest| layout::root_number(&newest.name));
        for _ in 0..ATTEMPTS {
            let Some(number) = view::newest_reached(store, known).await? else { return Ok(None) };
            let name = layout::root(number);
            if let Some(known) = known.filter(|known| number < *known) {
                let evidence = format!("{name} is the newest root, and {} was there", layout::root(known));
                return Err(JobError::StateLost { evidence }.into());
            }
            if let Some(same) = before.as_ref().filter(|newest| newest.name == name) {
                return Ok(Some(same.clone()));
            }
            // If an object that the root names is gone, prune has deleted it, and so there is a newer root.
            if let Some(newest) = self.read_root(store, &name, before.as_deref(), now).await? {
                return Ok(Some(Arc::new(newest)));
            }
        }
        Err(Problem::new("busy", StatusCode::SERVICE_UNAVAILABLE, "the newest state cannot be read yet"))
    }

    async fn read_root(
        &self,
        store: &dyn Store,
        name: &str,
        before: Option<&Newest>,
        now: u64,
    ) -> Result<Option<Newest>, JobError> {
        let damaged = |why: &dyn core::fmt::Display| JobError::damaged(name, why);
        let number = layout::root_number(name).ok_or_else(|| damaged(&"it is not a root's name"))?;
        let Some(bytes) = objects::read(store, name).await? else { return Ok(None) };
        let root = Root::decode(number, &bytes).map_err(|error| damaged(&error))?;
        let mut fold = StateFold::default();
        for run in root.runs.iter().filter(|run| [RunKind::Segments, RunKind::OverlayRuns].contains(&run.kind)) {
            let add = |reader: &RunReader<'_>| fold.add(reader);
            if read_run(store, run, add).await?.is_none() {
                return Ok(None);
            }
        }
        let nothing = Holdings::default();
        let held = before.map_or(&nothing, |newest| &newest.holdings);
        let mut packs = Vec::new();
        for run in root.runs.iter().filter(|run| self.with_packs && run.kind == RunKind::Packs) {
            let read = match held.run(run.hash) {
                Some(read) => read,
                None => match read_run(store, run, PackRun::of).await? {
                    Some(read) => Arc::new(read),
                    None => return Ok(None),
                },
            };
            packs.push((run.hash, read));
        }
        let holdings = held.followed_by(packs, Time::from_unix(now as i64, 0));
        Ok(Some(Newest { name: name.to_owned(), root, state: fold.finish(), holdings }))
    }
}

/// Reads a run and takes something out of it; none if it is gone.
async fn read_run<T>(
    store: &dyn Store,
    run: &RunRef,
    take: impl FnOnce(&RunReader<'_>) -> Result<T, DecodeError>,
) -> Result<Option<T>, JobError> {
    let object = layout::state(run.hash);
    let Some(bytes) = objects::map_hashed(store, &object, run.hash).await? else { return Ok(None) };
    let taken = RunReader::parse(&bytes).and_then(|reader| take(&reader));
    taken.map(Some).map_err(|error| JobError::damaged(&object, error))
}

impl Newest {
    /// Bytes of the packs of a domain, and of those accepted today, without the packs in `asked`.
    pub(super) fn stored(&self, domain: DomainId, now: Time, asked: &BTreeMap<PackId, u64>) -> (u64, u64) {
        self.holdings.stored(domain, now, asked)
    }

    /// Whether the root names this pack.
    pub(super) fn has_pack(&self, id: &PackId) -> bool {
        self.holdings.has(id)
    }

    /// Whether a domain may read a run or segment: its own, or a run of records, which all domains share.
    pub(super) fn is_open_to(&self, domain: DomainId, key: &str) -> bool {
        let Some((folder, name)) = key.split_once('/') else { return false };
        let Ok(hash) = ObjectHash::from_hex(name) else { return false };
        match folder {
            "index" => self.state.segments.contains_key(&(domain, hash)),
            "state" => {
                self.root.runs.iter().any(|run| run.hash == hash) || self.state.overlays.contains_key(&(domain, hash))
            }
            _ => false,
        }
    }
}

/// Seconds for which a root is taken for the newest.
const ROOTS_KEPT: u64 = 2;
const ATTEMPTS: u32 = 8;
