//! Kept: the key that signs requests to gateways, as this machine keeps it.

use std::fs;
use std::path::Path;

use copal_engine::id::ClientId;
use ed25519_dalek::SigningKey;
use zeroize::Zeroizing;

use super::Credentials;
use super::client::{KEYS, decode};

/// The client that this machine is and its request key; none if it is none, or if its file cannot be read, which the
/// command says where it needs the rest of it.
pub fn kept_request_key(state_dir: &Path) -> Option<(ClientId, SigningKey)> {
    if let Ok(Some(credentials)) = Credentials::find(state_dir) {
        return Some((credentials.client, credentials.keys.request_key()));
    }
    let bytes = Zeroizing::new(fs::read(state_dir.join(KEYS)).ok()?);
    let (id, keys) = decode(&bytes)?;
    Some((id, keys.request_key()))
}
