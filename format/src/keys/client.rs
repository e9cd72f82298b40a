//! Client keys: the keys with which a registered device signs. They never leave the device.

use ed25519_dalek::SigningKey;
use zeroize::Zeroizing;

use crate::keys::secret::Secret;

/// A client's two signing keys: one for manifests and changes, one for requests to a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientKeys {
    manifest: Secret,
    request: Secret,
}

impl ClientKeys {
    /// The length of the form in which a client stores its keys.
    pub const LEN: usize = 64;

    /// Makes the keys from two independent random seeds.
    pub fn new(manifest: Secret, request: Secret) -> Self {
        Self { manifest, request }
    }

    /// Reads the form of [`ClientKeys::to_bytes`].
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        let seed = |half: &[u8]| Secret::new(half.try_into().expect("32 of 64 bytes"));
        Self::new(seed(&bytes[..32]), seed(&bytes[32..]))
    }

    /// Both seeds, for a file that only the client's user can read.
    pub fn to_bytes(&self) -> Zeroizing<[u8; Self::LEN]> {
        let mut bytes = Zeroizing::new([0; Self::LEN]);
        bytes[..32].copy_from_slice(self.manifest.expose());
        bytes[32..].copy_from_slice(self.request.expose());
        bytes
    }

    /// The key that signs manifests and changes.
    pub fn manifest_key(&self) -> SigningKey {
        SigningKey::from_bytes(self.manifest.expose())
    }

    /// The key that signs requests to a gateway.
    pub fn request_key(&self) -> SigningKey {
        SigningKey::from_bytes(self.request.expose())
    }

    /// The public half of the manifest key, as in the client's record.
    pub fn manifest_public(&self) -> [u8; 32] {
        self.manifest_key().verifying_key().to_bytes()
    }

    /// The public half of the request key, as in the client's record.
    pub fn request_public(&self) -> [u8; 32] {
        self.request_key().verifying_key().to_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_keys_read_back_and_are_not_printed() {
        let keys = ClientKeys::new(Secret::new([0xa1; 32]), Secret::new([0xa2; 32]));
        assert_eq!(ClientKeys::from_bytes(&keys.to_bytes()), keys);
        assert_ne!(keys.manifest_public(), keys.request_public());
        assert!(!format!("{keys:?}").contains("161"));
    }
}
