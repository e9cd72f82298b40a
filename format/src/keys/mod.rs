//! Keys: the owner's secret, the keys derived from it, and the slots that wrap it.

pub mod attempts;
pub mod client;
pub mod cuts;
pub mod domain;
pub mod owner;
pub mod secret;
pub mod session;
pub mod slot;
pub mod text;

use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce};

use secret::Secret;

const NONCE: usize = 12;
const TAG: usize = 16;

/// Encrypts a short message: `GCM(key, nonce, associated, message)`.
fn gcm_seal(key: &Secret, nonce: [u8; NONCE], associated: &[u8], message: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(message.len() + TAG);
    sealed.extend_from_slice(message);
    Aes256Gcm::new(key.expose().into())
        .encrypt_in_place(&Nonce::from(nonce), associated, &mut sealed)
        .expect("records are far below the AES-GCM length limit");
    sealed
}

/// Decrypts what [`gcm_seal`] encrypted, into memory that is wiped on drop; none if the tag is wrong.
fn gcm_open(key: &Secret, nonce: [u8; NONCE], associated: &[u8], sealed: &[u8]) -> Option<zeroize::Zeroizing<Vec<u8>>> {
    let mut message = zeroize::Zeroizing::new(sealed.to_vec());
    Aes256Gcm::new(key.expose().into()).decrypt_in_place(&Nonce::from(nonce), associated, &mut *message).ok()?;
    Some(message)
}
