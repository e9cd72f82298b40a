//! Client: this device as a client of the repository, full or write-only, with its signing keys.

use copal_format::change::Change;
use copal_format::client::{ClientPublic, ClientRecord, Role, read_chain};
use copal_format::id::{ClientId, DomainId, ObjectHash, OwnerFingerprint, RepositoryId};
use copal_format::keys::domain::DomainKey;
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::secret::Secret;
use copal_format::manifest::Manifest;
use copal_format::repository::Descriptor;
use copal_format::request::{Headers, Request, Signatory, Terms, Unsigned};
use copal_format::wire::cursor::Cursor;
use copal_format::wire::record;
use ed25519_dalek::{Signer as _, SigningKey};
use zeroize::Zeroizing;

use crate::fault::{Code, Fault};
use crate::sealed;

/// The holder of a signing key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signer {
    /// The engine, with the key's seed.
    Engine(Secret),
    /// The host, in its own key store: the engine knows only the public key.
    Host([u8; 32]),
}

impl Signer {
    /// The public key.
    pub fn public(&self) -> [u8; 32] {
        match self {
            Self::Engine(seed) => SigningKey::from_bytes(seed.expose()).verifying_key().to_bytes(),
            Self::Host(public) => *public,
        }
    }

    /// The key, if the engine holds it.
    pub fn key(&self) -> Option<SigningKey> {
        match self {
            Self::Engine(seed) => Some(SigningKey::from_bytes(seed.expose())),
            Self::Host(_) => None,
        }
    }

    /// The host's key if there is one, else the engine's.
    ///
    /// # Panics
    /// If the seed does not have 32 bytes.
    pub(crate) fn of(host: Option<[u8; 32]>, seed: &[u8]) -> Self {
        host.map_or_else(|| Self::Engine(Secret::new(seed.try_into().expect("32 bytes"))), Self::Host)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let (kind, bytes) = match self {
            Self::Engine(seed) => (ENGINE, seed.expose()),
            Self::Host(public) => (HOST, public),
        };
        out.push(kind);
        out.extend_from_slice(bytes);
    }

    pub(crate) fn decode(from: &mut Cursor<'_>) -> Option<Self> {
        match (from.u8().ok()?, from.array().ok()?) {
            (ENGINE, seed) => Some(Self::Engine(Secret::new(seed))),
            (HOST, public) => Some(Self::Host(public)),
            _ => None,
        }
    }
}

/// This device as a registered client.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) repository: RepositoryId,
    pub(crate) id: ClientId,
    pub(crate) domain: DomainId,
    pub(crate) owner: OwnerFingerprint,
    pub(crate) domain_key: DomainKey,
    pub(crate) manifest: Signer,
    pub(crate) request: Signer,
    /// The key that seals what the device keeps of its own trees.
    pub(crate) device: Secret,
    pub(crate) rest: Rest,
}

/// What only one of the roles has.
#[derive(Clone, Debug)]
pub(crate) enum Rest {
    /// The key that seals the stored client, derived from the owner's secret; and that secret, which proves packs.
    Full { kept_key: Secret, secret: OwnerSecret },
    /// The repository's address.
    WriteOnly { address: String },
}

impl Client {
    /// Restores a write-only client from the bytes of [`Client::keep`].
    pub fn resume(kept: &[u8]) -> Result<Self, Fault> {
        Self::decode(kept)
            .ok_or_else(|| Fault::new(Code::KeptDamaged, "what this browser kept of the client is damaged"))
    }

    /// The bytes to restore it from: sealed for the owner if it is a full client, in the clear if it is write-only.
    ///
    /// Write-only: `version u8 (1) ‖ repository 16 ‖ client 16 ‖ domain 16 ‖ owner 32 ‖ domain key 32 ‖ two signers ‖
    /// device key 32 ‖ address ‖ SHA-256 of all before`.
    pub fn keep(&self, salt: [u8; 16]) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(1 << 10));
        match &self.rest {
            Rest::Full { kept_key, .. } => {
                bytes.extend_from_slice(self.id.as_bytes());
                bytes.extend_from_slice(self.domain.as_bytes());
                self.manifest.encode(&mut bytes);
                self.request.encode(&mut bytes);
                Zeroizing::new(sealed::seal(kept_key, self.repository, salt, &bytes))
            }
            Rest::WriteOnly { address } => {
                bytes.reserve(address.len());
                bytes.push(VERSION);
                bytes.extend_from_slice(self.repository.as_bytes());
                bytes.extend_from_slice(self.id.as_bytes());
                bytes.extend_from_slice(self.domain.as_bytes());
                bytes.extend_from_slice(self.owner.as_bytes());
                bytes.extend_from_slice(self.domain_key.expose().expose());
                self.manifest.encode(&mut bytes);
                self.request.encode(&mut bytes);
                bytes.extend_from_slice(self.device.expose());
                bytes.extend_from_slice(address.as_bytes());
                ObjectHash::append(&mut bytes);
                bytes
            }
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut body = Cursor::new(ObjectHash::split(bytes)?);
        body.expect(&[VERSION], "another version").ok()?;
        // In the order of the bytes: fields are evaluated as they are written.
        Some(Self {
            repository: RepositoryId(body.array().ok()?),
            id: ClientId(body.array().ok()?),
            domain: DomainId(body.array().ok()?),
            owner: OwnerFingerprint(body.array().ok()?),
            domain_key: DomainKey::from_secret(Secret::new(body.array().ok()?)),
            manifest: Signer::decode(&mut body)?,
            request: Signer::decode(&mut body)?,
            device: Secret::new(body.array().ok()?),
            rest: Rest::WriteOnly { address: core::str::from_utf8(body.take(body.remaining()).ok()?).ok()?.to_owned() },
        })
    }

    /// Checks that the repository still knows this client. `records` are all versions of its record.
    pub fn check(&self, descriptor: &Descriptor, records: &[(u64, Vec<u8>)]) -> Result<ClientRecord, Fault> {
        descriptor.kem_of(self.repository, self.owner)?;
        let record = read_chain(self.repository, &descriptor.owner_key, self.id, records)?;
        if record.revoked.is_some() {
            return Err(Fault::new(Code::ClientRevoked, format!("client {} is revoked", self.id)));
        }
        let is_ours = record.keys.is_some_and(|public| public.manifest == self.manifest_public());
        if record.domain != self.domain || record.role != self.role() || !is_ours {
            let words = format!("the repository's record of client {} is another's", self.id);
            return Err(Fault::new(Code::ClientDamaged, words));
        }
        Ok(record)
    }

    /// Signs a request; fails if the host holds the key.
    pub fn sign_request(
        &self,
        request: &Request<'_>,
        created: u64,
        expires: u64,
        nonce: [u8; 16],
    ) -> Result<Headers, Fault> {
        let key = self.request.key().ok_or_else(|| Fault::misuse("the host holds the key that signs requests"))?;
        Ok(request.sign(&self.terms(created, expires, nonce), &key))
    }

    /// What the host must sign for a request.
    pub fn unsigned_request(&self, request: &Request<'_>, created: u64, expires: u64, nonce: [u8; 16]) -> Unsigned {
        request.unsigned(&self.terms(created, expires, nonce))
    }

    /// Signs a manifest with the engine's key, or takes the host's signature if the host holds the key.
    pub(crate) fn sign_manifest(&self, manifest: &Manifest, signature: Option<&[u8; 64]>) -> Result<Vec<u8>, Fault> {
        let bytes = self.sign_record(manifest.unsigned(self.repository), signature)?;
        // Check now: ingest would reject a wrong signature later, where nobody sees why.
        Manifest::verify(self.repository, &self.manifest_public(), self.id, manifest.number, &bytes)?;
        Ok(bytes)
    }

    /// Signs a change, like [`Client::sign_manifest`].
    pub(crate) fn sign_change(&self, change: &Change, signature: Option<&[u8; 64]>) -> Result<Vec<u8>, Fault> {
        let bytes = self.sign_record(change.unsigned(self.repository), signature)?;
        Change::verify(self.repository, &self.manifest_public(), self.id, change.number, &bytes)?;
        Ok(bytes)
    }

    fn sign_record(&self, record: record::Unsigned, signature: Option<&[u8; 64]>) -> Result<Vec<u8>, Fault> {
        match (self.manifest.key(), signature) {
            (Some(key), None) => {
                let signature = key.sign(&record.message).to_bytes();
                Ok(record.with(&signature))
            }
            (None, Some(signature)) => Ok(record.with(signature)),
            (Some(_), Some(_)) => Err(Fault::misuse("the engine holds the key that signs manifests")),
            (None, None) => Err(Fault::misuse("the host holds the key that signs manifests")),
        }
    }

    /// The repository's id.
    pub fn repository(&self) -> RepositoryId {
        self.repository
    }

    /// The client's id.
    pub fn id(&self) -> ClientId {
        self.id
    }

    /// The domain that it writes to.
    pub fn domain(&self) -> DomainId {
        self.domain
    }

    /// The key of its domain.
    pub fn domain_key(&self) -> &DomainKey {
        &self.domain_key
    }

    /// The owner's secret; only a full client has it.
    pub(crate) fn owner_secret(&self) -> Option<&OwnerSecret> {
        match &self.rest {
            Rest::Full { secret, .. } => Some(secret),
            Rest::WriteOnly { .. } => None,
        }
    }

    /// The owner's fingerprint.
    pub fn owner(&self) -> OwnerFingerprint {
        self.owner
    }

    /// Its role.
    pub fn role(&self) -> Role {
        match self.rest {
            Rest::Full { .. } => Role::Full,
            Rest::WriteOnly { .. } => Role::WriteOnly,
        }
    }

    /// The repository's address, from the enrollment of a write-only client.
    pub fn address(&self) -> Option<&str> {
        match &self.rest {
            Rest::Full { .. } => None,
            Rest::WriteOnly { address } => Some(address),
        }
    }

    /// The public key of manifests.
    pub fn manifest_public(&self) -> [u8; 32] {
        self.manifest.public()
    }

    pub(crate) fn public(&self) -> ClientPublic {
        ClientPublic { manifest: self.manifest_public(), request: self.request.public() }
    }

    /// The key of the kept trees.
    pub(crate) fn tree_key(&self) -> Secret {
        self.device.derive("kept-tree", self.repository.as_bytes())
    }

    fn terms(&self, created: u64, expires: u64, nonce: [u8; 16]) -> Terms {
        Terms { created, expires, nonce, signatory: Signatory::Client(self.id) }
    }
}

const ENGINE: u8 = 0;
const HOST: u8 = 1;
const VERSION: u8 = 1;

/// Public keys whose private keys the host holds.
#[derive(Copy, Clone, Debug, Default)]
pub struct HostKeys {
    /// Signs manifests.
    pub manifest: Option<[u8; 32]>,
    /// Signs requests.
    pub request: Option<[u8; 32]>,
}
