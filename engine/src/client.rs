//! Clients: the devices that may write, as the owner registered them, from enrollment to revocation.

use ed25519_dalek::SigningKey;

use crate::id::{ClientId, DomainId, ObjectHash, RepositoryId};
use crate::limits::SEALED_TEXT_BYTES;
use crate::time::Time;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};
use crate::wire::record::{self, Kind, RecordError, Unverified};

/// One version of what is known about a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRecord {
    /// The client.
    pub client: ClientId,
    /// The version in the object's name; versions start at 1.
    pub version: u64,
    /// Its name for people, a sealed text.
    pub sealed_name: Vec<u8>,
    /// What it may do.
    pub role: Role,
    /// The domain it writes to.
    pub domain: DomainId,
    /// Its public keys; none while it waits to be joined.
    pub keys: Option<ClientPublic>,
    /// When this version was made.
    pub created: Time,
    /// The number and hash of the last manifest that is still good; number 0 with [`ObjectHash::NONE`] if none is.
    pub revoked: Option<(u64, ObjectHash)>,
    /// Of a revoked client, the number and hash of the repository's last change up to which its own still count; none if
    /// none of them does.
    pub last_change: Option<(u64, ObjectHash)>,
    /// The key that may join it; only while it waits to be joined.
    pub enrollment: Option<[u8; 32]>,
    /// Who signed this version.
    pub signed_by: SignedBy,
}

/// What a client may do.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Knows the owner secret: may read, forget, and decide about manifests.
    Full = 0,
    /// Adds snapshots to its own domain, and can do nothing else.
    WriteOnly = 1,
}

/// A client's public keys.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ClientPublic {
    /// Verifies manifests and changes.
    pub manifest: [u8; 32],
    /// Verifies requests to the gateway.
    pub request: [u8; 32],
}

/// Who signed a client record.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum SignedBy {
    /// The owner.
    Owner = 0,
    /// The enrollment key that version 1 names: the client joined.
    Enrollment = 1,
}

impl ClientRecord {
    /// Writes the record, signed by the owner or with the enrollment key, as `signed_by` says.
    pub fn sign(&self, repository: RepositoryId, key: &SigningKey) -> Vec<u8> {
        record::sign(Kind::Client, repository, &self.body(), key)
    }

    /// Whether a manifest of this number and hash may count: the client has joined, and the manifest is not later than
    /// the last good one if the client was revoked.
    pub fn accepts(&self, number: u64, hash: ObjectHash) -> bool {
        match self.revoked {
            _ if self.keys.is_none() => false,
            Some((last, good)) => number < last || (number == last && hash == good),
            None => true,
        }
    }

    /// Whether a change of this number and hash may count: the client is a full one that has joined, and if it was
    /// revoked, the change is not later than the last one that still counts.
    pub fn accepts_change(&self, number: u64, hash: ObjectHash) -> bool {
        match (self.revoked, self.last_change) {
            _ if self.keys.is_none() || self.role != Role::Full => false,
            (None, _) => true,
            (Some(_), Some((last, good))) => number < last || (number == last && hash == good),
            (Some(_), None) => false,
        }
    }

    /// The version that joins an enrollment, with the device's own keys: what the owner decided stays.
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

    /// The next version, by which the owner revokes the client: what is still good of its manifests and changes.
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
            + u64::from(self.enrollment.is_some());
        let mut writer = Writer::new();
        writer.map(7 + optional).key(0).bytes(self.client.as_bytes()).key(1).uint(self.version);
        writer.key(2).bytes(&self.sealed_name).key(3).uint(self.role as u64).key(4).bytes(self.domain.as_bytes());
        if let Some(keys) = &self.keys {
            writer.key(5).bytes(&keys.manifest).key(6).bytes(&keys.request);
        }
        writer.key(7).time(self.created);
        if let Some((number, hash)) = &self.revoked {
            writer.key(8).array(2).uint(*number).bytes(hash.as_bytes());
        }
        if let Some(key) = &self.enrollment {
            writer.key(9).bytes(key);
        }
        writer.key(10).uint(self.signed_by as u64);
        if let Some((number, hash)) = &self.last_change {
            writer.key(11).array(2).uint(*number).bytes(hash.as_bytes());
        }
        writer.finish()
    }

    fn read(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body)?;
        let mut fields = reader.map()?;
        let record = Self {
            client: ClientId(fields.required(0)?.fixed()?),
            version: fields.required(1)?.uint()?,
            sealed_name: fields.required(2)?.bytes(SEALED_TEXT_BYTES)?.to_vec(),
            role: Role::read(fields.required(3)?)?,
            domain: DomainId(fields.required(4)?.fixed()?),
            keys: match fields.optional(5)?.map(Reader::fixed).transpose()? {
                Some(manifest) => Some(ClientPublic { manifest, request: fields.required(6)?.fixed()? }),
                None => None,
            },
            created: fields.required(7)?.time()?,
            revoked: fields.optional(8)?.map(read_revocation).transpose()?,
            enrollment: fields.optional(9)?.map(Reader::fixed).transpose()?,
            signed_by: SignedBy::read(fields.required(10)?)?,
            last_change: fields.optional(11)?.map(read_last_change).transpose()?,
        };
        fields.end()?;
        if record.keys.is_some() == record.enrollment.is_some() {
            return Err(DecodeError::new(0, "a client has either keys or an enrollment key"));
        }
        if record.last_change.is_some() && record.revoked.is_none() {
            return Err(DecodeError::new(0, "a client that was not revoked has no last change"));
        }
        Ok(record)
    }

    /// Reads one version and checks its name and signature. `first` is what is known of version 1.
    fn verify(
        expected: &Expected<'_>,
        version: u64,
        first: Option<&ClientRecord>,
        bytes: &[u8],
    ) -> Result<Self, ClientError> {
        let client = expected.client;
        let refused = |source| ClientError::Record { client, version, source };
        let unverified = Unverified::parse(Kind::Client, bytes).map_err(refused)?;
        let claimed = Self::read(unverified.claimed_body()).map_err(RecordError::malformed(Kind::Client));
        let claimed = claimed.map_err(refused)?;
        match claimed.signed_by {
            SignedBy::Owner => unverified.verify(expected.repository, expected.owner_key).map_err(refused)?,
            SignedBy::Enrollment => {
                let key = first.filter(|_| claimed.version == 2).and_then(ClientRecord::joinable);
                let key = key.ok_or(ClientError::NotEnrolled { client, version })?;
                unverified.verify(expected.repository, &key).map_err(refused)?
            }
        };
        if (claimed.client, claimed.version) != (client, version) {
            return Err(refused(RecordError::Misplaced { kind: Kind::Client.name() }));
        }
        match first {
            Some(first) if claimed.signed_by == SignedBy::Enrollment && !claimed.joins(first) => {
                Err(ClientError::Altered { client, version })
            }
            _ => Ok(claimed),
        }
    }

    /// The key that may sign version 2, if this version waits for that.
    fn joinable(&self) -> Option<[u8; 32]> {
        self.enrollment.filter(|_| self.revoked.is_none())
    }

    /// Whether this adds keys to an enrollment and leaves alone what the owner decided.
    fn joins(&self, enrollment: &ClientRecord) -> bool {
        self.keys.is_some()
            && self.revoked.is_none()
            && self.role == enrollment.role
            && self.domain == enrollment.domain
            && self.sealed_name == enrollment.sealed_name
    }
}

impl Role {
    /// The machine that a snapshot of a client of this role stands for. A full client's word counts. A write-only client may
    /// claim any host: its snapshots stand for the name under which the owner has registered it, and for nothing else.
    pub fn machine<'a>(self, claimed: &'a str, registered: &'a str) -> &'a str {
        match self {
            Self::Full => claimed,
            Self::WriteOnly => registered,
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let unknown = reader.error("an unknown role");
        match reader.uint()? {
            0 => Ok(Self::Full),
            1 => Ok(Self::WriteOnly),
            _ => Err(unknown),
        }
    }
}

impl SignedBy {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let unknown = reader.error("signed by neither the owner nor an enrollment key");
        match reader.uint()? {
            0 => Ok(Self::Owner),
            1 => Ok(Self::Enrollment),
            _ => Err(unknown),
        }
    }
}

fn read_revocation(reader: &mut Reader<'_>) -> Result<(u64, ObjectHash), DecodeError> {
    let wrong = reader.error("a revocation names number 0, and no other, without a hash");
    reader.tuple(2)?;
    let (number, hash) = (reader.uint()?, ObjectHash(reader.fixed()?));
    if (number == 0) == (hash == ObjectHash::NONE) { Ok((number, hash)) } else { Err(wrong) }
}

fn read_last_change(reader: &mut Reader<'_>) -> Result<(u64, ObjectHash), DecodeError> {
    let zero = reader.error("a last change of number 0");
    reader.tuple(2)?;
    let (number, hash) = (reader.uint()?, ObjectHash(reader.fixed()?));
    if number == 0 { Err(zero) } else { Ok((number, hash)) }
}

/// A version of a client that may not be believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// No version exists.
    #[error("client {client} is not registered")]
    Unknown {
        /// The client.
        client: ClientId,
    },
    /// A version before the newest is absent.
    #[error("version {version} of client {client} is missing")]
    Missing {
        /// The client.
        client: ClientId,
        /// The absent version.
        version: u64,
    },
    /// Malformed, forged, or read from another name.
    #[error("version {version} of client {client} cannot be believed")]
    Record {
        /// The client.
        client: ClientId,
        /// The version read.
        version: u64,
        /// What is wrong with it.
        #[source]
        source: RecordError,
    },
    /// Signed with an enrollment key where nobody was to be enrolled.
    #[error("version {version} of client {client} is signed by an enrollment key, but the client did not wait to join")]
    NotEnrolled {
        /// The client.
        client: ClientId,
        /// The version read.
        version: u64,
    },
    /// Whoever joined has changed what the owner decides.
    #[error("version {version} of client {client} joins it with another role, domain or name than the owner gave it")]
    Altered {
        /// The client.
        client: ClientId,
        /// The version read.
        version: u64,
    },
}

/// The newest version of a client, if every version up to it is there and can be believed, from whichever copy. Whoever
/// lets a client write asks this: a version that cannot be read might be its revocation.
pub fn read_chain(
    repository: RepositoryId,
    owner_key: &[u8; 32],
    client: ClientId,
    versions: &[(u64, Vec<u8>)],
) -> Result<ClientRecord, ClientError> {
    let history = ClientHistory::read(repository, owner_key, client, versions);
    match history.refused.into_iter().next() {
        Some(error) => Err(error),
        None => history.newest.ok_or(ClientError::Unknown { client }),
    }
}

/// What can be believed about a client although some of its versions cannot. Whoever restores asks this: nobody shall
/// make snapshots unreadable by adding a version that is damaged or forged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientHistory {
    /// The newest version that can be believed.
    pub newest: Option<ClientRecord>,
    /// What is wrong with the others.
    pub refused: Vec<ClientError>,
}

impl ClientHistory {
    /// Verifies every version, each given with the number in its name. Of copies of one version the first that can be
    /// believed counts, and nothing is said of the others.
    pub fn read(repository: RepositoryId, owner_key: &[u8; 32], client: ClientId, versions: &[(u64, Vec<u8>)]) -> Self {
        let expected = Expected { repository, owner_key, client };
        let mut sorted: Vec<&(u64, Vec<u8>)> = versions.iter().collect();
        sorted.sort_by_key(|(version, _)| *version);
        let mut history = Self { newest: None, refused: Vec::new() };
        let mut first: Option<ClientRecord> = None;
        let mut due = 1;
        for copies in sorted.chunk_by(|(a, _), (b, _)| a == b) {
            let version = copies[0].0;
            if version != due {
                history.refused.push(ClientError::Missing { client, version: due });
            }
            due = version.saturating_add(1);
            let mut read =
                copies.iter().map(|(_, bytes)| ClientRecord::verify(&expected, version, first.as_ref(), bytes));
            let mut refused = Vec::new();
            match read.find_map(|read| read.map_err(|error| refused.push(error)).ok()) {
                Some(record) => {
                    first = first.or_else(|| (version == 1).then(|| record.clone()));
                    history.newest = Some(record);
                }
                None => history.refused.extend(refused.into_iter().take(1)),
            }
        }
        history
    }
}

/// Whose versions are verified, and against which key.
struct Expected<'a> {
    repository: RepositoryId,
    owner_key: &'a [u8; 32],
    client: ClientId,
}

#[cfg(test)]
mod tests;
