//! Session keys: a random key for each run of a client, wrapped in a session record for the owner and other recipients.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use x_wing::Decapsulate;
use zeroize::Zeroize;

use super::{NONCE, TAG, gcm_open, gcm_seal};
use crate::id::{DomainId, RecipientId, RepositoryId, SessionId};
use crate::keys::owner::{KemPublic, OwnerSecret};
use crate::keys::secret::Secret;
use crate::limits::{SESSION_RECIPIENTS, SESSION_RECORD_BYTES};
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};
use crate::wire::record::label;

/// The key with which one run of a client seals its blocks. It exists only in memory, and no second run uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionKey(Secret);

impl SessionKey {
    /// Makes a key of 32 random bytes.
    pub fn new(random: Secret) -> Self {
        Self(random)
    }

    /// Wraps the key for each recipient, the owner first. Each recipient comes with 64 random bytes.
    ///
    /// # Panics
    /// If there is no recipient, or there are more than a record may have.
    pub fn record(
        &self,
        repository: RepositoryId,
        domain: DomainId,
        recipients: &[(&KemPublic, [u8; 64])],
    ) -> SessionRecord {
        assert!((1..=SESSION_RECIPIENTS).contains(&recipients.len()), "a session key has 1 to 16 recipients");
        let commitment = self.commitment(repository, domain);
        let wrap = |(public, random): &(&KemPublic, [u8; 64])| {
            let mut random = (*random).into();
            let (ciphertext, mut shared) = public.encapsulation_key().encapsulate_deterministic(&random);
            let kek = Secret::new(shared.into());
            shared.zeroize();
            random.zeroize();
            let mut wrap =
                Wrap { recipient: public.recipient_id(), ciphertext: Box::new(ciphertext.into()), sealed: [0; SEALED] };
            let associated = wrap.associated(repository, domain, &commitment);
            let sealed = gcm_seal(&wrap.key(&kek, repository, domain), [0; NONCE], &associated, self.0.expose());
            wrap.sealed.copy_from_slice(&sealed);
            wrap
        };
        let wraps: Vec<Wrap> = recipients.iter().map(wrap).collect();
        let bytes = encode(domain, &commitment, &wraps);
        SessionRecord { bytes, domain, commitment, wraps }
    }

    /// The key that seals blocks, for a host that seals them with its own cipher ([`crate::block::PendingBlock`]).
    pub fn block_key(&self) -> Secret {
        self.0.derive("block", b"")
    }

    /// The key from which nonces are derived, for preparing blocks for that cipher ([`crate::seal::Nonces`]).
    pub fn nonce_key(&self) -> Secret {
        self.0.derive("nonce", b"")
    }

    fn commitment(&self, repository: RepositoryId, domain: DomainId) -> [u8; 32] {
        let context = [repository.as_bytes(), domain.as_bytes()].concat();
        *self.0.derive("session-commit", &context).expose()
    }
}

/// The public part of a session, stored in every pack and manifest that needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    bytes: Vec<u8>,
    domain: DomainId,
    commitment: [u8; 32],
    wraps: Vec<Wrap>,
}

impl SessionRecord {
    /// Parses a record. Its wrapped keys are not verified before [`SessionRecord::unwrap`].
    pub fn parse(bytes: &[u8]) -> Result<Self, SessionError> {
        if bytes.len() > SESSION_RECORD_BYTES {
            return Err(DecodeError::new(SESSION_RECORD_BYTES, "a session record is longer than allowed").into());
        }
        let mut reader = Reader::new(bytes)?;
        let count = reader.array(4)?;
        let suite = if count == 0 { 0 } else { reader.uint()? };
        if suite != SUITE {
            return Err(SessionError::Suite { suite });
        }
        if count != 4 {
            return Err(reader.error("an array has the wrong number of items").into());
        }
        let domain = reader.id()?;
        let commitment = reader.fixed()?;
        let wraps = reader.list(SESSION_RECIPIENTS, |reader| {
            reader.tuple(3)?;
            let recipient = reader.id()?;
            Ok(Wrap { recipient, ciphertext: Box::new(reader.fixed()?), sealed: reader.fixed()? })
        })?;
        if wraps.is_empty() {
            return Err(reader.error("a session record without a recipient").into());
        }
        Ok(Self { bytes: bytes.to_vec(), domain, commitment, wraps })
    }

    /// The stored bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The session's id within its repository.
    pub fn id(&self, repository: RepositoryId) -> SessionId {
        let hash = Sha256::new_with_prefix(label("session")).chain_update(repository.as_bytes());
        let digest = hash.chain_update(&self.bytes).finalize();
        SessionId::from_slice(&digest[..SessionId::LEN]).expect("16 of 32 bytes")
    }

    /// The domain of the session's chunks.
    pub fn domain(&self) -> DomainId {
        self.domain
    }

    /// Unwraps the key for the owner, and checks that the record commits to it.
    pub fn unwrap(&self, owner: &OwnerSecret) -> Result<SessionKey, UnwrapError> {
        let repository = owner.repository();
        let session = self.id(repository);
        let recipient = owner.kem_public().recipient_id();
        let wrap = self.wraps.iter().find(|wrap| wrap.recipient == recipient);
        let wrap = wrap.ok_or(UnwrapError::NotARecipient { session })?;
        let mut shared = owner.decapsulation_key().decapsulate(&(*wrap.ciphertext).into());
        let kek = Secret::new(shared.into());
        shared.zeroize();
        let associated = wrap.associated(repository, self.domain, &self.commitment);
        let key = gcm_open(&wrap.key(&kek, repository, self.domain), [0; NONCE], &associated, &wrap.sealed);
        let key = key.ok_or(UnwrapError::Forged { session })?;
        let key = SessionKey(Secret::new(key[..].try_into().expect("48 bytes less the tag")));
        let commitment = key.commitment(repository, self.domain);
        if bool::from(commitment.ct_eq(&self.commitment)) { Ok(key) } else { Err(UnwrapError::Commitment { session }) }
    }
}

/// Why bytes are not a session record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum SessionError {
    /// The record is malformed.
    #[error("malformed session record")]
    Malformed(#[from] DecodeError),
    /// A suite of algorithms this program does not know.
    #[error("session record has suite {suite}, this program knows suite 1")]
    Suite { suite: u64 },
}

/// Why a session's key cannot be unwrapped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum UnwrapError {
    /// The key was not wrapped for this owner.
    #[error("session {session} was not sealed for this repository's owner")]
    NotARecipient { session: SessionId },
    /// The record was altered, or belongs to another repository.
    #[error("session {session} has a forged record")]
    Forged { session: SessionId },
    /// The record wraps another key than it commits to.
    #[error("session {session} does not commit to the key it wraps")]
    Commitment { session: SessionId },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Wrap {
    recipient: RecipientId,
    ciphertext: Box<[u8; CIPHERTEXT]>,
    sealed: [u8; SEALED],
}

impl Wrap {
    /// The key that seals this wrap, from the secret that the KEM shared. It seals only once.
    fn key(&self, shared: &Secret, repository: RepositoryId, domain: DomainId) -> Secret {
        let context = [repository.as_bytes(), domain.as_bytes(), self.recipient.as_bytes()].concat();
        shared.derive("session-wrap", &context)
    }

    fn associated(&self, repository: RepositoryId, domain: DomainId, commitment: &[u8; 32]) -> Vec<u8> {
        let (repository, domain, recipient) = (repository.as_bytes(), domain.as_bytes(), self.recipient.as_bytes());
        let suite = [SUITE as u8];
        [&label("session-wrap"), repository, &suite, domain, commitment, recipient, &self.ciphertext[..]].concat()
    }
}

fn encode(domain: DomainId, commitment: &[u8; 32], wraps: &[Wrap]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.array(4).uint(SUITE).bytes(domain.as_bytes()).bytes(commitment).array(wraps.len());
    for wrap in wraps {
        writer.array(3).bytes(wrap.recipient.as_bytes()).bytes(&wrap.ciphertext[..]).bytes(&wrap.sealed);
    }
    writer.finish()
}

/// X-Wing (draft 06), HKDF-SHA-256, AES-256-GCM.
const SUITE: u64 = 1;
const CIPHERTEXT: usize = x_wing::CIPHERTEXT_SIZE;
const SEALED: usize = 32 + TAG;

#[cfg(test)]
mod tests {
    use super::*;

    const DOMAIN: DomainId = DomainId([6; 16]);

    fn owner(byte: u8) -> OwnerSecret {
        let secret = || Secret::new([byte; 32]);
        OwnerSecret::new(RepositoryId([1; 16]), secret(), secret(), secret())
    }

    fn key() -> SessionKey {
        SessionKey::new(Secret::new([5; 32]))
    }

    fn record() -> SessionRecord {
        let publics = [owner(2).kem_public(), owner(3).kem_public()];
        key().record(RepositoryId([1; 16]), DOMAIN, &[(&publics[0], [7; 64]), (&publics[1], [8; 64])])
    }

    #[test]
    fn every_recipient_unwraps_the_key_and_nobody_else() {
        let record = SessionRecord::parse(record().bytes()).unwrap();
        assert_eq!(record.domain(), DOMAIN);
        assert_eq!(record.unwrap(&owner(2)), Ok(key()));
        assert_eq!(record.unwrap(&owner(3)), Ok(key()));
        let session = record.id(RepositoryId([1; 16]));
        assert_eq!(record.unwrap(&owner(4)), Err(UnwrapError::NotARecipient { session }));
    }

    #[test]
    fn a_record_does_not_open_in_another_repository() {
        let elsewhere =
            OwnerSecret::new(RepositoryId([2; 16]), Secret::new([2; 32]), Secret::new([2; 32]), Secret::new([2; 32]));
        let session = record().id(RepositoryId([2; 16]));
        assert_ne!(session, record().id(RepositoryId([1; 16])));
        assert_eq!(record().unwrap(&elsewhere), Err(UnwrapError::Forged { session }));
    }

    #[test]
    fn an_altered_record_is_refused() {
        let bytes = key().record(RepositoryId([1; 16]), DOMAIN, &[(&owner(2).kem_public(), [7; 64])]).bytes().to_vec();
        let (head, tail) = (0..100, bytes.len() - 60..bytes.len());
        for at in head.chain((100..bytes.len()).step_by(97)).chain(tail) {
            let mut altered = bytes.clone();
            altered[at] ^= 1;
            let opened = SessionRecord::parse(&altered).map(|record| record.unwrap(&owner(2)));
            assert!(!matches!(opened, Ok(Ok(_))), "byte {at}");
        }
    }

    #[test]
    fn a_key_that_the_record_does_not_commit_to_is_refused() {
        let mut record = record();
        let repository = RepositoryId([1; 16]);
        record.commitment = [0; 32];
        let kem = owner(2).decapsulation_key().decapsulate(&(*record.wraps[0].ciphertext).into());
        let wrap = &mut record.wraps[0];
        let associated = wrap.associated(repository, DOMAIN, &[0; 32]);
        let kek = wrap.key(&Secret::new(kem.into()), repository, DOMAIN);
        wrap.sealed.copy_from_slice(&gcm_seal(&kek, [0; NONCE], &associated, key().0.expose()));
        let session = record.id(repository);
        assert_eq!(record.unwrap(&owner(2)), Err(UnwrapError::Commitment { session }));
    }

    #[test]
    fn a_suite_this_program_does_not_know_is_named() {
        let mut writer = Writer::new();
        writer.array(4).uint(2).bool(true).bool(true).bool(true);
        assert_eq!(SessionRecord::parse(&writer.finish()), Err(SessionError::Suite { suite: 2 }));
    }

    #[test]
    fn a_record_that_ends_early_is_refused() {
        let bytes = record().bytes().to_vec();
        for end in (0..bytes.len()).step_by(7) {
            assert!(SessionRecord::parse(&bytes[..end]).is_err(), "cut at {end}");
        }
    }
}
