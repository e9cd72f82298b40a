//! This machine's client, and its record in the repository.

use std::path::Path;

use bytes::Bytes;
use copal_format::client::{ClientPublic, ClientRecord};
use copal_format::id::{ClientId, DomainId};
use copal_format::keys::client::ClientKeys;
use copal_format::layout;
use copal_format::time::Time;
use copal_jobs::clients;
use copal_jobs::error::JobError;
use copal_jobs::objects;
use copal_store::{Store, StoreError};

use super::Repository;
use crate::credentials::{self, Credentials, KeptError};
use crate::entropy::{random, secret};
use crate::places::{PlaceError, alone};
use crate::wait::wait;

/// This machine's client.
pub struct LocalClient {
    /// Its id.
    pub id: ClientId,
    /// Its signing keys.
    pub keys: ClientKeys,
    /// Its domain.
    pub domain: DomainId,
}

/// Why this machine cannot act as a client.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ClientError {
    #[error(transparent)]
    Kept(#[from] KeptError),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("this machine's client is write-only: it saves, and does nothing else")]
    WriteOnly,
    #[error("this machine's client {0} was revoked by the owner")]
    Revoked(ClientId),
    /// The client's record in the repository is not sound, or is of other keys.
    #[error("the repository's record of this machine's client {0} is not sound")]
    Record(ClientId),
    #[error("the repository's descriptor is lost: nothing can be written to it")]
    NoDescriptor,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Job(#[from] JobError),
}

impl LocalClient {
    /// The id of this machine's client, full or write-only. None if it has no client yet, or if its keys are damaged:
    /// reading needs none.
    pub fn id_in(state_dir: &Path) -> Option<ClientId> {
        Some(credentials::of_client(state_dir)?.0)
    }

    /// This machine's client. Registers a new full client if there is none yet.
    pub fn load_or_register(repository: &Repository, name: &str) -> Result<Self, ClientError> {
        if let Some((id, keys)) = Self::kept(repository)? {
            return Self::load(repository, id, keys, name);
        }
        let _alone = alone(repository.state_dir())?;
        match Self::kept(repository)? {
            Some((id, keys)) => Self::load(repository, id, keys, name),
            None => Self::register(repository, name),
        }
    }

    fn kept(repository: &Repository) -> Result<Option<(ClientId, ClientKeys)>, ClientError> {
        // On a write-only machine, keys of a full client would let a thief forget snapshots.
        if Credentials::are_in(repository.state_dir()) {
            return Err(ClientError::WriteOnly);
        }
        Ok(credentials::of_full_client(repository.state_dir())?)
    }

    /// Registers a client of this run only, whose keys are kept nowhere.
    pub fn passing(repository: &Repository, name: &str) -> Result<Self, ClientError> {
        Self::write_record(repository, ClientId(random()), ClientKeys::new(secret(), secret()), name)
    }

    fn load(repository: &Repository, id: ClientId, keys: ClientKeys, name: &str) -> Result<Self, ClientError> {
        match wait(clients::read(&repository.job(), id))? {
            Some(record) if record.revoked.is_some() => Err(ClientError::Revoked(id)),
            Some(record) if record.keys.as_ref().is_some_and(|public| public.manifest == keys.manifest_public()) => {
                Ok(Self { id, keys, domain: record.domain })
            }
            Some(_) => Err(ClientError::Record(id)),
            // Registering was interrupted after the keys were written, or the record was lost.
            None => Self::write_record(repository, id, keys, name),
        }
    }

    /// Writes the keys before the record, because a record without keys is useless.
    fn register(repository: &Repository, name: &str) -> Result<Self, ClientError> {
        let id = ClientId(random());
        let keys = ClientKeys::new(secret(), secret());
        credentials::keep_full_client(repository.state_dir(), id, &keys)?;
        Self::write_record(repository, id, keys, name)
    }

    fn write_record(repository: &Repository, id: ClientId, keys: ClientKeys, name: &str) -> Result<Self, ClientError> {
        let descriptor = repository.descriptor.as_ref().ok_or(ClientError::NoDescriptor)?;
        let public = ClientPublic { manifest: keys.manifest_public(), request: keys.request_public() };
        let now = Time(wait(repository.store().now())?.0);
        let record = ClientRecord::full(&repository.owner, id, descriptor.shared_domain, name, public, now);
        let bytes = record.sign(repository.id(), &repository.owner.signing_key());
        wait(repository.store().create(&objects::key(layout::client(id, 1)), Bytes::from(bytes)))?;
        match wait(clients::read(&repository.job(), id))? {
            Some(stored) if stored.keys == record.keys => Ok(Self { id, keys, domain: stored.domain }),
            _ => Err(ClientError::Record(id)),
        }
    }
}
