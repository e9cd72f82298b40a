//! Ids: fixed-width names of everything a repository holds, one type each, so that none can stand in for another.

use core::fmt;

/// A text that is not the hexadecimal form of an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} must be {digits} hexadecimal digits")]
pub struct BadId {
    /// Which id was expected.
    pub kind: &'static str,
    /// How many digits its text has.
    pub digits: usize,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $width:literal $kind:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $width]);

        impl $name {
            /// Bytes in the id.
            pub const LEN: usize = $width;

            /// Reads the id from a slice of exactly its width.
            pub fn from_slice(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self)
            }

            /// Reads the lower- or upper-case hexadecimal form.
            pub fn from_hex(text: &str) -> Result<Self, BadId> {
                let mut bytes = [0; $width];
                decode_hex(text, &mut bytes).ok_or(BadId { kind: $kind, digits: 2 * $width })?;
                Ok(Self(bytes))
            }

            /// The id's bytes.
            pub fn as_bytes(&self) -> &[u8] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
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
    /// Names a session; follows from its record.
    SessionId 16 "a session id";
    /// Names a snapshot; follows from its manifest's hash.
    SnapshotId 16 "a snapshot id";
    /// Names what is backed up, without telling what it is.
    SourceId 16 "a source id";
    /// Names a tag, without telling its text.
    TagId 16 "a tag id";
    /// Names a recipient of session keys; follows from its public key.
    RecipientId 16 "a recipient id";
    /// Names a chunk or a page: the keyed digest of its plaintext, under the chunk-id or the page-id key.
    ChunkId 24 "a chunk id";
    /// Names a pack: the SHA-256 of its bytes.
    PackId 32 "a pack id";
    /// The SHA-256 of a stored object.
    ObjectHash 32 "an object hash";
    /// The SHA-256 that names the owner's two public keys.
    OwnerFingerprint 32 "an owner fingerprint";
}

impl PackId {
    /// What the overlay keeps of a pack's id.
    pub fn tag(&self) -> PackTag {
        let mut tag = [0; 8];
        tag.copy_from_slice(&self.0[..8]);
        PackTag(tag)
    }
}

/// The first 8 bytes of a pack's id; zeros stand for "no copy".
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackTag(pub [u8; 8]);

impl PackTag {
    /// Stands for an id of which the repository has no copy.
    pub const NONE: PackTag = PackTag([0; 8]);
}

impl ObjectHash {
    /// All zeros: "nothing before" at the start of a chain.
    pub const NONE: ObjectHash = ObjectHash([0; 32]);

    /// The SHA-256 of an object's bytes.
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::Digest;
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The snapshot that a manifest of this hash claims.
    pub fn snapshot(&self) -> SnapshotId {
        let mut id = [0; 16];
        id.copy_from_slice(&self.0[..16]);
        SnapshotId(id)
    }
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
        assert_eq!(ChunkId::from_hex(&id.to_string()), Ok(id));
    }

    #[test]
    fn wrong_length_or_digit_is_refused_and_names_the_kind() {
        assert!(PackId::from_hex("ab").is_err());
        let text = "zz".repeat(16);
        assert_eq!(ClientId::from_hex(&text).unwrap_err().to_string(), "a client id must be 32 hexadecimal digits");
    }
}
