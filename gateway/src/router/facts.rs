//! Facts: what a gateway knows of its repository, read from the store and cached for a short time.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use bytes::Bytes;
use copal_format::client::ClientRecord;
use copal_format::id::{ClientId, DomainId, ObjectHash, OwnerFingerprint, PackId};
use copal_format::keys::owner::{KemPublic, fingerprint};
use copal_format::layout;
use copal_format::limits::CHAIN_LEAP;
use copal_format::number::reached;
use copal_format::repository::{Descriptor, DescriptorError};
use copal_format::room::Memory;
use copal_format::root::Root;
use copal_format::state::{RunReader, State, StateFold};
use copal_format::time::Time;
use copal_store::Store;

use super::holdings::Holdings;
use super::problem::Problem;
use copal_jobs::clients;
use copal_jobs::context::{Entropy, JobContext};
use copal_jobs::error::JobError;
use copal_jobs::objects;
use copal_jobs::view;

/// The descriptor and the owner.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The newest descriptor.
    pub descriptor: Descriptor,
    /// The bytes of the descriptor's object.
    pub bytes: Bytes,
    /// The fingerprint of the owner's keys.
    pub owner: OwnerFingerprint,
}

/// The newest root and its state, without the index.
#[derive(Debug)]
pub(super) struct Newest {
    /// The root's name.
    pub name: String,
    pub root: Root,
    pub state: State,
    /// The bytes that each domain holds.
    holdings: Holdings,
}

/// Caches what was read from the store.
#[derive(Default)]
pub(super) struct Known {
    facts: Mutex<Option<(u64, Arc<Facts>)>>,
    clients: Mutex<HashMap<ClientId, (u64, Arc<ClientRecord>)>>,
    newest: Mutex<Option<(u64, Arc<Newest>)>>,
}

/// Reads the newest descriptor; none without one. Fails if an owner is expected and another one has signed it.
pub async fn read_facts(store: &dyn Store, owner: Option<OwnerFingerprint>) -> Result<Option<Facts>, JobError> {
    let listed = objects::list(store, "copal/").await?;
    if listed.is_empty() {
        return Ok(None);
    }
    // Versions grow by one, so a version far above all others is false.
    let versions = listed.iter().filter_map(|listed| layout::trailing_number(listed.key.as_str()));
    let version = reached(0, CHAIN_LEAP, versions);
    let name = &layout::descriptor(version);
    let damaged = |why: &dyn core::fmt::Display| JobError::damaged(name, why);
    let bytes = objects::read(store, name).await?.ok_or_else(|| damaged(&"it is gone"))?;
    let descriptor = Descriptor::decode(version, &bytes).map_err(|error| damaged(&error))?;
    let kem = KemPublic::from_slice(&descriptor.kem_public).ok_or_else(|| damaged(&"it holds no public key"))?;
    let found = fingerprint(descriptor.repository, &descriptor.owner_key, &kem);
    if let Some(wanted) = owner.filter(|wanted| *wanted != found) {
        return Err(damaged(&format_args!("it is of the owner {found}, not of {wanted}")));
    }
    Ok(Some(Facts { descriptor, bytes, owner: found }))
}

impl Known {
    /// The facts; none while there is no repository.
    pub(super) async fn facts(
        &self,
        store: &dyn Store,
        pinned: Option<OwnerFingerprint>,
        now: u64,
    ) -> Result<Option<Arc<Facts>>, Problem> {
        let kept = self.facts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((since, facts)) = &kept
            && now < since + FACTS_KEPT
        {
            return Ok(Some(facts.clone()));
        }
        // The owner never changes, and a superseded descriptor must not come back.
        let expected = pinned.or(kept.as_ref().map(|(_, facts)| facts.owner));
        let Some(facts) = read_facts(store, expected).await? else { return Ok(None) };
        let (version, seen) = (facts.descriptor.version, kept.map_or(0, |(_, facts)| facts.descriptor.version));
        if version < seen {
            return Err(JobError::damaged(layout::descriptor(version), DescriptorError::Older { version, seen }).into());
        }
        let facts = Arc::new(facts);
        *self.facts.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, facts.clone()));
        Ok(Some(facts))
    }

    /// The record of a client that has come before, read again every few seconds; none for other clients.
    pub(super) async fn acquaintance(
        &self,
        job: &JobContext<'_>,
        id: ClientId,
        now: u64,
    ) -> Result<Option<Arc<ClientRecord>>, Problem> {
        match self.kept_client(id) {
            None => Ok(None),
            Some((since, record)) if now < since + CLIENTS_KEPT => Ok(Some(record)),
            Some(_) => self.read_client(job, id, now).await,
        }
    }

    /// A client's record, read from the store at most once a second. The record of a client that has not joined is read
    /// each time, because it may have joined just now.
    pub(super) async fn client(
        &self,
        job: &JobContext<'_>,
        id: ClientId,
        now: u64,
    ) -> Result<Option<Arc<ClientRecord>>, Problem> {
        match self.kept_client(id) {
            Some((since, record)) if now < since + CLIENTS_FRESH && record.keys.is_some() => Ok(Some(record)),
            _ => self.read_client(job, id, now).await,
        }
    }

    fn kept_client(&self, id: ClientId) -> Option<(u64, Arc<ClientRecord>)> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    async fn read_client(
        &self,
        job: &JobContext<'_>,
        id: ClientId,
        now: u64,
    ) -> Result<Option<Arc<ClientRecord>>, Problem> {
        let record = match clients::admitted(job, id).await {
            Ok(record) => record.map(Arc::new),
            // The unreadable record might be the client's revocation.
            Err(JobError::Damaged { .. }) => {
                self.clients.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                let detail = format!("the record of client {id} cannot be believed");
                return Err(Problem::new("client-unsound", StatusCode::FORBIDDEN, detail));
            }
            Err(error) => return Err(error.into()),
        };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= CLIENTS_MOST {
            clients.clear();
        }
        // Nothing is cached for unregistered ids, because anybody can invent them.
        match &record {
            Some(record) => clients.insert(id, (now, record.clone())),
            None => clients.remove(&id),
        };
        Ok(record)
    }

    /// Makes clients' records be read again at their next requests.
    pub(super) fn doubt_clients(&self) {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.values_mut().for_each(|(since, _)| *since = 0);
    }

    /// The newest root and its state; none if nothing was written. With `is_fresh`, looks for a newer root now.
    pub(super) async fn newest(
        &self,
        store: &dyn Store,
        now: u64,
        is_fresh: bool,
    ) -> Result<Option<Arc<Newest>>, Problem> {
        let kept = self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((since, newest)) = &kept
            && !is_fresh
            && now < since + ROOTS_KEPT
        {
            return Ok(Some(newest.clone()));
        }
        let known = kept.as_ref().and_then(|(_, newest)| layout::root_number(&newest.name));
        for _ in 0..ATTEMPTS {
            let Some(number) = view::newest_reached(store, known).await? else { return Ok(None) };
            let name = layout::root(number);
            if let Some(known) = known.filter(|known| number < *known) {
                let evidence = format!("{name} is the newest root, and {} was there", layout::root(known));
                return Err(JobError::StateLost { evidence }.into());
            }
            let newest = match &kept {
                Some((_, newest)) if newest.name == name => newest.clone(),
                _ => match read_newest(store, &name).await? {
                    Some(newest) => Arc::new(newest),
                    // An object that the root names was deleted, so there is a newer root.
                    None => continue,
                },
            };
            *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, newest.clone()));
            return Ok(Some(newest));
        }
        Err(Problem::new("busy", StatusCode::SERVICE_UNAVAILABLE, "the newest state cannot be read yet"))
    }
}

async fn read_newest(store: &dyn Store, name: &str) -> Result<Option<Newest>, JobError> {
    let damaged = |object: &str, why: &dyn core::fmt::Display| JobError::damaged(object, why);
    let number = layout::root_number(name).ok_or_else(|| damaged(name, &"it is not a root's name"))?;
    let Some(bytes) = objects::read(store, name).await? else { return Ok(None) };
    let root = Root::decode(number, &bytes).map_err(|error| damaged(name, &error))?;
    let mut fold = StateFold::default();
    for run in &root.runs {
        let object = layout::state(run.hash);
        let Some(bytes) = objects::read_hashed(store, &object, run.hash).await? else { return Ok(None) };
        let reader = RunReader::parse(&bytes).map_err(|error| damaged(&object, &error))?;
        fold.add(&reader).map_err(|error| damaged(&object, &error))?;
    }
    let state = fold.finish();
    let holdings = Holdings::of(&state.packs);
    Ok(Some(Newest { name: name.to_owned(), root, state, holdings }))
}

impl Newest {
    /// Bytes of the packs of a domain, and of those accepted after `since`. Excludes the bytes of the packs in `asked`.
    pub(super) fn stored(&self, domain: DomainId, since: Time, asked: &BTreeMap<PackId, u64>) -> (u64, u64) {
        let (mut all, mut new) = self.holdings.stored(domain, since);
        for (id, length) in asked {
            if let Some(pack) = self.state.packs.get(id).filter(|pack| pack.domain == domain) {
                let again = pack.length.min(*length);
                all = all.saturating_sub(again);
                new = if pack.accepted > since { new.saturating_sub(again) } else { new };
            }
        }
        (all, new)
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

/// Seconds for which a cached value is used: facts, and then clients.
const FACTS_KEPT: u64 = 60;
const CLIENTS_KEPT: u64 = 10;
/// Seconds for which a client's record is not read again, even for a request whose signature fails with it.
const CLIENTS_FRESH: u64 = 1;
const ROOTS_KEPT: u64 = 2;
/// Client records cached at most.
const CLIENTS_MOST: usize = 10_000;
const ATTEMPTS: u32 = 8;

/// The context for code that is shared with the jobs.
pub(super) fn job<'a>(store: &'a dyn Store, entropy: &'a dyn Entropy, facts: &Facts) -> JobContext<'a> {
    let Descriptor { repository, owner_key, .. } = facts.descriptor;
    JobContext { store, entropy, scratch: &Memory, repository, owner_key }
}
