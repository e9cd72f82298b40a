//! Enrollment: the line with which an owner lets this browser join as a client.

use copal_format::client::{ClientRecord, Role, read_chain};
use copal_format::enrollment::Enrollment as Line;
use copal_format::keys::secret::Secret;
use copal_format::layout;
use copal_format::repository::Descriptor;
use copal_format::request::{Headers, Request, Signatory, Terms};
use copal_format::time::Time;

use crate::client::{Client, HostKeys, Rest, Signer};
use crate::fault::{Code, Fault};
use crate::owner::{Joined, Owner};

/// A parsed enrollment. Its secrets are wiped when it is dropped.
#[derive(Debug)]
pub struct Enrollment {
    pub(crate) line: Line,
}

impl Enrollment {
    /// The number of random bytes for [`Enrollment::join`].
    pub const RANDOM: usize = 3 * 32;
    /// The number of random bytes for [`Enrollment::join_full`].
    pub const RANDOM_FULL: usize = 2 * 32;

    /// Parses the line.
    pub fn parse(line: &str) -> Result<Self, Fault> {
        Ok(Self { line: Line::decode(line)? })
    }

    /// Signs a request with the enrollment key, which is valid until a client has joined.
    pub fn sign_request(&self, request: &Request<'_>, created: u64, expires: u64, nonce: [u8; 16]) -> Headers {
        let terms = Terms { created, expires, nonce, signatory: Signatory::Client(self.line.client) };
        request.sign(&terms, &self.line.key())
    }

    /// Makes a write-only client and the record that joins it. `records` are all existing versions of its record.
    pub fn join(
        &self,
        descriptor: &Descriptor,
        records: &[(u64, Vec<u8>)],
        created: Time,
        random: &[u8; Self::RANDOM],
        host: HostKeys,
    ) -> Result<Joined, Fault> {
        let line = &self.line;
        let record = self.awaited(descriptor, records)?;
        let Some(domain_key) = line.domain_key.clone().filter(|_| line.role() == Role::WriteOnly) else {
            return Err(Fault::new(Code::NeedsOwner, "a full client is unlocked with the passphrase"));
        };
        let client = Client {
            repository: line.repository,
            id: line.client,
            domain: line.domain,
            owner: line.owner,
            domain_key,
            manifest: Signer::of(host.manifest, &random[..32]),
            request: Signer::of(host.request, &random[32..64]),
            device: Secret::new(random[64..].try_into().expect("32 bytes")),
            rest: Rest::WriteOnly { address: line.address.clone() },
        };
        Ok(self.joined(client, &record, created))
    }

    /// Makes a full client, with the owner's secret, and the record that joins it.
    pub fn join_full(
        &self,
        owner: &Owner,
        descriptor: &Descriptor,
        records: &[(u64, Vec<u8>)],
        created: Time,
        random: &[u8; Self::RANDOM_FULL],
        host: HostKeys,
    ) -> Result<Joined, Fault> {
        owner.check(descriptor)?;
        let record = self.awaited(descriptor, records)?;
        if record.role != Role::Full {
            return Err(Fault::new(Code::BadEnrollment, "the enrollment is of a write-only client"));
        }
        let (manifest, request) = (Signer::of(host.manifest, &random[..32]), Signer::of(host.request, &random[32..]));
        let client = owner.client(record.client, record.domain, manifest, request);
        Ok(self.joined(client, &record, created))
    }

    /// The record of the waiting client, if it agrees with the line.
    fn awaited(&self, descriptor: &Descriptor, records: &[(u64, Vec<u8>)]) -> Result<ClientRecord, Fault> {
        let line = &self.line;
        if descriptor.repository != line.repository {
            return Err(Fault::new(Code::OtherOwner, "the enrollment is for another repository"));
        }
        descriptor.kem_of(line.repository, line.owner)?;
        let record = read_chain(line.repository, &descriptor.owner_key, line.client, records)?;
        if record.revoked.is_some() {
            return Err(Fault::new(Code::ClientRevoked, "the enrollment was revoked"));
        }
        if record.keys.is_some() {
            return Err(Fault::new(Code::EnrollmentUsed, "somebody has joined with this enrollment already"));
        }
        if !line.fits(&record) {
            return Err(Fault::new(Code::ClientDamaged, "the repository's record does not agree with the enrollment"));
        }
        Ok(record)
    }

    fn joined(&self, client: Client, record: &ClientRecord, created: Time) -> Joined {
        let joined = record.joined(client.public(), created);
        let bytes = joined.sign(self.line.repository, &self.line.key());
        Joined { client, key: layout::client(record.client, joined.version), bytes }
    }
}
