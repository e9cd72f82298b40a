//! Key slots: the owner secret, wrapped with a passphrase, a recovery code or a key file.

mod draft;
mod input;

use core::fmt;

use argon2::{Algorithm, Argon2, Version};
use hkdf::Hkdf;
use serde::Serialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::{NONCE, TAG, gcm_open};
use crate::id::{ObjectHash, RepositoryId, SlotId};
use crate::keys::owner::{OwnerSecret, TextPurpose};
use crate::keys::secret::Secret;
use crate::limits::SLOT_HEADER_BYTES;
use crate::time::Time;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};
use crate::wire::cursor::Cursor;
use crate::wire::record::label;

pub use draft::SlotDraft;
pub use input::{BadPassphrase, Passphrase, SlotInput};

/// What opens a slot.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotKind {
    /// A passphrase, through Argon2id.
    Passphrase = 1,
    /// A recovery code, written down when the repository was made.
    RecoveryCode = 2,
    /// A key file, for unattended runs.
    KeyFile = 3,
}

impl SlotKind {
    fn of(number: u64) -> Option<Self> {
        [SlotKind::Passphrase, SlotKind::RecoveryCode, SlotKind::KeyFile].into_iter().find(|&k| k as u64 == number)
    }
}

impl fmt::Display for SlotKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SlotKind::Passphrase => "passphrase",
            SlotKind::RecoveryCode => "recovery code",
            SlotKind::KeyFile => "key file",
        })
    }
}

/// The cost of one guess at a passphrase.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Argon2Params {
    /// Memory, in KiB.
    pub m_kib: u32,
    /// Passes over the memory.
    pub t: u32,
    /// Lanes.
    pub p: u32,
}

impl Argon2Params {
    /// Whether readers accept these parameters: neither too weak, nor so large that they exhaust memory.
    pub(crate) fn is_within_limits(&self) -> bool {
        (8 << 10..=4 << 20).contains(&self.m_kib) && (1..=64).contains(&self.t) && (1..=16).contains(&self.p)
    }
}

impl Default for Argon2Params {
    fn default() -> Self {
        Self { m_kib: 64 << 10, t: 3, p: 4 }
    }
}

/// The parameters of a new slot; ids, nonces and salts must be random.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotParams {
    /// The slot's id.
    pub id: SlotId,
    /// When the slot is made.
    pub created: Time,
    /// The nonce with which the secret is sealed.
    pub nonce: [u8; NONCE],
    /// The salt for a passphrase; unused by other kinds.
    pub salt: [u8; 16],
    /// The cost for a passphrase; unused by other kinds.
    pub argon2: Argon2Params,
}

/// Wraps the owner secret with an input.
///
/// # Panics
/// If the Argon2 parameters exceed the limits, or the memory does not suffice for them.
pub fn seal(input: &SlotInput, params: &SlotParams, owner: &OwnerSecret) -> Vec<u8> {
    seal_named(input, params, owner, "")
}

/// Like [`seal`], with a name for the key, which only the owner can read. An empty name means no name.
///
/// # Panics
/// As [`seal`], or if the name has more than [`KEY_NAME_BYTES`].
pub fn seal_named(input: &SlotInput, params: &SlotParams, owner: &OwnerSecret, name: &str) -> Vec<u8> {
    assert!(name.len() <= KEY_NAME_BYTES, "names are checked before a slot is made");
    let stretch = Some((params.argon2, params.salt));
    let secret = unwrapping_secret(input, stretch).expect("the parameters are within the limits and fit the memory");
    let name = (!name.is_empty()).then(|| owner.seal_text(TextPurpose::KeyName, &params.id.0, name));
    SlotDraft::named(input.kind(), params, owner.repository(), name.as_deref()).seal(&secret, owner)
}

/// The longest name of a key.
pub const KEY_NAME_BYTES: usize = 100;

/// The largest length of a stored slot.
pub const STORED_BYTES: usize = 4 + SLOT_HEADER_BYTES + 32 + SEALED + ObjectHash::LEN;

/// A parsed slot, not opened yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    header: Vec<u8>,
    kind: SlotKind,
    id: SlotId,
    repository: RepositoryId,
    stretch: Option<(Argon2Params, [u8; 16])>,
    nonce: [u8; NONCE],
    created: Time,
    sealed_name: Option<Vec<u8>>,
    commitment: [u8; 32],
    sealed: [u8; SEALED],
}

impl Slot {
    /// Parses one of the slot's two copies.
    pub fn parse(bytes: &[u8]) -> Result<Self, SlotError> {
        let (content, hash) = bytes.split_last_chunk::<32>().ok_or(SlotError::Damaged)?;
        if bytes.len() > STORED_BYTES || ObjectHash::of(content).0 != *hash {
            return Err(SlotError::Damaged);
        }
        let mut cursor = Cursor::new(content);
        let length = cursor.u32()? as usize;
        if length > SLOT_HEADER_BYTES {
            return Err(cursor.error("a slot's header is longer than allowed").into());
        }
        let header = cursor.take(length)?;
        let (commitment, sealed) = (cursor.array()?, cursor.array()?);
        cursor.finish()?;
        Self::parse_header(header, commitment, sealed)
    }

    /// The slot's id.
    pub fn id(&self) -> SlotId {
        self.id
    }

    /// What opens the slot.
    pub fn kind(&self) -> SlotKind {
        self.kind
    }

    /// When the slot was made, by its maker's clock.
    pub fn created(&self) -> Time {
        self.created
    }

    /// The key's name, if it has one that this owner has sealed.
    pub fn name(&self, owner: &OwnerSecret) -> Option<String> {
        owner.open_text(TextPurpose::KeyName, &self.id.0, self.sealed_name.as_ref()?).ok()
    }

    /// The repository that the slot claims to belong to.
    pub fn repository(&self) -> RepositoryId {
        self.repository
    }

    /// The cost of trying a passphrase; none for other kinds.
    pub fn cost(&self) -> Option<Argon2Params> {
        self.stretch.map(|(cost, _)| cost)
    }

    /// Opens the slot: unwraps the owner secret.
    pub fn open(&self, input: &SlotInput) -> Result<OwnerSecret, SlotError> {
        self.unwrap(&self.stretch(input)?)
    }

    /// The expensive half of [`open`](Self::open): the 32 bytes that unwrap this slot, as secret as the owner secret.
    pub fn stretch(&self, input: &SlotInput) -> Result<Secret, SlotError> {
        if input.kind() != self.kind {
            return Err(SlotError::OtherKind { slot: self.id, kind: self.kind });
        }
        unwrapping_secret(input, self.stretch).ok_or(SlotError::Memory { slot: self.id })
    }

    /// The cheap second half: unwraps the owner secret with the result of [`stretch`](Self::stretch).
    pub fn unwrap(&self, stretched: &Secret) -> Result<OwnerSecret, SlotError> {
        let slot = self.id;
        let (kek, commitment) = wrap_keys(stretched, &self.header);
        if !bool::from(commitment.ct_eq(&self.commitment)) {
            return Err(SlotError::WrongSecret { slot, kind: self.kind });
        }
        let opened = gcm_open(&kek, self.nonce, &associated(&self.header, &commitment), &self.sealed);
        let opened = opened.ok_or(SlotError::Forged { slot })?;
        let owner = OwnerSecret::from_bytes(opened[..].try_into().expect("128 bytes less the tag"));
        if owner.repository() != self.repository {
            return Err(SlotError::OtherRepository { slot });
        }
        Ok(owner)
    }

    /// The same slot, as if it asked for another cost.
    #[cfg(test)]
    pub(super) fn asking_for(mut self, cost: Argon2Params) -> Self {
        self.stretch = self.stretch.map(|(_, salt)| (cost, salt));
        self
    }

    fn parse_header(header: &[u8], commitment: [u8; 32], sealed: [u8; SEALED]) -> Result<Self, SlotError> {
        let mut reader = Reader::new(header)?;
        let mut fields = reader.map()?;
        let number = fields.required(0)?.uint()?;
        let kind = SlotKind::of(number).ok_or(SlotError::UnknownKind { kind: number })?;
        let id = fields.required(1)?.id()?;
        let repository = fields.required(2)?.id()?;
        let stretch = match kind {
            SlotKind::Passphrase => Some(decode_stretch(fields.required(3)?)?),
            SlotKind::RecoveryCode | SlotKind::KeyFile => None,
        };
        if let Some((cost, _)) = stretch.filter(|(cost, _)| !cost.is_within_limits()) {
            return Err(SlotError::Cost { slot: id, cost });
        }
        let nonce = fields.required(4)?.fixed()?;
        let created = fields.required(5)?.time()?;
        let sealed_name = fields.optional(NAME)?.map(|field| field.bytes(SLOT_HEADER_BYTES)).transpose()?;
        let sealed_name = sealed_name.map(<[u8]>::to_vec);
        fields.end()?;
        let header = header.to_vec();
        Ok(Self { header, kind, id, repository, stretch, nonce, created, sealed_name, commitment, sealed })
    }
}

/// Why a slot cannot be read or opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum SlotError {
    /// The trailing SHA-256 does not match. The slot's other copy may be intact.
    #[error("damaged key slot: its checksum does not fit")]
    Damaged,
    /// The checksum is right, but the content is malformed.
    #[error("malformed key slot")]
    Malformed(#[from] DecodeError),
    /// A kind that this program does not know.
    #[error("key slot has kind {kind}, which this program does not know")]
    UnknownKind { kind: u64 },
    /// The slot asks for a cost outside the limits.
    #[error("key slot {slot} asks for Argon2 costs beyond the limits: {cost:?}")]
    Cost { slot: SlotId, cost: Argon2Params },
    /// The input is of another kind than the slot needs.
    #[error("key slot {slot} is opened by a {kind}")]
    OtherKind { slot: SlotId, kind: SlotKind },
    /// There is less free memory than the slot asks for.
    #[error("not enough memory to open key slot {slot}")]
    Memory { slot: SlotId },
    /// The input does not open this slot.
    #[error("wrong {kind} for key slot {slot}")]
    WrongSecret { slot: SlotId, kind: SlotKind },
    /// The input is right, but the sealed secret was altered.
    #[error("key slot {slot} is forged")]
    Forged { slot: SlotId },
    /// The slot wraps the secret of another repository than it claims.
    #[error("key slot {slot} wraps the secret of another repository")]
    OtherRepository { slot: SlotId },
}

fn encode_header(
    kind: SlotKind,
    params: &SlotParams,
    repository: RepositoryId,
    stretch: Option<(Argon2Params, [u8; 16])>,
    name: Option<&[u8]>,
) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.map(5 + u64::from(stretch.is_some()) + u64::from(name.is_some()));
    writer.key(0).uint(kind as u64).key(1).bytes(params.id.as_bytes()).key(2).bytes(repository.as_bytes());
    if let Some((cost, salt)) = stretch {
        writer.key(3).array(4).uint(cost.m_kib.into()).uint(cost.t.into()).uint(cost.p.into()).bytes(&salt);
    }
    writer.key(4).bytes(&params.nonce).key(5).time(params.created);
    if let Some(name) = name {
        writer.key(NAME).bytes(name);
    }
    writer.finish()
}

/// The field of the name, which readers may ignore.
const NAME: u64 = 64;

fn decode_stretch(reader: &mut Reader<'_>) -> Result<(Argon2Params, [u8; 16]), DecodeError> {
    reader.tuple(4)?;
    let cost = Argon2Params { m_kib: reader.narrow()?, t: reader.narrow()?, p: reader.narrow()? };
    Ok((cost, reader.fixed()?))
}

/// The 32 bytes that unwrap the slot; none if the parameters exceed the limits or the memory.
fn unwrapping_secret(input: &SlotInput, stretch: Option<(Argon2Params, [u8; 16])>) -> Option<Secret> {
    let passphrase = match input {
        SlotInput::Passphrase(passphrase) => passphrase,
        SlotInput::RecoveryCode(secret) | SlotInput::KeyFile(secret) => return Some(secret.clone()),
    };
    let (cost, salt) = stretch.filter(|(cost, _)| cost.is_within_limits())?;
    let params = argon2::Params::new(cost.m_kib, cost.t, cost.p, Some(32)).ok()?;
    let mut bytes = Zeroizing::new([0; 32]);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(passphrase.as_bytes(), &salt, &mut *bytes)
        .ok()?;
    Some(Secret::new(*bytes))
}

/// The sealing key, and a commitment to it. Both depend on the header.
fn wrap_keys(secret: &Secret, header: &[u8]) -> (Secret, [u8; 32]) {
    let mut both = Zeroizing::new([0; 64]);
    Hkdf::<Sha256>::new(None, secret.expose())
        .expand_multi_info(&[&label("slot"), &Sha256::digest(header)], &mut *both)
        .expect("64 bytes are within HKDF's limit");
    let half = |at: usize| both[at..at + 32].try_into().expect("32 of 64 bytes");
    (Secret::new(half(0)), half(32))
}

fn associated(header: &[u8], commitment: &[u8; 32]) -> Vec<u8> {
    [&label("slot"), header, commitment].concat()
}

const SEALED: usize = OwnerSecret::LEN + TAG;

#[cfg(test)]
mod tests;
