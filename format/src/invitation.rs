//! Invitation: what an owner makes so that another device may join: the record that waits for it, and the line for it.

use zeroize::Zeroizing;

use crate::client::{ClientRecord, Role};
use crate::enrollment::Enrollment;
use crate::id::{ClientId, DomainId};
use crate::keys::owner::{OwnerSecret, TextPurpose};
use crate::keys::secret::Secret;
use crate::limits::{ADDRESS_BYTES, TEXT_BYTES};
use crate::time::Time;

/// An invited client: version 1 of its record, and what the device is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// The record, to be created before anybody is given the line.
    pub record: ClientRecord,
    /// What the device is given; never stored.
    pub enrollment: Enrollment,
}

/// Whom an owner invites. Ids and the seed must be random.
#[derive(Clone, Debug)]
pub struct Invited<'a> {
    /// The future client.
    pub client: ClientId,
    /// Its name for people.
    pub name: &'a str,
    /// What it will be allowed to do.
    pub role: Role,
    /// The domain it will write to.
    pub domain: DomainId,
    /// The seed of the key with which it joins.
    pub seed: Secret,
    /// The present, by the store's clock.
    pub created: Time,
    /// Until when it may join.
    pub expires: Time,
    /// The repository's address.
    pub address: String,
}

impl Invitation {
    /// Invites a client.
    pub fn new(owner: &OwnerSecret, invited: Invited<'_>) -> Result<Self, InvitationError> {
        let Invited { client, name, role, domain, seed, created, expires, address } = invited;
        if name.is_empty() || name.len() > TEXT_BYTES {
            return Err(InvitationError::Name { bytes: name.len() });
        }
        if expires <= created || expires.0.saturating_sub(created.0) > OPEN_NANOSECONDS_MAX {
            return Err(InvitationError::End);
        }
        if address.len() > ADDRESS_BYTES {
            return Err(InvitationError::Address);
        }
        let enrollment = Enrollment {
            repository: owner.repository(),
            client,
            domain,
            owner: owner.fingerprint(),
            seed,
            expires,
            domain_key: (role == Role::WriteOnly).then(|| owner.domain_key(domain)),
            address,
        };
        let record = ClientRecord {
            sealed_name: owner.seal_text(TextPurpose::ClientName, &client.0, name),
            enrollment: Some(enrollment.public()),
            ..ClientRecord::new(client, role, domain, created)
        };
        Ok(Self { record, enrollment })
    }

    /// A link that opens a gateway's page and joins there.
    pub fn link(page: &str, line: &str) -> Zeroizing<String> {
        Zeroizing::new([page, "/", LINK, line].concat())
    }
}

/// Why an invitation cannot be made.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum InvitationError {
    /// The name is empty or too long.
    #[error("a client's name has 1 to {TEXT_BYTES} bytes, not {bytes}")]
    Name { bytes: usize },
    /// It would end at once, or after more than 90 days.
    #[error("an enrollment is open for 90 days at most, and not for none")]
    End,
    /// The repository's address is too long.
    #[error("an address has at most {ADDRESS_BYTES} bytes")]
    Address,
}

/// Precedes the line in a link. Browsers do not send this part to a server, and the page removes it first of all.
pub const LINK: &str = "#join=";
/// 90 days.
const OPEN_NANOSECONDS_MAX: i64 = 90 * 86_400 * 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::read_chain;
    use crate::id::RepositoryId;

    fn owner() -> OwnerSecret {
        let secret = |byte| Secret::new([byte; 32]);
        OwnerSecret::new(RepositoryId([1; 16]), secret(2), secret(3), secret(4))
    }

    fn invited(role: Role, days: i64) -> Invited<'static> {
        let expires = Time(days * 86_400 * 1_000_000_000);
        let (client, domain) = (ClientId([5; 16]), DomainId([6; 16]));
        let address = "https://backup.example".to_owned();
        Invited { client, name: "phone", role, domain, seed: Secret::new([7; 32]), created: Time(0), expires, address }
    }

    #[test]
    fn the_record_waits_for_whoever_has_the_line() {
        for role in [Role::Full, Role::WriteOnly] {
            let Invitation { record, enrollment } = Invitation::new(&owner(), invited(role, 7)).unwrap();
            let line = Enrollment::decode(&enrollment.encode()).unwrap();
            assert_eq!((line.role(), &line), (role, &enrollment));
            let bytes = record.sign(owner().repository(), &owner().signing_key());
            let key = owner().signing_key().verifying_key().to_bytes();
            let read = read_chain(owner().repository(), &key, record.client, &[(1, bytes)]).unwrap();
            assert_eq!(read.enrollment.unwrap().key, line.key().verifying_key().to_bytes());
            assert_eq!(read.name(&owner()).as_deref(), Some("phone"));
            assert_eq!(line.domain_key.is_some(), role == Role::WriteOnly);
        }
    }

    #[test]
    fn an_invitation_ends_after_90_days_at_most() {
        assert!(Invitation::new(&owner(), invited(Role::Full, 90)).is_ok());
        for days in [91, 0, -1] {
            assert_eq!(Invitation::new(&owner(), invited(Role::Full, days)), Err(InvitationError::End));
        }
    }

    #[test]
    fn a_name_is_neither_empty_nor_endless() {
        for name in [String::new(), "n".repeat(TEXT_BYTES + 1)] {
            let refused = Invitation::new(&owner(), Invited { name: &name, ..invited(Role::Full, 7) });
            assert_eq!(refused, Err(InvitationError::Name { bytes: name.len() }));
        }
    }
}
