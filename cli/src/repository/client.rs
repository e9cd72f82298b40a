//! This machine's client: its signing keys in the state directory, and its record in the repository.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use copal_engine::client::{ClientPublic, ClientRecord, Role, SignedBy};
use copal_engine::id::{ClientId, DomainId, ObjectHash};
use copal_engine::keys::client::ClientKeys;
use copal_engine::keys::owner::TextPurpose;
use copal_engine::layout;
use copal_engine::time::Time;
use copal_service::clients;
use copal_service::error::JobError;
use copal_service::objects;
use copal_store::{Store, StoreError};
use zeroize::Zeroizing;

use super::{Credentials, Repository};
use crate::entropy::{random, secret};
use crate::places::{PlaceError, create_private_dir, write_private};
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
pub enum ClientError {
    /// The file with its keys cannot be read.
    #[error("the client's keys in {} cannot be used", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file with its keys cannot be written.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The file with its keys is damaged.
    #[error("{} does not hold a client's keys", .0.display())]
    Damaged(PathBuf),
    /// This machine is enrolled as write-only.
    #[error("this machine's client is write-only: it saves, and does nothing else")]
    WriteOnly,
    /// The owner has revoked the client.
    #[error("this machine's client {0} was revoked by the owner")]
    Revoked(ClientId),
    /// The client's record in the repository is not sound, or is of other keys.
    #[error("the repository's record of this machine's client {0} is not sound")]
    Record(ClientId),
    /// There is no descriptor that names the shared domain.
    #[error("the repository's descriptor is lost: nothing can be written to it")]
    NoDescriptor,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A job failed.
    #[error(transparent)]
    Job(#[from] JobError),
}

impl LocalClient {
    /// The id of this machine's client, full or write-only. None if it has no client yet, or if its keys are damaged:
    /// reading needs none.
    pub fn id_in(state_dir: &Path) -> Option<ClientId> {
        match Credentials::find(state_dir) {
            Ok(Some(credentials)) => Some(credentials.client),
            _ => kept(&state_dir.join(KEYS)).ok()?.map(|(id, _)| id),
        }
    }

    /// This machine's client. Registers a new full client if there is none yet.
    pub fn load_or_register(repository: &Repository, name: &str) -> Result<Self, ClientError> {
        // On a write-only machine, keys of a full client would let a thief forget snapshots.
        if Credentials::are_in(repository.state_dir()) {
            return Err(ClientError::WriteOnly);
        }
        let path = repository.state_dir().join(KEYS);
        match kept(&path)? {
            Some((id, keys)) => Self::load(repository, id, keys, name),
            None => Self::register(repository, path, name),
        }
    }

    fn load(repository: &Repository, id: ClientId, keys: ClientKeys, name: &str) -> Result<Self, ClientError> {
        match wait(clients::read(&repository.host(), id))? {
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
    fn register(repository: &Repository, path: PathBuf, name: &str) -> Result<Self, ClientError> {
        create_private_dir(repository.state_dir())?;
        let id = ClientId(random());
        let keys = ClientKeys::new(secret(), secret());
        write_private(&path, &encode(id, &keys))?;
        Self::write_record(repository, id, keys, name)
    }

    fn write_record(repository: &Repository, id: ClientId, keys: ClientKeys, name: &str) -> Result<Self, ClientError> {
        let descriptor = repository.descriptor.as_ref().ok_or(ClientError::NoDescriptor)?;
        let record = ClientRecord {
            client: id,
            version: 1,
            sealed_name: repository.owner.seal_text(TextPurpose::ClientName, &id.0, name),
            role: Role::Full,
            domain: descriptor.shared_domain,
            keys: Some(ClientPublic { manifest: keys.manifest_public(), request: keys.request_public() }),
            created: Time(wait(repository.store().now())?.0),
            revoked: None,
            last_change: None,
            enrollment: None,
            signed_by: SignedBy::Owner,
        };
        let bytes = record.sign(repository.id(), &repository.owner.signing_key());
        wait(repository.store().create(&objects::key(layout::client(id, 1)), Bytes::from(bytes)))?;
        match wait(clients::read(&repository.host(), id))? {
            Some(stored) if stored.keys == record.keys => Ok(Self { id, keys, domain: stored.domain }),
            _ => Err(ClientError::Record(id)),
        }
    }
}

/// Reads the id and keys from a file; none if there is no such file.
pub(super) fn kept(path: &Path) -> Result<Option<(ClientId, ClientKeys)>, ClientError> {
    match fs::read(path) {
        Ok(bytes) => match decode(&Zeroizing::new(bytes)) {
            Some(kept) => Ok(Some(kept)),
            None => Err(ClientError::Damaged(path.to_owned())),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ClientError::File { path: path.to_owned(), source }),
    }
}

/// `version u8 (1) ‖ client id 16 ‖ seeds 64 ‖ SHA-256 of all before`.
pub(super) fn encode(id: ClientId, keys: &ClientKeys) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(vec![VERSION]);
    bytes.extend_from_slice(id.as_bytes());
    bytes.extend_from_slice(keys.to_bytes().as_slice());
    let hash = ObjectHash::of(&bytes);
    bytes.extend_from_slice(hash.as_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<(ClientId, ClientKeys)> {
    let (body, hash) = bytes.split_at_checked(1 + ClientId::LEN + ClientKeys::LEN)?;
    if ObjectHash::of(body).as_bytes() != hash || body[0] != VERSION {
        return None;
    }
    let seeds = body[1 + ClientId::LEN..].try_into().ok()?;
    Some((ClientId::from_slice(&body[1..=ClientId::LEN])?, ClientKeys::from_bytes(seeds)))
}

/// The file of a full client's keys in the state directory.
pub(super) const KEYS: &str = "client";
const VERSION: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_keys_read_back_and_damage_is_noticed() {
        let keys = ClientKeys::new(secret(), secret());
        let bytes = encode(ClientId([7; 16]), &keys);
        let (id, read) = decode(&bytes).unwrap();
        assert_eq!((id, read.manifest_public()), (ClientId([7; 16]), keys.manifest_public()));
        for at in 0..bytes.len() {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 1;
            assert!(decode(&flipped).is_none(), "byte {at}");
        }
    }
}
