//! Repository: an owner with fixed keys, sizes so small that a few files make several packs, and registered clients.

use std::time::Duration;

use bytes::Bytes;
use copal_format::client::{ClientPublic, ClientRecord, EnrollmentPublic, Role, SignedBy};
use copal_format::id::{ClientId, DomainId, ObjectHash, RepositoryId, SlotId};
use copal_format::keys::client::ClientKeys;
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::secret::Secret;
use copal_format::keys::slot::{self, Argon2Params, SlotInput, SlotParams};
use copal_format::layout;
use copal_format::repository::{Descriptor, IngestBy, Parameters};
use copal_format::room::Memory;
use copal_format::time::Time;
use copal_jobs::context::{Entropy, JobContext};
use copal_store::{Key, Store, StoreError};
use ed25519_dalek::SigningKey;

use super::client::Client;

/// A repository's secret, and how its objects are made.
pub struct Repository {
    pub owner: OwnerSecret,
    pub parameters: Parameters,
    /// The domain of the full clients.
    pub shared: DomainId,
    owner_key: [u8; 32],
}

impl Default for Repository {
    fn default() -> Self {
        Self::new()
    }
}

impl Repository {
    /// The kit's repository; it is always the same one.
    pub fn new() -> Self {
        let secret = |byte| Secret::new([byte; 32]);
        let owner = OwnerSecret::new(RepositoryId([0xc0; 16]), secret(1), secret(2), secret(3));
        let owner_key = owner.verifying_key();
        Self { owner, parameters: small(), shared: DomainId([0xd0; 16]), owner_key }
    }

    /// What a job works with on a store.
    pub fn job<'a>(&self, store: &'a dyn Store, entropy: &'a dyn Entropy) -> JobContext<'a> {
        JobContext { store, entropy, scratch: &Memory, repository: self.owner.repository(), owner_key: self.owner_key }
    }

    /// Writes the descriptor and a key slot.
    pub async fn create(&self, store: &dyn Store) -> Result<(), StoreError> {
        let plain = Descriptor::new(&self.owner, Time(0), IngestBy::Client, self.shared);
        let descriptor = Descriptor { parameters: self.parameters.clone(), ..plain };
        put(store, layout::descriptor(1), descriptor.sign(&self.owner.signing_key())).await?;
        let input = SlotInput::KeyFile(Secret::new([9; 32]));
        let params = SlotParams {
            id: SlotId([7; 16]),
            created: Time(0),
            nonce: [8; 12],
            salt: [0; 16],
            argon2: Argon2Params::default(),
        };
        let slot = slot::seal(&input, &params, &self.owner);
        for name in layout::slot(params.id) {
            put(store, name, slot.clone()).await?;
        }
        Ok(())
    }

    /// Registers a client; the number tells clients apart.
    pub async fn register(&self, store: &dyn Store, number: u8, role: Role) -> Result<Client, StoreError> {
        let client = self.client(number, role);
        put(store, layout::client(client.id, 1), self.sign(&client.record(&self.owner, 1, None))).await?;
        Ok(client)
    }

    /// Invites a client to join within some time from now.
    pub async fn invite(
        &self,
        store: &dyn Store,
        number: u8,
        role: Role,
        open: Duration,
    ) -> Result<Client, StoreError> {
        let client = self.client(number, role);
        let now = Time(store.now().await?.0);
        let key = enrollment_key(&client).verifying_key().to_bytes();
        let enrollment = Some(EnrollmentPublic { key, expires: Some(now + open) });
        let record = ClientRecord { keys: None, enrollment, created: now, ..client.record(&self.owner, 1, None) };
        put(store, layout::client(client.id, 1), self.sign(&record)).await?;
        Ok(client)
    }

    /// Version 2 of the record of a client that was invited: it joins, and says that it did so at this time.
    pub fn joined(&self, client: &Client, says: Time) -> Vec<u8> {
        let record = client.record(&self.owner, 2, None);
        let record = ClientRecord { created: says, signed_by: SignedBy::Enrollment, ..record };
        record.sign(self.owner.repository(), &enrollment_key(client))
    }

    /// Revokes a client from behind the manifest of this number and hash, and from behind this change.
    pub async fn revoke(
        &self,
        store: &dyn Store,
        client: &Client,
        last: (u64, ObjectHash),
        last_change: Option<(u64, ObjectHash)>,
    ) -> Result<(), StoreError> {
        let record = self.sign(&ClientRecord { last_change, ..client.record(&self.owner, 2, Some(last)) });
        put(store, layout::client(client.id, 2), record.clone()).await?;
        put(store, layout::client_copy(client.id, 2), record).await
    }

    /// The same client as a new process sees it: with its keys, and without anything it remembered.
    pub fn client(&self, number: u8, role: Role) -> Client {
        let id = ClientId([number; 16]);
        let domain = match role {
            Role::Full => self.shared,
            Role::WriteOnly => DomainId([number; 16]),
        };
        let keys = ClientKeys::new(Secret::new([number; 32]), Secret::new([number ^ 0xff; 32]));
        Client::new(self, id, keys, role, domain)
    }

    fn sign(&self, record: &ClientRecord) -> Vec<u8> {
        record.sign(self.owner.repository(), &self.owner.signing_key())
    }
}

impl Client {
    fn record(&self, owner: &OwnerSecret, version: u64, revoked: Option<(u64, ObjectHash)>) -> ClientRecord {
        let keys = ClientPublic { manifest: self.keys.manifest_public(), request: self.keys.request_public() };
        let full = ClientRecord::full(owner, self.id, self.domain, &self.name(), keys, Time(0));
        ClientRecord { version, role: self.role, revoked, ..full }
    }
}

/// The key in a client's enrollment line.
fn enrollment_key(client: &Client) -> SigningKey {
    SigningKey::from_bytes(&[client.id.0[0] ^ 0x55; 32])
}

/// Creates an object; one of that name must hold the same bytes already.
pub async fn put(store: &dyn Store, name: String, bytes: Vec<u8>) -> Result<(), StoreError> {
    store.create(&key(&name), Bytes::from(bytes)).await.map(|_| ())
}

pub fn key(name: &str) -> Key {
    Key::new(name).expect("the layout makes sound names")
}

/// Sizes at which a handful of files makes several chunks, blocks, packs and pages.
fn small() -> Parameters {
    Parameters {
        chunk_min: 256,
        chunk_average: 512,
        chunk_max: 1024,
        block_target: 1024,
        tree_block_target: 512,
        pack_target: 4096,
        tree_pack_target: 3072,
        inline_max: 16,
        leaf_fanout: 2,
        inner_fanout: 2,
        page_min: 1,
        page_max: 512,
        zstd_level: 1,
    }
}
