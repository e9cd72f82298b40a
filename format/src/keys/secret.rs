//! Secret: 32 bytes that are wiped on drop, never printed, and compared in constant time.

use hkdf::Hkdf;
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::wire::record::label;

/// 32 secret bytes.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Secret([u8; 32]);

impl Secret {
    /// The length of a secret in bytes.
    pub const LEN: usize = 32;

    /// Takes the bytes. The caller must wipe its own copy.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, for handing them to a cipher.
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    /// `KDF(self, purpose, context)`: HKDF-SHA-256 without salt, info `L(purpose) ‖ context` (`docs/format.md` §1).
    pub fn derive(&self, purpose: &str, context: &[u8]) -> Secret {
        let mut out = Secret([0; 32]);
        let label = label(purpose);
        Hkdf::<Sha256>::new(None, &self.0)
            .expand_multi_info(&[&label, context], &mut out.0)
            .expect("32 bytes are within HKDF's limit");
        out
    }

    /// `B(self, parts joined)`: the keyed BLAKE3 digest.
    pub fn digest(&self, parts: &[&[u8]]) -> [u8; 32] {
        // A tree computes a digest for every path: hash short input at once, without a hasher's stack.
        let mut short = [0; SHORT];
        let length = parts.iter().map(|part| part.len()).sum::<usize>();
        if let Some(mut rest) = short.get_mut(..length) {
            for part in parts {
                let (head, tail) = rest.split_at_mut(part.len());
                head.copy_from_slice(part);
                rest = tail;
            }
            return *blake3::keyed_hash(&self.0, &short[..length]).as_bytes();
        }
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in parts {
            hasher.update(part);
        }
        *hasher.finalize().as_bytes()
    }
}

/// The largest input in bytes that is hashed at once.
const SHORT: usize = 128;

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Secret {}

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_printed() {
        assert_eq!(format!("{:?}", Secret::new([0xab; 32])), "Secret(..)");
    }

    #[test]
    fn a_digest_does_not_depend_on_its_parts() {
        let (secret, bytes) = (Secret::new([1; 32]), [7; 2 * SHORT]);
        for length in [0, 1, SHORT - 1, SHORT, SHORT + 1, 2 * SHORT] {
            let bytes = &bytes[..length];
            let whole = *blake3::Hasher::new_keyed(secret.expose()).update(bytes).finalize().as_bytes();
            let (front, back) = bytes.split_at(length / 3);
            assert_eq!(secret.digest(&[bytes]), whole, "{length}");
            assert_eq!(secret.digest(&[front, &[], back]), whole, "{length}");
        }
    }

    #[test]
    fn derivation_separates_purposes_and_contexts() {
        let secret = Secret::new([1; 32]);
        assert_ne!(secret.derive("chunk-id", b""), secret.derive("page-id", b""));
        assert_ne!(secret.derive("domain", b"a"), secret.derive("domain", b"b"));
        assert_eq!(secret.derive("domain", b"a"), secret.derive("domain", b"a"));
    }
}
