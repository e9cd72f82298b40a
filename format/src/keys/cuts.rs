//! Cut keys: the keys that decide where a domain's content is cut into chunks.

use zeroize::Zeroize;

use crate::keys::secret::Secret;

/// The gear table, and the key that chooses among the positions it offers.
#[derive(Clone)]
pub struct CutKeys {
    gear: Box<[u64; 256]>,
    choice: Secret,
}

impl CutKeys {
    /// Makes the keys from two secrets of the domain.
    pub fn new(gear: &Secret, choice: Secret) -> Self {
        let mut bytes = [0; 2048];
        blake3::Hasher::new_keyed(gear.expose()).finalize_xof().fill(&mut bytes);
        let word = |i: usize| u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().expect("8 bytes"));
        let gear = Box::new(core::array::from_fn(word));
        bytes.zeroize();
        Self { gear, choice }
    }

    /// The word of each byte in the rolling hash.
    pub fn gear(&self) -> &[u64; 256] {
        &self.gear
    }

    /// The number that decides about a candidate with this rolling hash.
    pub fn choice(&self, hash: u64) -> u64 {
        let digest = self.choice.digest(&[&hash.to_le_bytes()]);
        u64::from_le_bytes(digest[..8].try_into().expect("8 of 32 bytes"))
    }
}

impl core::fmt::Debug for CutKeys {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("CutKeys(..)")
    }
}

impl Drop for CutKeys {
    fn drop(&mut self) {
        self.gear.as_mut_slice().zeroize();
    }
}
