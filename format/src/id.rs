//! Ids: fixed-width names of everything in a repository. Each kind has its own type, so that ids cannot be confused.

use core::fmt::{self, Write};

use serde::{Serialize, Serializer};

/// A text is not the hexadecimal form of an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} must be {digits} hexadecimal digits")]
pub struct BadId {
    /// The kind of id expected.
    pub kind: &'static str,
    /// The number of digits expected.
    pub digits: usize,
}

/// An id that a record's reader makes of bytes of the right length.
pub trait OfBytes<const N: usize> {
    /// The id of these bytes.
    fn of_bytes(bytes: [u8; N]) -> Self;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $width:literal $kind:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $width]);

        impl $name {
            /// The length of the id in bytes.
            pub const LEN: usize = $width;

            /// The id of these bytes; none if their length is wrong.
            pub fn from_slice(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self)
            }

            /// Parses the hexadecimal form, in lower or upper case.
            pub fn from_hex(text: &str) -> Result<Self, BadId> {
                let mut bytes = [0; $width];
                decode_hex(text, &mut bytes).ok_or(BadId { kind: $kind, digits: 2 * $width })?;
                Ok(Self(bytes))
            }

            /// The first digits, enough for people to tell ids apart.
            pub fn short(&self) -> String {
                self.to_string().chars().take(SHORT).collect()
            }

            /// The id's bytes.
            pub fn as_bytes(&self) -> &[u8] {
                &self.0
            }
        }

        impl OfBytes<$width> for $name {
            fn of_bytes(bytes: [u8; $width]) -> Self {
                Self(bytes)
            }
        }

        impl AsRef<[u8]> for $name {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_hex(&self.0, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    )*};
}

ids! {
    /// Names a repository: 16 random bytes.
    RepositoryId 16 "a repository id";
    /// Names a device registered by the owner.
    ClientId 16 "a client id";
    /// Names a set of clients that deduplicate against each other.
    DomainId 16 "a domain id";
    /// Names a key slot.
    SlotId 16 "a key slot id";
    /// Names a session; derived from its record.
    SessionId 16 "a session id";
    /// Names a snapshot; derived from its manifest's hash.
    SnapshotId 16 "a snapshot id";
    /// Names the source of a backup, without revealing it.
    SourceId 16 "a source id";
    /// Names a tag, without revealing its text.
    TagId 16 "a tag id";
    /// Names a recipient of session keys; derived from its public key.
    RecipientId 16 "a recipient id";
    /// Names a chunk or page: the keyed digest of its plaintext, with the chunk-id or page-id key.
    ChunkId 24 "a chunk id";
    /// Names a pack: the SHA-256 of its bytes.
    PackId 32 "a pack id";
    /// The SHA-256 of a stored object.
    ObjectHash 32 "an object hash";
    /// Names the owner: the SHA-256 of the repository's id and the owner's two public keys.
    OwnerFingerprint 32 "an owner fingerprint";
    /// The first 8 bytes of a pack's id; zeros stand for "no copy".
    PackTag 8 "a pack tag";
}

impl PackId {
    /// The part of a pack's id that the overlay stores.
    pub fn tag(&self) -> PackTag {
        let mut tag = [0; 8];
        tag.copy_from_slice(&self.0[..8]);
        PackTag(tag)
    }
}

impl PackTag {
    /// Stands for an id without a copy.
    pub const NONE: PackTag = PackTag([0; 8]);
}

impl ObjectHash {
    /// All zeros: the "previous" hash of the first record in a chain.
    pub const NONE: ObjectHash = ObjectHash([0; 32]);

    /// The SHA-256 of an object's bytes.
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::Digest;
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// Appends the hash of all bytes so far, for [`ObjectHash::split`].
    pub fn append(bytes: &mut Vec<u8>) {
        let hash = Self::of(bytes);
        bytes.extend_from_slice(&hash.0);
    }

    /// The bytes before the hash at the end; none if that is not their hash.
    pub fn split(bytes: &[u8]) -> Option<&[u8]> {
        let (body, hash) = bytes.split_last_chunk()?;
        (Self::of(body).0 == *hash).then_some(body)
    }

    /// The id of the snapshot that a manifest with this hash claims.
    pub fn snapshot(&self) -> SnapshotId {
        let mut id = [0; 16];
        id.copy_from_slice(&self.0[..16]);
        SnapshotId(id)
    }
}

/// The digits of an id that people see.
const SHORT: usize = 8;

/// One function for all ids. Without the machinery of formatting a seed of the simulation takes 5 % less time.
#[inline(never)]
fn write_hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .try_for_each(|digit| f.write_char(DIGITS[usize::from(digit)].into()))
}

fn decode_hex(text: &str, out: &mut [u8]) -> Option<()> {
    let digits = text.as_bytes();
    if digits.len() != out.len() * 2 {
        return None;
    }
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        let high = (pair[0] as char).to_digit(16)?;
        let low = (pair[1] as char).to_digit(16)?;
        *byte = (high * 16 + low) as u8;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_form_reads_back() {
        let id = ChunkId(core::array::from_fn(|i| i as u8 * 11));
        assert_eq!((ChunkId::from_hex(&id.to_string()), id.short()), (Ok(id), "000b1621".into()));
    }

    #[test]
    fn wrong_length_or_digit_is_refused_and_names_the_kind() {
        assert!(PackId::from_hex("ab").is_err());
        let text = "zz".repeat(16);
        assert_eq!(ClientId::from_hex(&text).unwrap_err().to_string(), "a client id must be 32 hexadecimal digits");
    }
}
