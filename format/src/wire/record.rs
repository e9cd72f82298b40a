//! Record: the envelope of records that may change over time. A record ends with a signature or with its own SHA-256.

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use super::DecodeError;
use super::cursor::Cursor;
use crate::id::{ObjectHash, RepositoryId};
use crate::limits::RECORD_BYTES;

const MAGIC: &[u8; 8] = b"copalrec";
const VERSION: u8 = 1;
const HEAD: usize = 14;

/// The kinds of records.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Descriptor = 1,
    Client = 2,
    Manifest = 3,
    Change = 4,
    Receipt = 16,
    Root = 17,
    Expiry = 18,
    Deletion = 19,
}

impl Kind {
    /// The kind's name in signatures and messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Descriptor => "descriptor",
            Kind::Client => "client",
            Kind::Manifest => "manifest",
            Kind::Change => "change",
            Kind::Receipt => "receipt",
            Kind::Root => "root",
            Kind::Expiry => "expiry",
            Kind::Deletion => "deletion",
        }
    }
}

/// Why bytes are not the expected record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum RecordError {
    /// The envelope or body is malformed.
    #[error("malformed {kind}")]
    Malformed { kind: &'static str, source: DecodeError },
    /// A version this program does not know.
    #[error("{kind} has version {version}, this program knows version 1")]
    Version { kind: &'static str, version: u8 },
    /// The trailing SHA-256 does not fit: the object is damaged.
    #[error("damaged {kind}: its checksum does not fit")]
    Checksum { kind: &'static str },
    /// Not signed with the expected key.
    #[error("{kind} is not signed by the key it must be signed by")]
    Signature { kind: &'static str },
    /// The body names another object: two objects were swapped.
    #[error("{kind} does not belong under the name it was read from")]
    Misplaced { kind: &'static str },
}

impl RecordError {
    /// Wraps a decoder's error.
    pub fn malformed(kind: Kind) -> impl Fn(DecodeError) -> RecordError {
        move |source| RecordError::Malformed { kind: kind.name(), source }
    }
}

/// The prefix of what is hashed or signed for a purpose: `copal/1 <purpose>\0`.
pub fn label(purpose: &str) -> Vec<u8> {
    let mut label = Vec::with_capacity(9 + purpose.len());
    label.extend_from_slice(b"copal/1 ");
    label.extend_from_slice(purpose.as_bytes());
    label.push(0);
    label
}

/// Encodes a record, signed with `key`.
pub fn sign(kind: Kind, repository: RepositoryId, body: &[u8], key: &SigningKey) -> Vec<u8> {
    let unsigned = Unsigned::new(kind, repository, body);
    let signature = key.sign(&unsigned.message).to_bytes();
    unsigned.with(&signature)
}

/// A record to be signed by a key that only the host holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsigned {
    /// The bytes to sign (Ed25519).
    pub message: Vec<u8>,
    envelope: Vec<u8>,
}

impl Unsigned {
    /// Prepares a body.
    pub fn new(kind: Kind, repository: RepositoryId, body: &[u8]) -> Self {
        Self { message: signed_bytes(kind, repository, body), envelope: open_envelope(kind, body) }
    }

    /// The record with the signature of `message`.
    pub fn with(mut self, signature: &[u8; 64]) -> Vec<u8> {
        self.envelope.extend_from_slice(signature);
        self.envelope
    }
}

/// A signed record whose signature is not checked yet.
#[derive(Clone, Debug)]
pub struct Unverified<'a> {
    kind: Kind,
    body: &'a [u8],
    signature: Signature,
}

impl<'a> Unverified<'a> {
    /// Splits the envelope into body and signature.
    pub fn parse(kind: Kind, bytes: &'a [u8]) -> Result<Self, RecordError> {
        let (body, rest) = split(kind, bytes)?;
        let end = || DecodeError::new(HEAD + body.len(), "a signature of 64 bytes was expected");
        let signature: [u8; 64] = rest.try_into().map_err(|_| RecordError::malformed(kind)(end()))?;
        Ok(Self { kind, body, signature: Signature::from_bytes(&signature) })
    }

    /// The unverified body, to find out who should have signed it.
    pub fn claimed_body(&self) -> &'a [u8] {
        self.body
    }

    /// The body, if `key` has signed it (strict verification, RFC 8032).
    pub fn verify(&self, repository: RepositoryId, key: &[u8; 32]) -> Result<&'a [u8], RecordError> {
        let refused = RecordError::Signature { kind: self.kind.name() };
        let key = VerifyingKey::from_bytes(key).map_err(|_| refused.clone())?;
        let message = signed_bytes(self.kind, repository, self.body);
        key.verify_strict(&message, &self.signature).map_err(|_| refused)?;
        Ok(self.body)
    }
}

/// Encodes a record that ends with the SHA-256 of everything before.
pub fn close(kind: Kind, body: &[u8]) -> Vec<u8> {
    let mut bytes = open_envelope(kind, body);
    let hash = ObjectHash::of(&bytes);
    bytes.extend_from_slice(hash.as_bytes());
    bytes
}

/// The body of a record that ends with its own SHA-256.
pub fn open(kind: Kind, bytes: &[u8]) -> Result<&[u8], RecordError> {
    let (body, rest) = split(kind, bytes)?;
    let hash = ObjectHash::of(&bytes[..HEAD + body.len()]);
    if rest == hash.as_bytes() { Ok(body) } else { Err(RecordError::Checksum { kind: kind.name() }) }
}

fn open_envelope(kind: Kind, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + body.len() + 64);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&[kind as u8, VERSION]);
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn split(kind: Kind, bytes: &[u8]) -> Result<(&[u8], &[u8]), RecordError> {
    let malformed = RecordError::malformed(kind);
    let mut cursor = Cursor::new(bytes);
    let mut head = || {
        cursor.expect(MAGIC, "not a Copal record")?;
        cursor.expect(&[kind as u8], "a record of another kind")?;
        cursor.u8()
    };
    let version = head().map_err(&malformed)?;
    if version != VERSION {
        return Err(RecordError::Version { kind: kind.name(), version });
    }
    let length = cursor.u32().map_err(&malformed)? as usize;
    if length > RECORD_BYTES {
        return Err(malformed(cursor.error("a record is longer than allowed")));
    }
    let body = cursor.take(length).map_err(&malformed)?;
    Ok((body, &bytes[cursor.offset()..]))
}

fn signed_bytes(kind: Kind, repository: RepositoryId, body: &[u8]) -> Vec<u8> {
    let mut message = label(kind.name());
    message.push(VERSION);
    message.extend_from_slice(repository.as_bytes());
    message.extend_from_slice(body);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPOSITORY: RepositoryId = RepositoryId([7; 16]);

    fn key() -> SigningKey {
        SigningKey::from_bytes(&[3; 32])
    }

    #[test]
    fn a_signature_does_not_carry_over_to_another_kind() {
        let mut bytes = sign(Kind::Manifest, REPOSITORY, b"body", &key());
        bytes[8] = Kind::Change as u8;
        let record = Unverified::parse(Kind::Change, &bytes).unwrap();
        assert!(record.verify(REPOSITORY, key().verifying_key().as_bytes()).is_err());
    }
}
