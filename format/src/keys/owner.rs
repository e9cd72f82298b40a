//! Owner secret: the secret of a repository's owner. It gives access to everything in the repository.

use core::fmt;

use ed25519_dalek::SigningKey;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use x_wing::{DecapsulationKey, Decapsulator, EncapsulationKey, KeyExport, TryKeyInit};
use zeroize::Zeroizing;

use super::{NONCE, TAG, gcm_open, gcm_seal};
use crate::id::{DomainId, OwnerFingerprint, RecipientId, RepositoryId};
use crate::keys::domain::DomainKey;
use crate::keys::secret::Secret;
use crate::wire::record::label;

/// The repository's id, and three independent random values from which all its keys are derived.
#[derive(Clone)]
pub struct OwnerSecret {
    repository: RepositoryId,
    root: Secret,
    /// Kept with its public half: computing that from the seed takes as long as opening a session.
    kem: Box<DecapsulationKey>,
    kem_public: KemPublic,
    signing_seed: Secret,
}

impl OwnerSecret {
    /// The encoded length, as key slots wrap it.
    pub const LEN: usize = 112;

    /// Joins the parts of a new repository's secret.
    pub fn new(repository: RepositoryId, root: Secret, kem_seed: Secret, signing_seed: Secret) -> Self {
        let kem = Box::new(DecapsulationKey::from(*kem_seed.expose()));
        let kem_public = KemPublic::of(kem.encapsulation_key());
        Self { repository, root, kem, kem_public, signing_seed }
    }

    /// Decodes the form that key slots wrap.
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        let part = |at: usize| Secret::new(bytes[at..at + 32].try_into().expect("32 bytes"));
        let repository = RepositoryId::from_slice(&bytes[..16]).expect("16 bytes");
        Self::new(repository, part(16), part(48), part(80))
    }

    /// Encodes the form that key slots wrap.
    pub fn to_bytes(&self) -> Zeroizing<[u8; Self::LEN]> {
        let mut bytes = Zeroizing::new([0; Self::LEN]);
        bytes[..16].copy_from_slice(self.repository.as_bytes());
        bytes[16..48].copy_from_slice(self.root.expose());
        bytes[48..80].copy_from_slice(self.kem.as_bytes());
        bytes[80..].copy_from_slice(self.signing_seed.expose());
        bytes
    }

    /// The repository that the secret belongs to.
    pub fn repository(&self) -> RepositoryId {
        self.repository
    }

    /// The root key, from which the keys of domains are derived.
    pub fn root(&self) -> &Secret {
        &self.root
    }

    /// The key with which the owner signs descriptors, client records, policies, releases and proofs.
    pub fn signing_key(&self) -> SigningKey {
        SigningKey::from_bytes(self.signing_seed.expose())
    }

    /// The public half of the signing key.
    pub fn verifying_key(&self) -> [u8; 32] {
        self.signing_key().verifying_key().to_bytes()
    }

    /// The public key to which session keys are wrapped.
    pub fn kem_public(&self) -> KemPublic {
        self.kem_public.clone()
    }

    /// The digest of both public keys. An enrolled client compares it with the one it was given.
    pub fn fingerprint(&self) -> OwnerFingerprint {
        fingerprint(self.repository, &self.verifying_key(), &self.kem_public())
    }

    /// The key of a domain.
    pub fn domain_key(&self, domain: DomainId) -> DomainKey {
        DomainKey::derive(&self.root, self.repository, domain)
    }

    /// Seals a short text about a subject, so that only the owner can read it. Equal texts give equal bytes.
    pub fn seal_text(&self, purpose: TextPurpose, subject: &[u8; 16], text: &str) -> Vec<u8> {
        let associated = self.text_associated(purpose, subject);
        let nonce = self.text_nonce(&associated, text.as_bytes());
        let mut sealed = nonce.to_vec();
        sealed.extend(gcm_seal(&self.text_key(), nonce, &associated, text.as_bytes()));
        sealed
    }

    /// Opens a text that [`OwnerSecret::seal_text`] sealed for this purpose and subject.
    pub fn open_text(&self, purpose: TextPurpose, subject: &[u8; 16], sealed: &[u8]) -> Result<String, OpenError> {
        let associated = self.text_associated(purpose, subject);
        let forged = OpenError::Forged { purpose };
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>().ok_or(forged.clone())?;
        if sealed.len() < TAG {
            return Err(forged);
        }
        let text = gcm_open(&self.text_key(), *nonce, &associated, sealed).ok_or(forged.clone())?;
        if self.text_nonce(&associated, &text) != *nonce {
            return Err(forged);
        }
        String::from_utf8(text.to_vec()).map_err(|_| OpenError::NotText { purpose })
    }

    /// The private half of [`OwnerSecret::kem_public`].
    pub(super) fn decapsulation_key(&self) -> &DecapsulationKey {
        &self.kem
    }

    fn text_key(&self) -> Secret {
        self.root.derive("text", b"")
    }

    fn text_nonce(&self, associated: &[u8], text: &[u8]) -> [u8; NONCE] {
        let digest = self.root.derive("text-nonce", b"").digest(&[associated, text]);
        digest[..NONCE].try_into().expect("12 of 32 bytes")
    }

    fn text_associated(&self, purpose: TextPurpose, subject: &[u8; 16]) -> Vec<u8> {
        [&label("text"), self.repository.as_bytes(), &[purpose as u8], subject].concat()
    }
}

impl PartialEq for OwnerSecret {
    fn eq(&self, other: &Self) -> bool {
        self.to_bytes().ct_eq(&*other.to_bytes()).into()
    }
}

impl Eq for OwnerSecret {}

impl fmt::Debug for OwnerSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnerSecret(..)")
    }
}

/// The owner's fingerprint, from the public keys in a descriptor.
pub fn fingerprint(repository: RepositoryId, verifying_key: &[u8; 32], kem: &KemPublic) -> OwnerFingerprint {
    let mut hash = Sha256::new_with_prefix(label("owner"));
    hash.update(repository.as_bytes());
    hash.update(verifying_key);
    hash.update(kem.as_bytes());
    OwnerFingerprint(hash.finalize().into())
}

/// The purpose of a sealed text. A text sealed for one purpose does not open for another.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TextPurpose {
    /// The name of a client; the subject is the client's id.
    ClientName = 1,
    /// The name of a tag; the subject is the tag's id.
    TagName = 2,
    /// The name of a key; the subject is the id of its slot.
    KeyName = 3,
}

impl TextPurpose {
    fn name(self) -> &'static str {
        match self {
            TextPurpose::ClientName => "client name",
            TextPurpose::TagName => "tag name",
            TextPurpose::KeyName => "key name",
        }
    }
}

/// Why a sealed text does not open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum OpenError {
    /// The bytes were altered, or belong to another subject, purpose or owner.
    #[error("sealed {} is forged or belongs to something else", purpose.name())]
    Forged { purpose: TextPurpose },
    /// The owner sealed bytes that are not UTF-8.
    #[error("sealed {} is not UTF-8", purpose.name())]
    NotText { purpose: TextPurpose },
}

/// A recipient's well-formed X-Wing public key.
#[derive(Clone, PartialEq, Eq)]
pub struct KemPublic(Box<[u8; Self::LEN]>);

impl KemPublic {
    /// The length of the key.
    pub const LEN: usize = x_wing::ENCAPSULATION_KEY_SIZE;

    /// The key of these bytes; none if they are not a valid key.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        EncapsulationKey::try_from(bytes).ok().map(|key| Self::of(&key))
    }

    /// The key's bytes.
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// The recipient's id in session records.
    pub fn recipient_id(&self) -> RecipientId {
        let digest = Sha256::new_with_prefix(label("recipient")).chain_update(*self.0).finalize();
        RecipientId::from_slice(&digest[..RecipientId::LEN]).expect("16 of 32 bytes")
    }

    pub(super) fn encapsulation_key(&self) -> EncapsulationKey {
        EncapsulationKey::new_from_slice(&self.0[..]).expect("the key was checked when it was taken")
    }

    fn of(key: &EncapsulationKey) -> Self {
        Self(Box::new(key.to_bytes().into()))
    }
}

impl fmt::Debug for KemPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KemPublic({})", self.recipient_id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: [u8; 16] = [9; 16];

    fn owner() -> OwnerSecret {
        let [root, kem, signing] = [2, 3, 4].map(|byte| Secret::new([byte; 32]));
        OwnerSecret::new(RepositoryId([1; 16]), root, kem, signing)
    }

    #[test]
    fn the_wrapped_form_reads_back_and_is_never_printed() {
        assert_eq!(OwnerSecret::from_bytes(&owner().to_bytes()), owner());
        assert_eq!(format!("{:?}", owner()), "OwnerSecret(..)");
    }

    #[test]
    fn a_fingerprint_tells_repositories_and_keys_apart() {
        let owner = owner();
        let [a, b] = [RepositoryId([1; 16]), RepositoryId([2; 16])];
        let kem = owner.kem_public();
        assert_eq!(fingerprint(a, &owner.verifying_key(), &kem), owner.fingerprint());
        assert_ne!(fingerprint(b, &owner.verifying_key(), &kem), owner.fingerprint());
        assert_ne!(fingerprint(a, &[7; 32], &kem), owner.fingerprint());
    }

    #[test]
    fn a_public_key_of_the_wrong_length_or_range_is_refused() {
        let key = owner().kem_public();
        assert_eq!(KemPublic::from_slice(key.as_bytes()), Some(key.clone()));
        assert_eq!(KemPublic::from_slice(&key.as_bytes()[1..]), None);
        assert_eq!(KemPublic::from_slice(&[0xff; KemPublic::LEN]), None);
    }

    #[test]
    fn a_sealed_text_opens_for_its_purpose_and_subject_only() {
        let sealed = owner().seal_text(TextPurpose::ClientName, &SUBJECT, "läptop");
        assert_eq!(owner().open_text(TextPurpose::ClientName, &SUBJECT, &sealed).as_deref(), Ok("läptop"));
        assert!(owner().open_text(TextPurpose::TagName, &SUBJECT, &sealed).is_err());
        assert!(owner().open_text(TextPurpose::ClientName, &[8; 16], &sealed).is_err());
    }

    #[test]
    fn a_sealed_text_with_any_byte_altered_or_missing_is_forged() {
        let sealed = owner().seal_text(TextPurpose::TagName, &SUBJECT, "monthly");
        let forged = Err(OpenError::Forged { purpose: TextPurpose::TagName });
        for at in 0..sealed.len() {
            let mut altered = sealed.clone();
            altered[at] ^= 1;
            assert_eq!(owner().open_text(TextPurpose::TagName, &SUBJECT, &altered), forged, "byte {at}");
            assert_eq!(owner().open_text(TextPurpose::TagName, &SUBJECT, &sealed[..at]), forged, "cut at {at}");
        }
    }

    #[test]
    fn a_text_under_another_nonce_than_its_own_is_forged() {
        let associated = owner().text_associated(TextPurpose::TagName, &SUBJECT);
        let mut sealed = vec![0; NONCE];
        sealed.extend(gcm_seal(&owner().text_key(), [0; NONCE], &associated, b"monthly"));
        assert!(owner().open_text(TextPurpose::TagName, &SUBJECT, &sealed).is_err());
    }
}
