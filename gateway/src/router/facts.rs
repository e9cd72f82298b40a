//! Facts: what a gateway knows of its repository, read from the store and cached for a short time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use bytes::Bytes;
use copal_format::client::ClientRecord;
use copal_format::id::{ClientId, OwnerFingerprint};
use copal_format::layout;
use copal_format::limits::CHAIN_LEAP;
use copal_format::number::reached;
use copal_format::repository::{Descriptor, DescriptorError};
use copal_format::room::Memory;
use copal_store::Store;

use super::age::is_young;
use super::newest::NewestRoot;
use super::problem::Problem;
use copal_jobs::clients;
use copal_jobs::context::{Entropy, JobContext};
use copal_jobs::error::JobError;
use copal_jobs::objects;

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

/// Caches what was read from the store.
pub(super) struct Known {
    facts: Mutex<Option<(u64, Arc<Facts>)>>,
    clients: Mutex<HashMap<ClientId, (u64, Arc<ClientRecord>)>>,
    pub(super) newest: NewestRoot,
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
    let (_, found) = descriptor.owner().ok_or_else(|| damaged(&"it holds no public key"))?;
    if let Some(wanted) = owner.filter(|wanted| *wanted != found) {
        return Err(damaged(&format_args!("it is of the owner {found}, not of {wanted}")));
    }
    Ok(Some(Facts { descriptor, bytes, owner: found }))
}

impl Known {
    /// Knows nothing yet. `with_packs`: the newest root is read with its packs, as quotas need them.
    pub(super) fn new(with_packs: bool) -> Self {
        Self { facts: Mutex::default(), clients: Mutex::default(), newest: NewestRoot::new(with_packs) }
    }

    /// The facts; none while there is no repository.
    pub(super) async fn facts(
        &self,
        store: &dyn Store,
        pinned: Option<OwnerFingerprint>,
        now: u64,
    ) -> Result<Option<Arc<Facts>>, Problem> {
        let kept = self.facts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((since, facts)) = &kept
            && is_young(*since, now, FACTS_KEPT)
        {
            return Ok(Some(facts.clone()));
        }
        // The owner never changes, and a superseded descriptor must not come back.
        let expected = pinned.or(kept.as_ref().map(|(_, facts)| facts.owner));
        let Some(facts) = read_facts(store, expected).await? else {
            // No repository goes away. If its place counted as free, anybody might read its key slots.
            return match kept {
                Some(_) => Err(JobError::damaged("copal/", "the descriptor is gone").into()),
                None => Ok(None),
            };
        };
        let (version, seen) = (facts.descriptor.version, kept.map_or(0, |(_, facts)| facts.descriptor.version));
        if version < seen {
            return Err(JobError::damaged(layout::descriptor(version), DescriptorError::Older { version, seen }).into());
        }
        let facts = Arc::new(facts);
        *self.facts.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, facts.clone()));
        Ok(Some(facts))
    }

    /// The record of a client that has made requests before, read again every few seconds; none for other clients.
    pub(super) async fn acquaintance(
        &self,
        job: &JobContext<'_>,
        id: ClientId,
        now: u64,
    ) -> Result<Option<Arc<ClientRecord>>, Problem> {
        match self.kept_client(id) {
            None => Ok(None),
            Some((since, record)) if is_young(since, now, CLIENTS_KEPT) => Ok(Some(record)),
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
            Some((since, record)) if is_young(since, now, CLIENTS_FRESH) && record.keys.is_some() => Ok(Some(record)),
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
}

/// Seconds for which a cached value is used: facts, and then clients.
const FACTS_KEPT: u64 = 60;
const CLIENTS_KEPT: u64 = 10;
/// Seconds for which a client's record is not read again, even for a request whose signature fails with it.
const CLIENTS_FRESH: u64 = 1;
/// Client records cached at most.
const CLIENTS_MOST: usize = 10_000;

/// The context for code that is shared with the jobs.
pub(super) fn job<'a>(store: &'a dyn Store, entropy: &'a dyn Entropy, facts: &Facts) -> JobContext<'a> {
    let Descriptor { repository, owner_key, .. } = facts.descriptor;
    JobContext { store, entropy, scratch: &Memory, repository, owner_key }
}
