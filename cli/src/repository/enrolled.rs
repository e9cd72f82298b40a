//! Enrolled: a write-only machine's credentials, and its view of the repository. It cannot open stored data: session
//! keys are wrapped for the owner alone, and the device key seals only its own cache.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use copal_engine::id::{ClientId, DomainId, ObjectHash, OwnerFingerprint, RepositoryId};
use copal_engine::keys::client::ClientKeys;
use copal_engine::keys::domain::DomainKey;
use copal_engine::keys::owner::{KemPublic, fingerprint};
use copal_engine::keys::secret::Secret;
use copal_engine::repository::{Descriptor, DescriptorError};
use copal_engine::room::Memory;
use copal_service::clients;
use copal_service::host::Host;
use copal_store::Store;
use zeroize::Zeroizing;

use super::{ClientError, LocalClient, OpenError, list_descriptors, seen};
use crate::entropy::SystemEntropy;
use crate::places::{PlaceError, create_private_dir, write_private};
use crate::site::Site;
use crate::wait::wait;

/// The credentials of a write-only client. The format of their file is this machine's own.
pub struct Credentials {
    /// The repository.
    pub repository: RepositoryId,
    /// The client.
    pub client: ClientId,
    /// The client's own domain, which it writes to.
    pub domain: DomainId,
    /// Fingerprint of the owner's public keys. A descriptor with other keys is rejected.
    pub owner: OwnerFingerprint,
    /// Derives chunk ids and cut points in the domain; cannot decrypt.
    pub domain_key: DomainKey,
    /// Signs manifests and requests.
    pub keys: ClientKeys,
    /// Seals this machine's kept trees.
    pub device: Secret,
    /// Where the repository is.
    pub address: String,
}

impl Credentials {
    /// Reads the credentials in a repository's state directory; none if the machine is not enrolled as write-only.
    pub fn find(state_dir: &Path) -> Result<Option<Self>, ClientError> {
        let path = state_dir.join(FILE);
        match fs::read(&path) {
            Ok(bytes) => match Self::decode(&Zeroizing::new(bytes)) {
                Some(credentials) => Ok(Some(credentials)),
                None => Err(ClientError::Damaged(path)),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ClientError::File { path, source }),
        }
    }

    /// The state directories below a directory that hold credentials, sorted.
    pub fn directories(state: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(state).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found: Vec<PathBuf> = entries.filter(|path| Self::are_in(path)).collect();
        found.sort();
        found
    }

    /// Whether a state directory holds credentials, sound or not.
    pub fn are_in(state_dir: &Path) -> bool {
        state_dir.join(FILE).exists()
    }

    pub(super) fn keep(&self, state_dir: &Path) -> Result<(), PlaceError> {
        create_private_dir(state_dir)?;
        write_private(&state_dir.join(FILE), &self.encode())
    }

    pub(super) fn drop_from(state_dir: &Path) -> Result<(), PlaceError> {
        let path = state_dir.join(FILE);
        fs::remove_file(&path).map_err(|cause| PlaceError::Refused { path, cause })
    }

    /// `version u8 (1) ‖ repository 16 ‖ client 16 ‖ domain 16 ‖ owner 32 ‖ domain key 32 ‖ seeds 64 ‖ device key 32 ‖
    /// address ‖ SHA-256 of all before`.
    fn encode(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(FIXED + self.address.len() + ObjectHash::LEN));
        bytes.push(VERSION);
        bytes.extend_from_slice(self.repository.as_bytes());
        bytes.extend_from_slice(self.client.as_bytes());
        bytes.extend_from_slice(self.domain.as_bytes());
        bytes.extend_from_slice(self.owner.as_bytes());
        bytes.extend_from_slice(self.domain_key.expose().expose());
        bytes.extend_from_slice(self.keys.to_bytes().as_slice());
        bytes.extend_from_slice(self.device.expose());
        bytes.extend_from_slice(self.address.as_bytes());
        let hash = ObjectHash::of(&bytes);
        bytes.extend_from_slice(hash.as_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (body, hash) = bytes.split_at_checked(bytes.len().checked_sub(ObjectHash::LEN)?)?;
        if ObjectHash::of(body).as_bytes() != hash {
            return None;
        }
        let (version, rest) = body.split_first()?;
        if *version != VERSION {
            return None;
        }
        let (repository, rest) = rest.split_at_checked(RepositoryId::LEN)?;
        let (client, rest) = rest.split_at_checked(ClientId::LEN)?;
        let (domain, rest) = rest.split_at_checked(DomainId::LEN)?;
        let (owner, rest) = rest.split_at_checked(OwnerFingerprint::LEN)?;
        let (domain_key, rest) = rest.split_first_chunk()?;
        let (keys, rest) = rest.split_first_chunk()?;
        let (device, address) = rest.split_first_chunk()?;
        Some(Self {
            repository: RepositoryId::from_slice(repository)?,
            client: ClientId::from_slice(client)?,
            domain: DomainId::from_slice(domain)?,
            owner: OwnerFingerprint::from_slice(owner)?,
            domain_key: DomainKey::from_secret(Secret::new(*domain_key)),
            keys: ClientKeys::from_bytes(keys),
            device: Secret::new(*device),
            address: core::str::from_utf8(address).ok()?.to_owned(),
        })
    }
}

/// A repository as a write-only client uses it.
pub struct Enrolled {
    pub(super) site: Site,
    pub(super) store: Arc<dyn Store>,
    pub(super) descriptor: Descriptor,
    /// The owner's public key that session keys are wrapped for.
    pub(super) kem: KemPublic,
    /// The client's credentials.
    pub credentials: Credentials,
    /// Directory of the kept trees; none if this machine has no cache directory.
    pub cache_dir: Option<PathBuf>,
}

impl Enrolled {
    /// Opens the repository of a site. The newest descriptor must be of the owner who enrolled the client, and not
    /// older than this machine has seen.
    pub fn open(
        site: &Site,
        credentials: Credentials,
        state_dir: &Path,
        cache_dir: Option<PathBuf>,
    ) -> Result<Self, OpenError> {
        let store = site.store();
        let (object, newest) =
            list_descriptors(&store)?.pop().ok_or_else(|| OpenError::NoRepository(site.location().clone()))?;
        let (descriptor, kem) = newest
            .and_then(|descriptor| {
                let kem = owners_kem(&descriptor, credentials.repository, credentials.owner)?;
                seen::compare(state_dir, &descriptor)?;
                Ok((descriptor, kem))
            })
            .map_err(|source| OpenError::Descriptor { object, source })?;
        Ok(Self { site: site.clone(), store, descriptor, kem, credentials, cache_dir })
    }

    /// This machine's client; fails if the owner has revoked it, or if its record does not match the credentials.
    pub fn client(&self) -> Result<LocalClient, ClientError> {
        let credentials = &self.credentials;
        let id = credentials.client;
        let record = wait(clients::read(&self.host(), id))?.ok_or(ClientError::Record(id))?;
        if record.revoked.is_some() {
            return Err(ClientError::Revoked(id));
        }
        let ours = Some(credentials.keys.manifest_public());
        if record.domain != credentials.domain || record.keys.map(|public| public.manifest) != ours {
            return Err(ClientError::Record(id));
        }
        Ok(LocalClient { id, keys: credentials.keys.clone(), domain: credentials.domain })
    }

    /// The context that jobs of the service run in.
    pub(super) fn host(&self) -> Host<'_> {
        Host {
            store: self.store.as_ref(),
            entropy: &SystemEntropy,
            scratch: &Memory,
            repository: self.credentials.repository,
            owner_key: self.descriptor.owner_key,
        }
    }
}

/// The owner's key for sessions; fails if the descriptor is not of this repository and owner.
pub(super) fn owners_kem(
    descriptor: &Descriptor,
    repository: RepositoryId,
    owner: OwnerFingerprint,
) -> Result<KemPublic, DescriptorError> {
    let kem = KemPublic::from_slice(&descriptor.kem_public).ok_or(DescriptorError::Owner)?;
    let is_owners =
        descriptor.repository == repository && fingerprint(repository, &descriptor.owner_key, &kem) == owner;
    if is_owners { Ok(kem) } else { Err(DescriptorError::Owner) }
}

const FILE: &str = "enrolled";
const VERSION: u8 = 1;
/// Bytes of an encoded file before the address.
const FIXED: usize = 1 + 3 * 16 + 32 + 32 + ClientKeys::LEN + 32;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::entropy::secret;

    #[test]
    fn credentials_are_kept_for_the_user_only_and_damage_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let credentials = Credentials {
            repository: RepositoryId([1; 16]),
            client: ClientId([2; 16]),
            domain: DomainId([3; 16]),
            owner: OwnerFingerprint([4; 32]),
            domain_key: DomainKey::from_secret(secret()),
            keys: ClientKeys::new(secret(), secret()),
            device: secret(),
            address: "/mnt/backup".into(),
        };
        assert!(Credentials::find(directory.path()).unwrap().is_none());
        credentials.keep(directory.path()).unwrap();
        let path = directory.path().join(FILE);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let read = Credentials::find(directory.path()).unwrap().unwrap();
        assert_eq!(
            (read.client, read.domain_key, read.device),
            (credentials.client, credentials.domain_key, credentials.device)
        );
        assert_eq!((read.keys, read.address.as_str()), (credentials.keys, "/mnt/backup"));
        let bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(Credentials::decode(&flipped).is_none(), "byte {at}");
            assert!(Credentials::decode(&bytes[..at]).is_none(), "cut at {at}");
        }
    }
}
