//! Identity: the key that signs a request: this machine's client, the owner (after a passphrase), or an enrollment.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use copal_format::id::{ClientId, RepositoryId};
use copal_format::request::Signatory;
use copal_store::Op;
use ed25519_dalek::SigningKey;

use super::orders::ORDERED;
use super::problem::Asked;
use crate::credentials;

/// What the client of a gateway must know about its machine.
#[derive(Clone, Debug)]
pub struct Introduction {
    /// The directory below which the keys of each repository are kept.
    pub state: PathBuf,
    /// Certificates to trust besides the system's.
    pub ca_file: Option<PathBuf>,
}

/// The keys that this process may sign with.
#[derive(Default)]
pub(super) struct Identity {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    state: Option<PathBuf>,
    owner: Option<SigningKey>,
    joining: Option<(ClientId, SigningKey)>,
    client: Option<(ClientId, SigningKey)>,
    /// Whether the gateway does not know the client key.
    is_unknown: bool,
}

impl Identity {
    pub(super) fn introduce(&self, introduction: Introduction) {
        self.known().state = Some(introduction.state);
    }

    pub(super) fn know_owner(&self, key: SigningKey) {
        self.known().owner = Some(key);
    }

    pub(super) fn join_as(&self, client: ClientId, enrollment: SigningKey) {
        self.known().joining = Some((client, enrollment));
    }

    /// Stops using the client key, which the gateway does not know. Returns whether it was in use until now.
    pub(super) fn forget_client(&self) -> bool {
        let mut known = self.known();
        known.client = None;
        known.joining.is_none() && !std::mem::replace(&mut known.is_unknown, true)
    }

    /// Stops using the enrollment key. Returns whether it was in use until now.
    pub(super) fn has_joined(&self) -> bool {
        self.known().joining.take().is_some()
    }

    /// Uses the client key again: the client's record was written.
    pub(super) fn remember_client(&self) {
        self.known().is_unknown = false;
    }

    /// The key that signs a request; `None` if this machine has none. The owner's key signs writes that only the owner
    /// may make, and job orders, because only the owner may shorten the grace period.
    pub(super) fn signer(&self, repository: RepositoryId, asked: &Asked<'_>) -> Option<(Signatory, SigningKey)> {
        let mut known = self.known();
        if let Some((client, key)) = &known.joining {
            return Some((Signatory::Client(*client), key.clone()));
        }
        // A client may have been registered since the last request.
        if known.client.is_none()
            && !known.is_unknown
            && let Some(state) = &known.state
        {
            let kept = credentials::of_client(&state.join(repository.to_string()));
            known.client = kept.map(|(client, keys)| (client, keys.request_key()));
        }
        let is_owners = matches!(asked.op, Op::Create | Op::Delete)
            && ["copal/", "keys/", "clients/", "reader/", ORDERED].iter().any(|start| asked.key.starts_with(start));
        let owner = known.owner.clone().map(|key| (Signatory::Owner, key));
        let client = known.client.clone().map(|(id, key)| (Signatory::Client(id), key));
        // A new client is not registered before the owner has signed its record.
        let is_registering = asked.key.starts_with("clients/") || asked.op == Op::Now;
        if is_owners || (is_registering && owner.is_some()) { owner.or(client) } else { client.or(owner) }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
