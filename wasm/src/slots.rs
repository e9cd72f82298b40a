//! Slots: new key slots of the owner's secret. A passphrase is stretched elsewhere, as it is for unlocking.

use copal_format::id::SlotId;
use copal_format::keys::secret::Secret;
use copal_format::keys::slot::{Argon2Params, SlotDraft, SlotKind, SlotParams};
use copal_format::layout;
use copal_format::time::Time;

use crate::owner::Owner;

/// A new key slot, before the secret is sealed into it.
#[derive(Clone, Debug)]
pub struct NewSlot {
    id: SlotId,
    draft: SlotDraft,
}

impl NewSlot {
    /// The number of random bytes for a slot: id, nonce and salt.
    pub const RANDOM: usize = SlotId::LEN + 12 + 16;

    /// Its id.
    pub fn id(&self) -> SlotId {
        self.id
    }

    /// The names of its two copies.
    pub fn keys(&self) -> [String; 2] {
        layout::slot(self.id)
    }

    /// The slot without its sealed secret: all that stretching a passphrase needs.
    pub fn unsealed(&self) -> Vec<u8> {
        self.draft.unsealed()
    }
}

impl Owner {
    /// Plans a slot of a kind.
    pub fn new_slot(&self, kind: SlotKind, created: Time, random: &[u8; NewSlot::RANDOM]) -> NewSlot {
        let (id, rest) = random.split_first_chunk().expect("16 of 44 bytes");
        let (nonce, salt) = rest.split_first_chunk().expect("12 of 28 bytes");
        let salt = salt.try_into().expect("16 bytes");
        let params = SlotParams { id: SlotId(*id), created, nonce: *nonce, salt, argon2: Argon2Params::default() };
        NewSlot { id: params.id, draft: SlotDraft::new(kind, &params, self.secret().repository()) }
    }

    /// Seals the secret into a slot that this owner has planned.
    pub fn seal_slot(&self, slot: &NewSlot, stretched: &Secret) -> Vec<u8> {
        slot.draft.seal(stretched, self.secret())
    }
}
