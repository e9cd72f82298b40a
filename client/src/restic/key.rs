//! Key: what opens the files of a restic repository: AES-256 in counter mode, and Poly1305-AES over the ciphertext.

use aes::Aes256;
use aes::cipher::{Block, BlockCipherEncrypt, KeyInit, KeyIvInit, StreamCipher};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ctr::Ctr128BE;
use poly1305::Poly1305;
use serde::Deserialize;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(super) struct MasterKey {
    encrypt: [u8; 32],
    mac_k: [u8; 16],
    mac_r: [u8; 16],
}

/// A key file, which a password opens.
#[derive(Deserialize)]
pub(super) struct KeyFile {
    kdf: String,
    #[serde(rename = "N")]
    n: u64,
    r: u32,
    p: u32,
    salt: String,
    data: String,
}

/// Why a key file is not opened.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Closed {
    #[error("the password does not open it")]
    Wrong,
    #[error("it is no key file")]
    Malformed,
    #[error("its password takes far more memory or time than restic asks for")]
    Costly,
}

impl KeyFile {
    pub(super) fn open(&self, password: &[u8]) -> Result<MasterKey, Closed> {
        if self.kdf != "scrypt" || self.n < 2 || !self.n.is_power_of_two() {
            return Err(Closed::Malformed);
        }
        let blocks = self.n.saturating_add(self.p.into());
        let memory = blocks.saturating_mul(u64::from(self.r)).saturating_mul(128);
        if memory > MEMORY || memory.saturating_mul(u64::from(self.p)) > WORK {
            return Err(Closed::Costly);
        }
        let params = scrypt::Params::new(self.n.ilog2() as u8, self.r, self.p).map_err(|_| Closed::Malformed)?;
        let salt = STANDARD.decode(&self.salt).map_err(|_| Closed::Malformed)?;
        let data = STANDARD.decode(&self.data).map_err(|_| Closed::Malformed)?;
        let mut derived = Zeroizing::new([0; 64]);
        scrypt::scrypt(password, &salt, &params, &mut derived[..]).map_err(|_| Closed::Malformed)?;
        let opened = Zeroizing::new(MasterKey::of(&derived).open(&data).ok_or(Closed::Wrong)?);
        let stored: StoredKey = serde_json::from_slice(&opened).map_err(|_| Closed::Malformed)?;
        stored.master().ok_or(Closed::Malformed)
    }
}

impl MasterKey {
    fn of(bytes: &[u8; 64]) -> Self {
        let mut key = Self { encrypt: [0; 32], mac_k: [0; 16], mac_r: [0; 16] };
        key.encrypt.copy_from_slice(&bytes[..32]);
        key.mac_k.copy_from_slice(&bytes[32..48]);
        key.mac_r.copy_from_slice(&bytes[48..]);
        key
    }

    /// Opens `nonce ‖ ciphertext ‖ tag`; none if it is not what the repository's owner wrote.
    pub(super) fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, rest) = sealed.split_first_chunk::<16>()?;
        let (ciphertext, tag) = rest.split_last_chunk::<16>()?;
        if !bool::from(self.tag(nonce, ciphertext).ct_eq(tag)) {
            return None;
        }
        let mut plain = ciphertext.to_vec();
        self.cipher(nonce).apply_keystream(&mut plain);
        Some(plain)
    }

    fn cipher(&self, nonce: &[u8; 16]) -> Ctr128BE<Aes256> {
        Ctr128BE::new(&self.encrypt.into(), &(*nonce).into())
    }

    fn tag(&self, nonce: &[u8; 16], ciphertext: &[u8]) -> [u8; 16] {
        let mut pad: Block<aes::Aes128> = (*nonce).into();
        aes::Aes128::new(&self.mac_k.into()).encrypt_block(&mut pad);
        let mut key = Zeroizing::new([0; 32]);
        key[..16].copy_from_slice(&self.mac_r);
        key[16..].copy_from_slice(&pad);
        Poly1305::new(&(*key).into()).compute_unpadded(ciphertext).into()
    }

    /// A key of zeros.
    #[cfg(test)]
    pub(super) fn zero() -> Self {
        Self::of(&[0; 64])
    }

    /// Seals a text with a nonce of zeros.
    #[cfg(test)]
    pub(super) fn seal(&self, plain: &[u8]) -> Vec<u8> {
        let mut ciphertext = plain.to_vec();
        self.cipher(&[0; 16]).apply_keystream(&mut ciphertext);
        [&[0; 16], ciphertext.as_slice(), &self.tag(&[0; 16], &ciphertext)].concat()
    }
}

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MasterKey(..)")
    }
}

/// The master key as a key file holds it.
#[derive(Deserialize, Zeroize, ZeroizeOnDrop)]
struct StoredKey {
    mac: StoredMac,
    encrypt: String,
}

#[derive(Deserialize, Zeroize)]
struct StoredMac {
    k: String,
    r: String,
}

impl StoredKey {
    fn master(&self) -> Option<MasterKey> {
        let part = |text: &str| STANDARD.decode(text).ok().map(Zeroizing::new);
        let parts = [part(&self.encrypt)?, part(&self.mac.k)?, part(&self.mac.r)?];
        let bytes = Zeroizing::new(parts.iter().flat_map(|part| part.iter().copied()).collect::<Vec<u8>>());
        let is_whole = parts.iter().map(|part| part.len()).eq([32, 16, 16]);
        is_whole.then(|| MasterKey::of(bytes.as_slice().try_into().expect("its parts have 64 bytes together")))
    }
}

/// Bytes that sealing adds to a text: nonce and tag.
pub(super) const OVERHEAD: u64 = 32;
/// Memory that opening with a password may take; restic needs 32 to some hundred MiB.
const MEMORY: u64 = 1 << 30;
/// The same, times the passes over it.
const WORK: u64 = 8 << 30;
