//! Owner: the owner's secret, opened with a passphrase or a recovery code.

use copal_format::client::ClientRecord;
use copal_format::id::{ClientId, DomainId, RepositoryId, SlotId};
use copal_format::keys::attempts::{Attempt, Attempts};
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::secret::Secret;
use copal_format::keys::slot::{Slot, SlotInput, SlotKind};
use copal_format::layout;
use copal_format::repository::Descriptor;
use copal_format::request::{Headers, Request, Signatory, Terms};
use copal_format::time::Time;
use copal_format::wire::cursor::Cursor;

use crate::client::{Client, HostKeys, Rest, Signer};
use crate::fault::{Code, Fault};
use crate::sealed;

/// The owner's secret. It is wiped when dropped.
#[derive(Debug)]
pub struct Owner {
    secret: OwnerSecret,
}

/// A new client, and the record that registers it.
pub struct Joined {
    /// The client.
    pub client: Client,
    /// The record's name.
    pub key: String,
    /// The record.
    pub bytes: Vec<u8>,
}

/// The copies of key slots that a page tries, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotsToTry {
    /// The positions of copies, one per slot.
    pub tries: Vec<u32>,
    /// Whether a copy is damaged.
    pub is_damaged: bool,
    /// Whether slots were left out, because they need much memory or belong to another repository.
    pub is_costly: bool,
}

impl SlotsToTry {
    /// Orders the slots of a kind, cheapest first.
    pub fn of(copies: &[Vec<u8>], repository: RepositoryId, kind: SlotKind) -> Self {
        let mut order = Self::default();
        let mut whole: Vec<(SlotId, u32, Slot)> = Vec::new();
        for (at, copy) in (0..).zip(copies) {
            match Slot::parse(copy) {
                Ok(slot) if whole.iter().any(|(id, ..)| *id == slot.id()) => {}
                Ok(slot) => whole.push((slot.id(), at, slot)),
                Err(_) => order.is_damaged = true,
            }
        }
        let slots = whole.iter().map(|(.., slot)| slot.clone());
        let mut attempts = Attempts::new(slots, kind, Some(repository));
        while let Some(attempt) = attempts.poll() {
            match attempt {
                Attempt::Open(slot) => {
                    let found = whole.iter().find(|(id, ..)| *id == slot.id());
                    order.tries.extend(found.map(|(_, at, _)| *at));
                }
                Attempt::Ask(..) => order.is_costly = true,
            }
        }
        order
    }
}

impl Owner {
    /// The number of random bytes for [`Owner::register`].
    pub const RANDOM: usize = 16 + 2 * 32;

    /// Opens a slot.
    pub fn open(slot: &[u8], input: &SlotInput) -> Result<Self, Fault> {
        Ok(Self { secret: Slot::parse(slot)?.open(input)? })
    }

    /// Derives the key that opens a slot: the part of opening that takes memory and time.
    pub fn stretch(slot: &[u8], input: &SlotInput) -> Result<Secret, Fault> {
        Ok(Slot::parse(slot)?.stretch(input)?)
    }

    /// Opens a slot with the result of [`Owner::stretch`], which may come from another instance of the engine.
    pub fn open_stretched(slot: &[u8], stretched: &Secret) -> Result<Self, Fault> {
        Ok(Self { secret: Slot::parse(slot)?.unwrap(stretched)? })
    }

    /// Wraps a secret that was opened elsewhere.
    pub fn of(secret: OwnerSecret) -> Self {
        Self { secret }
    }

    /// Checks that the descriptor is this owner's.
    pub fn check(&self, descriptor: &Descriptor) -> Result<(), Fault> {
        Ok(descriptor.kem_of(self.secret.repository(), self.secret.fingerprint()).map(drop)?)
    }

    /// The secret.
    pub fn secret(&self) -> &OwnerSecret {
        &self.secret
    }

    /// Signs a request as the owner.
    pub fn sign_request(&self, request: &Request<'_>, created: u64, expires: u64, nonce: [u8; 16]) -> Headers {
        let terms = Terms { created, expires, nonce, signatory: Signatory::Owner };
        request.sign(&terms, &self.secret.signing_key())
    }

    /// Makes a full client, with keys that the host may hold.
    pub fn register(
        &self,
        descriptor: &Descriptor,
        name: &str,
        created: Time,
        random: &[u8; Self::RANDOM],
        host: HostKeys,
    ) -> Result<Joined, Fault> {
        self.check(descriptor)?;
        let (id, seeds) = random.split_at(16);
        let id = ClientId::from_slice(id).expect("16 bytes");
        let (manifest, request) = (Signer::of(host.manifest, &seeds[..32]), Signer::of(host.request, &seeds[32..]));
        let client = self.client(id, descriptor.shared_domain, manifest, request);
        let record = ClientRecord::full(&self.secret, id, client.domain(), name, client.public(), created);
        let bytes = record.sign(self.secret.repository(), &self.secret.signing_key());
        Ok(Joined { client, key: layout::client(id, 1), bytes })
    }

    /// Restores a full client from the bytes of [`Client::keep`].
    pub fn resume(&self, kept: &[u8]) -> Result<Client, Fault> {
        let read = |bytes: &[u8]| {
            let mut from = Cursor::new(bytes);
            let (id, domain) = (ClientId(from.array().ok()?), DomainId(from.array().ok()?));
            let client = self.client(id, domain, Signer::decode(&mut from)?, Signer::decode(&mut from)?);
            from.finish().ok().map(|()| client)
        };
        let opened = sealed::open(&self.kept_key(), self.secret.repository(), kept);
        let damaged = || Fault::new(Code::KeptDamaged, "what this browser kept of the client cannot be opened");
        opened.and_then(|opened| read(&opened)).ok_or_else(damaged)
    }

    pub(crate) fn client(&self, id: ClientId, domain: DomainId, manifest: Signer, request: Signer) -> Client {
        Client {
            repository: self.secret.repository(),
            id,
            domain,
            owner: self.secret.fingerprint(),
            domain_key: self.secret.domain_key(domain),
            manifest,
            request,
            device: self.secret.root().derive("browser-device", id.as_bytes()),
            rest: Rest::Full { kept_key: self.kept_key(), secret: self.secret.clone() },
        }
    }

    fn kept_key(&self) -> Secret {
        self.secret.root().derive("browser-client", self.secret.repository().as_bytes())
    }
}
