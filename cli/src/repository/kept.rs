//! Kept: finds this machine's key for signing gateway requests.

use std::path::Path;

use copal_engine::id::ClientId;
use ed25519_dalek::SigningKey;

use super::Credentials;
use super::client::{self, KEYS};

/// This machine's client and its request key. None if it has no client, or if its file cannot be read: the command
/// reports that when it needs the other keys.
pub fn kept_request_key(state_dir: &Path) -> Option<(ClientId, SigningKey)> {
    if let Ok(Some(kept)) = Credentials::find(state_dir) {
        return Some((kept.client, kept.keys.request_key()));
    }
    let (id, keys) = client::kept(&state_dir.join(KEYS)).ok()??;
    Some((id, keys.request_key()))
}
