//! Clients: the devices that may write, as the owner registers them, from enrollment to revocation.

mod history;

use core::fmt;

use ed25519_dalek::SigningKey;
use serde::Serialize;

use crate::id::{ClientId, DomainId, ObjectHash, RepositoryId};
use crate::keys::owner::{OwnerSecret, TextPurpose};
use crate::limits::SEALED_TEXT_BYTES;
use crate::shown;
use crate::time::Time;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};
use crate::wire::record::{self, Kind, RecordError};

pub use history::{ClientHistory, read_chain};

/// One version of a client's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClientRecord {
    /// The client.
    pub client: ClientId,
    /// The version in the object's name; versions start at 1.
    pub version: u64,
    /// Its name for people, as a sealed text.
    #[serde(skip)]
    pub sealed_name: Vec<u8>,
    /// What it may do.
    pub role: Role,
    /// The domain it writes to.
    pub domain: DomainId,
    /// Its public keys; none until an enrolled client joins.
    pub keys: Option<ClientPublic>,
    /// When this version was made.
    pub created: Time,
    /// The number and hash of a revoked client's last good manifest; number 0, [`ObjectHash::NONE`] if none is good.
    pub revoked: Option<(u64, ObjectHash)>,
    /// The number and hash of the last change up to which a revoked client's changes count; none if none counts.
    pub last_change: Option<(u64, ObjectHash)>,
    /// The enrollment, only until the client joins.
    pub enrollment: Option<EnrollmentPublic>,
    /// Who signed this version.
    pub signed_by: SignedBy,
}

/// What a client may do.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Knows the owner secret: may read, forget, and decide about manifests (ingest).
    Full = 0,
    /// May only add snapshots to its own domain.
    WriteOnly = 1,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Full => "full",
            Role::WriteOnly => "write-only",
        })
    }
}

/// A client's public keys.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClientPublic {
    /// Verifies manifests and changes (the signing key).
    #[serde(serialize_with = "shown::hex")]
    pub manifest: [u8; 32],
    /// Verifies requests to the gateway.
    #[serde(serialize_with = "shown::hex")]
    pub request: [u8; 32],
}

/// What a client's record tells of its enrollment.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnrollmentPublic {
    /// Verifies the record that joins the client, and requests to the gateway until then.
    #[serde(serialize_with = "shown::hex")]
    pub key: [u8; 32],
    /// Until when the client may join, by the store's clock. Records of the first programs have no end.
    pub expires: Option<Time>,
}

impl EnrollmentPublic {
    /// Whether the enrollment has ended by then.
    pub fn is_over(&self, now: Time) -> bool {
        self.expires.is_some_and(|expires| now > expires)
    }
}

/// Who signed a client record.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignedBy {
    /// The owner.
    Owner = 0,
    /// The enrollment key that version 1 names, when the client joins.
    Enrollment = 1,
}

impl ClientRecord {
    /// The first version of a record, signed by the owner, of a client with neither a name nor keys.
    pub fn new(client: ClientId, role: Role, domain: DomainId, created: Time) -> Self {
        Self {
            client,
            version: 1,
            sealed_name: Vec::new(),
            role,
            domain,
            keys: None,
            created,
            revoked: None,
            last_change: None,
            enrollment: None,
            signed_by: SignedBy::Owner,
        }
    }

    /// The first version of a full client's record.
    pub fn full(
        owner: &OwnerSecret,
        client: ClientId,
        domain: DomainId,
        name: &str,
        keys: ClientPublic,
        created: Time,
    ) -> Self {
        let sealed_name = owner.seal_text(TextPurpose::ClientName, &client.0, name);
        Self { sealed_name, keys: Some(keys), ..Self::new(client, Role::Full, domain, created) }
    }

    /// Encodes the record, signed with the owner's or the enrollment key, as `signed_by` says.
    pub fn sign(&self, repository: RepositoryId, key: &SigningKey) -> Vec<u8> {
        record::sign(Kind::Client, repository, &self.body(), key)
    }

    /// The name that the owner gave the client; none if there is none or it cannot be opened.
    pub fn name(&self, owner: &OwnerSecret) -> Option<String> {
        let name = owner.open_text(TextPurpose::ClientName, &self.client.0, &self.sealed_name).ok();
        name.filter(|name| !name.is_empty())
    }

    /// Whether a manifest of this number and hash may count: the client has joined and was not revoked before it.
    pub fn accepts(&self, number: u64, hash: ObjectHash) -> bool {
        match self.revoked {
            _ if self.keys.is_none() => false,
            Some((last, good)) => number < last || (number == last && hash == good),
            None => true,
        }
    }

    /// Whether a change of this number and hash may count: the client is full, has joined and, if revoked, the change
    /// is not later than the last one that counts.
    pub fn accepts_change(&self, number: u64, hash: ObjectHash) -> bool {
        match (self.revoked, self.last_change) {
            _ if self.keys.is_none() || self.role != Role::Full => false,
            (None, _) => true,
            (Some(_), Some((last, good))) => number < last || (number == last && hash == good),
            (Some(_), None) => false,
        }
    }

    /// The version by which an enrolled device joins with its own keys. Role, domain and name stay unchanged.
    pub fn joined(&self, keys: ClientPublic, created: Time) -> Self {
        Self {
            version: self.version + 1,
            keys: Some(keys),
            created,
            enrollment: None,
            signed_by: SignedBy::Enrollment,
            ..self.clone()
        }
    }

    /// The next version, by which the owner revokes the client. Later manifests and changes do not count.
    pub fn revoked(&self, last_good: (u64, ObjectHash), last_change: Option<(u64, ObjectHash)>, created: Time) -> Self {
        Self {
            version: self.version + 1,
            revoked: Some(last_good),
            last_change,
            created,
            signed_by: SignedBy::Owner,
            ..self.clone()
        }
    }

    fn body(&self) -> Vec<u8> {
        let optional = 2 * u64::from(self.keys.is_some())
            + u64::from(self.revoked.is_some())
            + u64::from(self.last_change.is_some())
            + self.enrollment.map_or(0, |enrollment| 1 + u64::from(enrollment.expires.is_some()));
        let mut writer = Writer::new();
        writer.map(7 + optional).key(0).bytes(self.client.as_bytes()).key(1).uint(self.version);
        writer.key(2).bytes(&self.sealed_name).key(3).uint(self.role as u64).key(4).bytes(self.domain.as_bytes());
        if let Some(keys) = &self.keys {
            writer.key(5).bytes(&keys.manifest).key(6).bytes(&keys.request);
        }
        writer.key(7).time(self.created);
        if let Some(last_good) = self.revoked {
            writer.key(8).link(last_good);
        }
        if let Some(enrollment) = &self.enrollment {
            writer.key(9).bytes(&enrollment.key);
        }
        writer.key(10).uint(self.signed_by as u64);
        if let Some(change) = self.last_change {
            writer.key(11).link(change);
        }
        if let Some(expires) = self.enrollment.and_then(|enrollment| enrollment.expires) {
            writer.key(12).time(expires);
        }
        writer.finish()
    }

    fn read(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body)?;
        let mut fields = reader.map()?;
        let mut record = Self {
            client: fields.required(0)?.id()?,
            version: fields.required(1)?.uint()?,
            sealed_name: fields.required(2)?.bytes(SEALED_TEXT_BYTES)?.to_vec(),
            role: Role::read(fields.required(3)?)?,
            domain: fields.required(4)?.id()?,
            keys: match fields.optional(5)?.map(Reader::fixed).transpose()? {
                Some(manifest) => Some(ClientPublic { manifest, request: fields.required(6)?.fixed()? }),
                None => None,
            },
            created: fields.required(7)?.time()?,
            revoked: fields.optional(8)?.map(read_revocation).transpose()?,
            enrollment: fields.optional(9)?.map(read_enrollment).transpose()?,
            signed_by: SignedBy::read(fields.required(10)?)?,
            last_change: fields.optional(11)?.map(read_last_change).transpose()?,
        };
        let expires = fields.optional(12)?.map(Reader::time).transpose()?;
        fields.end()?;
        match &mut record.enrollment {
            Some(enrollment) => enrollment.expires = expires,
            None if expires.is_some() => return Err(DecodeError::new(0, "the end of no enrollment")),
            None => {}
        }
        if record.keys.is_some() == record.enrollment.is_some() {
            return Err(DecodeError::new(0, "a client has either keys or an enrollment key"));
        }
        if record.last_change.is_some() && record.revoked.is_none() {
            return Err(DecodeError::new(0, "a client that was not revoked has no last change"));
        }
        Ok(record)
    }

    /// The key that may sign version 2, if this version still waits for the client to join.
    fn joinable(&self) -> Option<[u8; 32]> {
        self.enrollment.filter(|_| self.revoked.is_none()).map(|enrollment| enrollment.key)
    }

    /// Whether this version only adds keys to `enrollment` and keeps what the owner decided.
    fn joins(&self, enrollment: &ClientRecord) -> bool {
        self.keys.is_some()
            && self.revoked.is_none()
            && self.role == enrollment.role
            && self.domain == enrollment.domain
            && self.sealed_name == enrollment.sealed_name
    }
}

impl Role {
    /// The host name to show for a snapshot of a client with this role. A full client's claim is believed. A write-only
    /// client could claim any host, so its snapshots show the name that the owner registered.
    pub fn machine<'a>(self, claimed: &'a str, registered: &'a str) -> &'a str {
        match self {
            Self::Full => claimed,
            Self::WriteOnly => registered,
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let all = [Self::Full, Self::WriteOnly];
        reader.code("an unknown role", |code| all.into_iter().find(|role| *role as u64 == code))
    }
}

impl SignedBy {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let by = |code| [Self::Owner, Self::Enrollment].into_iter().find(|by| *by as u64 == code);
        reader.code("signed by neither the owner nor an enrollment key", by)
    }
}

/// The time at which the enrollment ends follows in a later field.
fn read_enrollment(reader: &mut Reader<'_>) -> Result<EnrollmentPublic, DecodeError> {
    Ok(EnrollmentPublic { key: reader.fixed()?, expires: None })
}

fn read_revocation(reader: &mut Reader<'_>) -> Result<(u64, ObjectHash), DecodeError> {
    let wrong = "a revocation names number 0, and no other, without a hash";
    reader.checked(wrong, Reader::link, |(number, hash)| (*number == 0) == (*hash == ObjectHash::NONE))
}

fn read_last_change(reader: &mut Reader<'_>) -> Result<(u64, ObjectHash), DecodeError> {
    reader.checked("a last change of number 0", Reader::link, |(number, _)| *number != 0)
}

/// Why a version of a client's record is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ClientError {
    /// The client has no version.
    #[error("client {client} is not registered")]
    Unknown { client: ClientId },
    /// A version before the newest is absent.
    #[error("version {version} of client {client} is missing")]
    Missing { client: ClientId, version: u64 },
    /// Malformed, forged, or stored under another name.
    #[error("version {version} of client {client} cannot be believed")]
    Record { client: ClientId, version: u64, source: RecordError },
    /// Signed with an enrollment key, although the client was not waiting to join.
    #[error("version {version} of client {client} is signed by an enrollment key, but the client did not wait to join")]
    NotEnrolled { client: ClientId, version: u64 },
    /// The joining device changed what only the owner decides.
    #[error("version {version} of client {client} joins it with another role, domain or name than the owner gave it")]
    Altered { client: ClientId, version: u64 },
}

#[cfg(test)]
mod tests;
