//! Credentials: the keys of this machine's client, in files of a repository's state directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use copal_format::id::{ClientId, DomainId, ObjectHash, OwnerFingerprint, RepositoryId};
use copal_format::keys::client::ClientKeys;
use copal_format::keys::domain::DomainKey;
use copal_format::keys::secret::Secret;
use copal_format::wire::cursor::Cursor;
use zeroize::Zeroizing;

use crate::places::{PlaceError, create_private_dir, read_private, write_private};

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
    /// The repository's address.
    pub address: String,
}

impl Credentials {
    /// Reads the credentials in a repository's state directory; none if the machine is not enrolled as write-only.
    pub fn find(state_dir: &Path) -> Result<Option<Self>, KeptError> {
        read(state_dir.join(WRITE_ONLY), Self::decode)
    }

    /// The state directories below a directory that hold credentials, sorted.
    pub fn directories(state: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(state).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found: Vec<PathBuf> = entries.filter(|path| Self::are_in(path)).collect();
        found.sort();
        found
    }

    /// True if a state directory holds a file of credentials, even a damaged one.
    pub fn are_in(state_dir: &Path) -> bool {
        state_dir.join(WRITE_ONLY).exists()
    }

    /// Writes the file with mode 0600.
    pub fn keep(&self, state_dir: &Path) -> Result<(), PlaceError> {
        create_private_dir(state_dir)?;
        write_private(&state_dir.join(WRITE_ONLY), &self.encode())
    }

    /// Deletes the file.
    pub fn drop_from(state_dir: &Path) -> Result<(), PlaceError> {
        remove(state_dir.join(WRITE_ONLY))
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
        ObjectHash::append(&mut bytes);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut body = Cursor::new(ObjectHash::split(bytes)?);
        body.expect(&[VERSION], "another version").ok()?;
        Some(Self {
            repository: RepositoryId(body.array().ok()?),
            client: ClientId(body.array().ok()?),
            domain: DomainId(body.array().ok()?),
            owner: OwnerFingerprint(body.array().ok()?),
            domain_key: DomainKey::from_secret(Secret::new(body.array().ok()?)),
            keys: ClientKeys::from_bytes(&body.array().ok()?),
            device: Secret::new(body.array().ok()?),
            address: core::str::from_utf8(body.take(body.remaining()).ok()?).ok()?.to_owned(),
        })
    }
}

/// Why a file with a client's keys cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum KeptError {
    #[error("the client's keys in {} cannot be used", .path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} does not hold a client's keys", .0.display())]
    Damaged(PathBuf),
}

/// The id and keys of this machine's client, full or write-only. None if it has no client, or if its file cannot be
/// read: the command reports that when it needs the keys.
pub fn of_client(state_dir: &Path) -> Option<(ClientId, ClientKeys)> {
    match Credentials::find(state_dir) {
        Ok(Some(credentials)) => Some((credentials.client, credentials.keys)),
        _ => of_full_client(state_dir).ok()?,
    }
}

/// The id and keys of this machine's full client; none if it has none.
pub fn of_full_client(state_dir: &Path) -> Result<Option<(ClientId, ClientKeys)>, KeptError> {
    read(state_dir.join(FULL), decode)
}

/// Writes the file of a full client with mode 0600.
pub fn keep_full_client(state_dir: &Path, id: ClientId, keys: &ClientKeys) -> Result<(), PlaceError> {
    create_private_dir(state_dir)?;
    write_private(&state_dir.join(FULL), &encode(id, keys))
}

/// Deletes the file of a full client.
pub fn drop_full_client(state_dir: &Path) -> Result<(), PlaceError> {
    remove(state_dir.join(FULL))
}

fn read<T>(path: PathBuf, decode: impl Fn(&[u8]) -> Option<T>) -> Result<Option<T>, KeptError> {
    match read_private(&path) {
        Ok(bytes) => decode(&Zeroizing::new(bytes)).map(Some).ok_or(KeptError::Damaged(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(KeptError::File { path, source }),
    }
}

fn remove(path: PathBuf) -> Result<(), PlaceError> {
    fs::remove_file(&path).map_err(|cause| PlaceError::Refused { path, cause })
}

/// `version u8 (1) ‖ client id 16 ‖ seeds 64 ‖ SHA-256 of all before`.
fn encode(id: ClientId, keys: &ClientKeys) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(vec![VERSION]);
    bytes.extend_from_slice(id.as_bytes());
    bytes.extend_from_slice(keys.to_bytes().as_slice());
    ObjectHash::append(&mut bytes);
    bytes
}

fn decode(bytes: &[u8]) -> Option<(ClientId, ClientKeys)> {
    let mut body = Cursor::new(ObjectHash::split(bytes)?);
    body.expect(&[VERSION], "another version").ok()?;
    let kept = (ClientId(body.array().ok()?), ClientKeys::from_bytes(&body.array().ok()?));
    body.finish().ok()?;
    Some(kept)
}

/// The file of a write-only client.
const WRITE_ONLY: &str = "enrolled";
/// The file of a full client.
const FULL: &str = "client";
const VERSION: u8 = 1;
/// Bytes of the file of a write-only client before the address.
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
        let path = directory.path().join(WRITE_ONLY);
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
