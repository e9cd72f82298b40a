//! Proof: the owner's signature that packs hold the chunks and pages in their tables.
//!
//! A pack's table is only a claim: anyone with a client's signing key can list ids whose chunks the pack does not hold.
//! A holder of the owner secret can open the blocks, recompute every id, and sign the pack's name. Prune lets a copy
//! displace an older one only with such a signature.

use ed25519_dalek::{Signature, Signer, VerifyingKey};
use serde::Serialize;

use crate::id::{PackId, RepositoryId};
use crate::keys::owner::OwnerSecret;
use crate::shown;
use crate::wire::record::label;

/// The owner's signature over pack names. It stays valid for ever, because a pack's name is the hash of its bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proof(#[serde(serialize_with = "shown::hex")] pub [u8; 64]);

impl Proof {
    /// Signs packs. The caller must have compared every chunk and page in them with its id.
    pub fn sign(owner: &OwnerSecret, packs: impl IntoIterator<Item = PackId>) -> Self {
        Self(owner.signing_key().sign(&message(owner.repository(), packs)).to_bytes())
    }

    /// Whether the owner signed exactly these packs, in this order.
    pub fn holds(
        &self,
        repository: RepositoryId,
        owner_key: &[u8; 32],
        packs: impl IntoIterator<Item = PackId>,
    ) -> bool {
        let bytes = message(repository, packs);
        let signature = Signature::from_bytes(&self.0);
        VerifyingKey::from_bytes(owner_key).is_ok_and(|key| key.verify_strict(&bytes, &signature).is_ok())
    }
}

fn message(repository: RepositoryId, packs: impl IntoIterator<Item = PackId>) -> Vec<u8> {
    let mut bytes = label("proof");
    bytes.extend_from_slice(repository.as_bytes());
    packs.into_iter().for_each(|pack| bytes.extend_from_slice(pack.as_bytes()));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::secret::Secret;

    const REPOSITORY: RepositoryId = RepositoryId([9; 16]);

    fn owner(seed: u8) -> OwnerSecret {
        let [root, kem, signing] = [1, 2, seed].map(|byte| Secret::new([byte; 32]));
        OwnerSecret::new(REPOSITORY, root, kem, signing)
    }

    #[test]
    fn only_the_owner_proves_and_only_what_was_signed() {
        let packs = [PackId([1; 32]), PackId([2; 32])];
        let (proof, key) = (Proof::sign(&owner(3), packs), owner(3).verifying_key());
        assert!(proof.holds(REPOSITORY, &key, packs));
        assert!(!proof.holds(REPOSITORY, &key, [packs[0]]));
        assert!(!proof.holds(REPOSITORY, &key, [packs[1], packs[0]]));
        assert!(!proof.holds(RepositoryId([8; 16]), &key, packs));
        assert!(!proof.holds(REPOSITORY, &owner(4).verifying_key(), packs));
        assert!(!Proof::sign(&owner(4), packs).holds(REPOSITORY, &key, packs));
    }
}
