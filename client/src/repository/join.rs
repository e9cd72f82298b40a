//! Join: an enrollment becomes a client with keys of its own, once.

use std::path::Path;

use bytes::Bytes;
use copal_format::client::{ClientPublic, ClientRecord, Role};
use copal_format::enrollment::Enrollment;
use copal_format::id::ClientId;
use copal_format::keys::client::ClientKeys;
use copal_format::layout;
use copal_format::repository::DescriptorError;
use copal_format::room::Memory;
use copal_format::time::Time;
use copal_jobs::context::JobContext;
use copal_jobs::error::JobError;
use copal_jobs::{clients, objects};
use copal_store::{Created, Store, StoreError};

use super::list_descriptors;
use crate::backend::Backend;
use crate::credentials::{self, Credentials, KeptError};
use crate::entropy::{SystemEntropy, secret};
use crate::places::{PlaceError, alone};
use crate::remote::Refusal;
use crate::wait::wait;

/// Why a machine cannot join.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum JoinError {
    /// `source` says what is wrong with its descriptor; `None` if there is no descriptor.
    #[error("{location} is not the repository that the enrollment is for")]
    OtherRepository {
        location: String,
        #[source]
        source: Option<DescriptorError>,
    },
    #[error("the repository has no client {0} that waits to be joined")]
    Unknown(ClientId),
    #[error("the enrollment of client {0} was used already")]
    Used(ClientId),
    #[error("the enrollment of client {0} was revoked")]
    Revoked(ClientId),
    /// The enrollment has ended, by the store's clock.
    #[error("the enrollment of client {0} has expired")]
    Expired(ClientId),
    #[error("the repository's record of client {0} does not agree with the enrollment")]
    Record(ClientId),
    #[error("this machine is a client of that repository already")]
    AlreadyClient(ClientId, Role),
    #[error(transparent)]
    Client(#[from] KeptError),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record is damaged.
    #[error(transparent)]
    Job(#[from] JobError),
}

/// Joins the repository of a backend as the client of the enrollment. `before` is the same backend, which signs as the
/// client that this machine was until now. Writes the keys before the record, so that this machine can finish an
/// interrupted run with the same line, and no other machine can use the line then.
pub fn join(
    backend: &Backend,
    before: &Backend,
    enrollment: &Enrollment,
    address: &str,
    state_dir: &Path,
) -> Result<ClientRecord, JoinError> {
    let store = backend.store();
    let id = enrollment.client;
    let other = |source| JoinError::OtherRepository { location: backend.location().to_string(), source };
    let (_, newest) = list_descriptors(&store)?.pop().ok_or_else(|| other(None))?;
    let descriptor = newest.map_err(|error| other(Some(error)))?;
    descriptor.kem_of(enrollment.repository, enrollment.owner).map_err(|error| other(Some(error)))?;
    let (repository, owner_key) = (enrollment.repository, descriptor.owner_key);
    let job = JobContext { store: store.as_ref(), entropy: &SystemEntropy, scratch: &Memory, repository, owner_key };
    let _alone = alone(state_dir)?;
    let mut stale = None;
    let kept = match kept(enrollment, state_dir) {
        Err(JoinError::AlreadyClient(id, role)) if is_over(&job, before, (id, role))? => {
            stale = Some(role);
            None
        }
        kept => kept?,
    };
    let record = wait(clients::read(&job, id))?.ok_or(JoinError::Unknown(id))?;
    if let Some(done) = finished(&record, kept.as_ref())? {
        return Ok(done);
    }
    if !enrollment.fits(&record) {
        return Err(JoinError::Record(id));
    }
    let is_new = kept.is_none();
    let now = Time(wait(store.now())?.0);
    if enrollment.public().is_over(now) {
        // Nobody has joined in time, so no record names the keys of an earlier run.
        if !is_new {
            discard(enrollment.role(), state_dir)?;
        }
        return Err(JoinError::Expired(id));
    }
    let keys = match kept {
        Some(keys) => keys,
        None => {
            // Until here the old keys stay: without them the machine would not know that it was revoked.
            stale.map(|role| discard(role, state_dir)).transpose()?;
            keep(enrollment, address, state_dir)?
        }
    };
    let public = ClientPublic { manifest: keys.manifest_public(), request: keys.request_public() };
    let joined = record.joined(public, now);
    let bytes = Bytes::from(joined.sign(repository, &enrollment.key()));
    if wait(store.create(&objects::key(layout::client(id, joined.version)), bytes))? == Created::New {
        return Ok(joined);
    }
    let stored = wait(clients::read(&job, id))?.ok_or(JoinError::Unknown(id))?;
    match finished(&stored, Some(&keys)) {
        Ok(Some(done)) => Ok(done),
        Ok(None) => Err(JoinError::Record(id)),
        Err(error) => {
            // New keys without a record are useless. Keys from an earlier run stay: a record may name them.
            if is_new {
                discard(enrollment.role(), state_dir)?;
            }
            Err(error)
        }
    }
}

/// The record if this machine has joined, none if nobody has. Fails if the enrollment was used or revoked.
fn finished(record: &ClientRecord, kept: Option<&ClientKeys>) -> Result<Option<ClientRecord>, JoinError> {
    let ours = kept.map(ClientKeys::manifest_public);
    match record.keys {
        _ if record.revoked.is_some() => Err(JoinError::Revoked(record.client)),
        Some(public) if Some(public.manifest) == ours => Ok(Some(record.clone())),
        Some(_) => Err(JoinError::Used(record.client)),
        None => Ok(None),
    }
}

/// Whether the keys of a client that this machine was before open nothing any more: it is revoked, or the repository does
/// not have it (a full client writes its record again). A gateway lets a machine read its own record only.
fn is_over(job: &JobContext<'_>, before: &Backend, (id, role): (ClientId, Role)) -> Result<bool, JoinError> {
    let store = before.store();
    match wait(clients::read(&JobContext { store: store.as_ref(), ..*job }, id)) {
        Ok(Some(record)) => Ok(record.revoked.is_some()),
        Ok(None) => Ok(role == Role::WriteOnly),
        Err(JobError::Store(StoreError::Denied { source, .. })) if source.is::<Refusal>() => {
            match source.downcast_ref::<Refusal>().map(|refusal| refusal.problem.as_str()) {
                Some("client-revoked") => Ok(true),
                // A client that the gateway does not know has no key to sign with.
                Some("signature-missing") => Ok(role == Role::WriteOnly),
                _ => Ok(false),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// The keys that an interrupted run has written for this enrollment.
fn kept(enrollment: &Enrollment, state_dir: &Path) -> Result<Option<ClientKeys>, JoinError> {
    let write_only = Credentials::find(state_dir)?.map(|kept| (kept.client, kept.keys, Role::WriteOnly));
    let full = credentials::of_full_client(state_dir)?.map(|(id, keys)| (id, keys, Role::Full));
    match write_only.or(full) {
        None => Ok(None),
        Some((id, keys, role)) if (id, role) == (enrollment.client, enrollment.role()) => Ok(Some(keys)),
        Some((id, _, role)) => Err(JoinError::AlreadyClient(id, role)),
    }
}

fn keep(enrollment: &Enrollment, address: &str, state_dir: &Path) -> Result<ClientKeys, JoinError> {
    let keys = ClientKeys::new(secret(), secret());
    match &enrollment.domain_key {
        Some(domain_key) => Credentials {
            repository: enrollment.repository,
            client: enrollment.client,
            domain: enrollment.domain,
            owner: enrollment.owner,
            domain_key: domain_key.clone(),
            keys: keys.clone(),
            device: secret(),
            address: address.to_owned(),
        }
        .keep(state_dir)?,
        None => credentials::keep_full_client(state_dir, enrollment.client, &keys)?,
    }
    Ok(keys)
}

fn discard(role: Role, state_dir: &Path) -> Result<(), PlaceError> {
    match role {
        Role::WriteOnly => Credentials::drop_from(state_dir),
        Role::Full => credentials::drop_full_client(state_dir),
    }
}
