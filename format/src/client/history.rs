//! History: the versions of a client's record, verified, and which of them counts.

use super::{ClientError, ClientRecord, SignedBy};
use crate::id::{ClientId, RepositoryId};
use crate::order;
use crate::wire::record::{Kind, RecordError, Unverified};

/// The newest version of a client, provided that every version up to it exists and verifies in at least one copy. Use
/// this before letting a client write: an unreadable version might be its revocation.
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

/// The versions of a client that verify, even if others do not. Use this to restore: a damaged or forged extra version
/// must not make snapshots unreadable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientHistory {
    /// The newest version that verifies.
    pub newest: Option<ClientRecord>,
    /// Why other versions do not.
    pub refused: Vec<ClientError>,
}

impl ClientHistory {
    /// Verifies every version; each comes with the number in its name. Of several copies of a version, the first that
    /// verifies counts, and the others are not reported.
    pub fn read(repository: RepositoryId, owner_key: &[u8; 32], client: ClientId, versions: &[(u64, Vec<u8>)]) -> Self {
        let expected = Expected { repository, owner_key, client };
        let mut sorted: Vec<&(u64, Vec<u8>)> = versions.iter().collect();
        order::sort_by(&mut sorted, |a, b| a.0.cmp(&b.0));
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

impl ClientRecord {
    /// Reads one version and checks its name and signature. `first` is the verified version 1, if known.
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
}

/// The client whose versions are verified, and the owner's key.
struct Expected<'a> {
    repository: RepositoryId,
    owner_key: &'a [u8; 32],
    client: ClientId,
}
