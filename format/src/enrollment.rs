//! Enrollment: the line with which an owner lets another device join as a client.

use ed25519_dalek::SigningKey;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::client::{ClientRecord, EnrollmentPublic, Role};
use crate::id::{ClientId, DomainId, OwnerFingerprint, RepositoryId};
use crate::keys::domain::DomainKey;
use crate::keys::secret::Secret;
use crate::keys::text::{ALPHABET, five_bits};
use crate::limits::ADDRESS_BYTES;
use crate::time::Time;
use crate::wire::record::label;

/// What a device needs to become a client. Whoever uses it first joins; it works once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enrollment {
    /// The repository.
    pub repository: RepositoryId,
    /// The client that waits to join.
    pub client: ClientId,
    /// The domain it will write to.
    pub domain: DomainId,
    /// The fingerprint of the owner's public keys, which the descriptor must have.
    pub owner: OwnerFingerprint,
    /// The seed of the key that signs the client's second record.
    pub seed: Secret,
    /// Until when it may be used, by the store's clock; as in the client's first record.
    pub expires: Time,
    /// The domain's key, for a write-only client. A full client derives it from the owner secret.
    pub domain_key: Option<DomainKey>,
    /// The repository's address, as the owner reaches it; at most [`ADDRESS_BYTES`].
    pub address: String,
}

/// Why a text is not an enrollment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnrollmentError {
    /// It does not start with the prefix.
    #[error("an enrollment starts with {PREFIX}")]
    Prefix,
    /// It has another version.
    #[error("the enrollment has version {0}, this program knows version {VERSION}")]
    Version(u32),
    /// A character that is not a digit of the encoding.
    #[error("the enrollment has a character at position {position} that it cannot have")]
    Character {
        /// The character's position, from 1.
        position: usize,
    },
    /// It is cut off, or longer than any enrollment.
    #[error("the enrollment is incomplete")]
    Length,
    /// The checksum does not match: a part is missing or was altered.
    #[error("the enrollment was altered or is incomplete: its checksum does not fit")]
    Checksum,
    /// The content is invalid.
    #[error("the enrollment is malformed")]
    Malformed,
}

impl Enrollment {
    /// The role of the joining client: write-only if the enrollment has a domain key, else full.
    pub fn role(&self) -> Role {
        if self.domain_key.is_some() { Role::WriteOnly } else { Role::Full }
    }

    /// The key that signs the client's second record, once.
    pub fn key(&self) -> SigningKey {
        SigningKey::from_bytes(self.seed.expose())
    }

    /// The public part, which the client's first record holds.
    pub fn public(&self) -> EnrollmentPublic {
        EnrollmentPublic { key: self.key().verifying_key().to_bytes(), expires: Some(self.expires) }
    }

    /// Whether a client's record waits for this enrollment.
    pub fn fits(&self, record: &ClientRecord) -> bool {
        (record.role, record.domain) == (self.role(), self.domain) && record.enrollment == Some(self.public())
    }

    /// Encodes the line, in capitals, which QR codes hold best.
    ///
    /// # Panics
    /// If the address is longer than [`ADDRESS_BYTES`].
    pub fn encode(&self) -> Zeroizing<String> {
        assert!(self.address.len() <= ADDRESS_BYTES, "addresses are checked before an enrollment is made");
        let mut bytes = Zeroizing::new(Vec::with_capacity(FIXED + Secret::LEN + self.address.len() + CHECKSUM));
        bytes.push(self.role() as u8);
        bytes.extend_from_slice(self.repository.as_bytes());
        bytes.extend_from_slice(self.client.as_bytes());
        bytes.extend_from_slice(self.domain.as_bytes());
        bytes.extend_from_slice(self.owner.as_bytes());
        bytes.extend_from_slice(self.seed.expose());
        bytes.extend_from_slice(&self.expires.0.to_le_bytes());
        if let Some(key) = &self.domain_key {
            bytes.extend_from_slice(key.expose().expose());
        }
        bytes.extend_from_slice(self.address.as_bytes());
        let checksum = checksum(&bytes);
        bytes.extend_from_slice(&checksum);
        let digits = (8 * bytes.len()).div_ceil(5);
        let mut line = Zeroizing::new(String::with_capacity(PREFIX.len() + digits));
        line.push_str(PREFIX);
        (0..digits).for_each(|at| line.push(ALPHABET[five_bits(&bytes, at)] as char));
        line
    }

    /// Decodes a line. Ignores case, spaces and line ends.
    pub fn decode(line: &str) -> Result<Self, EnrollmentError> {
        if line.len() > LINE_BYTES {
            return Err(EnrollmentError::Length);
        }
        let mut characters = line.chars().enumerate().filter(|(_, c)| !c.is_whitespace());
        for expected in NAME.chars() {
            let found = characters.next().map(|(_, c)| c.to_ascii_uppercase());
            if found != Some(expected) {
                return Err(EnrollmentError::Prefix);
            }
        }
        version(&mut characters)?;
        let bytes = bytes_of(characters)?;
        let (body, sum) = bytes.split_at_checked(bytes.len().saturating_sub(CHECKSUM)).unwrap_or_default();
        if checksum(body) != sum {
            return Err(EnrollmentError::Checksum);
        }
        Self::read(body).ok_or(EnrollmentError::Malformed)
    }

    fn read(body: &[u8]) -> Option<Self> {
        let (role, rest) = body.split_first()?;
        let (repository, rest) = rest.split_at_checked(RepositoryId::LEN)?;
        let (client, rest) = rest.split_at_checked(ClientId::LEN)?;
        let (domain, rest) = rest.split_at_checked(DomainId::LEN)?;
        let (owner, rest) = rest.split_at_checked(OwnerFingerprint::LEN)?;
        let (seed, rest) = rest.split_first_chunk()?;
        let (expires, rest) = rest.split_first_chunk()?;
        let (domain_key, address) = match *role {
            role if role == Role::Full as u8 => (None, rest),
            role if role == Role::WriteOnly as u8 => {
                let (key, rest) = rest.split_first_chunk()?;
                (Some(DomainKey::from_secret(Secret::new(*key))), rest)
            }
            _ => return None,
        };
        if address.len() > ADDRESS_BYTES {
            return None;
        }
        Some(Self {
            repository: RepositoryId::from_slice(repository)?,
            client: ClientId::from_slice(client)?,
            domain: DomainId::from_slice(domain)?,
            owner: OwnerFingerprint::from_slice(owner)?,
            seed: Secret::new(*seed),
            expires: Time(i64::from_le_bytes(*expires)),
            domain_key,
            address: core::str::from_utf8(address).ok()?.to_owned(),
        })
    }
}

/// Reads the version and the hyphen after it.
fn version(characters: &mut impl Iterator<Item = (usize, char)>) -> Result<(), EnrollmentError> {
    let mut found = 0u32;
    for (at, character) in characters {
        match character.to_digit(10) {
            Some(digit) => found = found.saturating_mul(10).saturating_add(digit),
            None if character != '-' => return Err(EnrollmentError::Character { position: at + 1 }),
            None if found == VERSION => return Ok(()),
            None => return Err(EnrollmentError::Version(found)),
        }
    }
    Err(EnrollmentError::Length)
}

/// Decodes digits of five bits. Left-over bits must be zero, so that every enrollment has only one form.
fn bytes_of(characters: impl Iterator<Item = (usize, char)>) -> Result<Zeroizing<Vec<u8>>, EnrollmentError> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(LINE_BYTES));
    let (mut word, mut bits) = (0u32, 0);
    for (at, character) in characters {
        let upper = character.to_ascii_uppercase();
        let value = ALPHABET.iter().position(|&known| known as char == upper);
        let value = value.ok_or(EnrollmentError::Character { position: at + 1 })?;
        word = word << 5 | value as u32;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits) as u8);
            word &= (1 << bits) - 1;
        }
    }
    if word != 0 || bits >= 5 { Err(EnrollmentError::Length) } else { Ok(bytes) }
}

fn checksum(body: &[u8]) -> [u8; CHECKSUM] {
    let digest = Sha256::new_with_prefix(label("join")).chain_update(body).finalize();
    digest[..CHECKSUM].try_into().expect("8 of 32 bytes")
}

const NAME: &str = "COPAL-JOIN-";
const PREFIX: &str = "COPAL-JOIN-1-";
const VERSION: u32 = 1;
const CHECKSUM: usize = 8;
/// The bytes before the domain key or the address.
const FIXED: usize = 1 + 3 * 16 + 32 + 32 + 8;
/// The longest line to decode.
const LINE_BYTES: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn enrollment(role: Role) -> Enrollment {
        Enrollment {
            repository: RepositoryId([1; 16]),
            client: ClientId([2; 16]),
            domain: DomainId([3; 16]),
            owner: OwnerFingerprint([4; 32]),
            seed: Secret::new([5; 32]),
            expires: Time(0x0707_0707_0707_0707),
            domain_key: (role == Role::WriteOnly).then(|| DomainKey::from_secret(Secret::new([6; 32]))),
            address: "s3://bucket/prefix".into(),
        }
    }

    #[test]
    fn the_line_of_a_write_only_client_never_changes() {
        let line = "COPAL-JOIN-1-\
            040G2081040G2081040G2081040G40G2081040G2081040G2081040R30C1G60R30C1G60R30C1G60R40G2081040G2081040G20\
            81040G2081040G2081040G2081040G2GA1850M2GA1850M2GA1850M2GA1850M2GA1850M2GA1850M2GA1R70W3GE1R70W30C1G6\
            0R30C1G60R30C1G60R30C1G60R30C1G60R30C1G60R30CWSK78QJYRKNCDNPAX1FE1S6ASK9F015HBA0RMK0PDG";
        assert_eq!(*enrollment(Role::WriteOnly).encode(), line);
        assert_eq!(Enrollment::decode(line), Ok(enrollment(Role::WriteOnly)));
    }

    #[test]
    fn a_record_fits_only_with_the_role_the_domain_the_key_and_the_end_of_its_enrollment() {
        let enrollment = enrollment(Role::WriteOnly);
        let record = ClientRecord {
            enrollment: Some(enrollment.public()),
            ..ClientRecord::new(enrollment.client, Role::WriteOnly, enrollment.domain, Time(1))
        };
        assert!(enrollment.fits(&record));
        let other = |key, expires| Some(EnrollmentPublic { key, expires });
        let public = enrollment.public();
        for wrong in [
            ClientRecord { role: Role::Full, ..record.clone() },
            ClientRecord { domain: DomainId([9; 16]), ..record.clone() },
            ClientRecord { enrollment: None, ..record.clone() },
            ClientRecord { enrollment: other([9; 32], public.expires), ..record.clone() },
            ClientRecord { enrollment: other(public.key, Some(Time(9))), ..record.clone() },
        ] {
            assert!(!enrollment.fits(&wrong), "{wrong:?}");
        }
    }

    #[test]
    fn a_line_reads_back_in_either_case_with_spaces_and_line_ends() {
        for role in [Role::Full, Role::WriteOnly] {
            let line = enrollment(role).encode();
            let typed = format!(" {}\r\n", line.to_lowercase().replace("00", "0 \n0"));
            assert_eq!(Enrollment::decode(&typed), Ok(enrollment(role)));
            assert_eq!(enrollment(role).role(), role);
        }
    }

    #[test]
    fn any_altered_or_missing_character_is_noticed() {
        let line = enrollment(Role::WriteOnly).encode();
        for at in PREFIX.len()..line.len() {
            let mut altered = line.to_string();
            altered.replace_range(at..=at, if &line[at..=at] == "7" { "8" } else { "7" });
            assert!(Enrollment::decode(&altered).is_err(), "at {at}");
            assert!(Enrollment::decode(&line[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_line_is_told() {
        let line = enrollment(Role::Full).encode();
        assert_eq!(Enrollment::decode("hello"), Err(EnrollmentError::Prefix));
        assert_eq!(Enrollment::decode(&line.replace("JOIN-1", "JOIN-2")), Err(EnrollmentError::Version(2)));
        let position = PREFIX.len() + 1;
        assert_eq!(Enrollment::decode(&format!("{PREFIX}!")), Err(EnrollmentError::Character { position }));
        assert_eq!(Enrollment::decode(PREFIX), Err(EnrollmentError::Checksum));
        assert_eq!(Enrollment::decode(&"0".repeat(LINE_BYTES + 1)), Err(EnrollmentError::Length));
    }

    #[test]
    fn an_enrollment_is_not_printed() {
        let shown = format!("{:?}", enrollment(Role::WriteOnly));
        assert!(!shown.contains("5, 5") && !shown.contains("6, 6"), "{shown}");
    }

    proptest! {
        #[test]
        fn every_enrollment_reads_back(seed: [u8; 32], expires: i64, key in prop::option::of(any::<[u8; 32]>()), address in "\\PC{0,200}") {
            let domain_key = key.map(|key| DomainKey::from_secret(Secret::new(key)));
            let enrollment = Enrollment { seed: Secret::new(seed), expires: Time(expires), domain_key, address, ..enrollment(Role::Full) };
            prop_assert_eq!(Enrollment::decode(&enrollment.encode()), Ok(enrollment));
        }
    }
}
