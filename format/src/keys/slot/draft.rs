//! Draft: a new key slot before the owner secret is sealed into it. Its passphrase may be stretched elsewhere.

use super::{SEALED, SlotKind, SlotParams, associated, encode_header, wrap_keys};
use crate::id::{ObjectHash, RepositoryId};
use crate::keys::gcm_seal;
use crate::keys::owner::OwnerSecret;
use crate::keys::secret::Secret;

/// A new slot without its sealed secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotDraft {
    header: Vec<u8>,
    params: SlotParams,
    repository: RepositoryId,
}

impl SlotDraft {
    /// Plans a slot of this kind.
    pub fn new(kind: SlotKind, params: &SlotParams, repository: RepositoryId) -> Self {
        Self::named(kind, params, repository, None)
    }

    /// Plans a slot of this kind, with a sealed name.
    pub(super) fn named(kind: SlotKind, params: &SlotParams, repository: RepositoryId, name: Option<&[u8]>) -> Self {
        let stretch = (kind == SlotKind::Passphrase).then_some((params.argon2, params.salt));
        let header = encode_header(kind, params, repository, stretch, name);
        Self { header, params: params.clone(), repository }
    }

    /// The draft as a slot that nothing opens, for [`Slot::stretch`](super::Slot::stretch): it tells salt and cost.
    pub fn unsealed(&self) -> Vec<u8> {
        self.stored(&[0; 32], &[0; SEALED])
    }

    /// Seals the owner secret with the result of [`Slot::stretch`](super::Slot::stretch), or with the secret of a recovery code or key file.
    ///
    /// # Panics
    /// If the secret is of another repository.
    pub fn seal(&self, stretched: &Secret, owner: &OwnerSecret) -> Vec<u8> {
        assert_eq!(owner.repository(), self.repository, "a slot is for the secret of its repository");
        let (kek, commitment) = wrap_keys(stretched, &self.header);
        let sealed = gcm_seal(&kek, self.params.nonce, &associated(&self.header, &commitment), &owner.to_bytes()[..]);
        self.stored(&commitment, &sealed)
    }

    fn stored(&self, commitment: &[u8; 32], sealed: &[u8]) -> Vec<u8> {
        let mut slot = (self.header.len() as u32).to_le_bytes().to_vec();
        slot.extend_from_slice(&self.header);
        slot.extend_from_slice(commitment);
        slot.extend_from_slice(sealed);
        let hash = ObjectHash::of(&slot);
        slot.extend_from_slice(hash.as_bytes());
        slot
    }
}
