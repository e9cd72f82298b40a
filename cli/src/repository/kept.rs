//! Kept: the key that signs requests to gateways, as this machine keeps it.

use std::path::Path;

use copal_engine::id::ClientId;
use ed25519_dalek::SigningKey;

use super::Credentials;
use super::client::{self, KEYS};

/// The client that this machine is and its request key; none if it is none, or if its file cannot be read, which the
/// command says where it needs the rest of it.
pub fn kept_request_key(state_dir: &Path) -> Option<(ClientId, SigningKey)> {
    if let Ok(Some(kept)) = Credentials::find(state_dir) {
        return Some((kept.client, kept.keys.request_key()));
    }
    let (id, keys) = client::kept(&state_dir.join(KEYS)).ok()??;
    Some((id, keys.request_key()))
}
