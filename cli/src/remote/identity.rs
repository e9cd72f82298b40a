//! Identity: whose key signs a request: this machine's client, the owner once a passphrase opened its key, or whoever joins.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use copal_engine::id::{ClientId, RepositoryId};
use copal_engine::request::Signatory;
use copal_store::Op;
use ed25519_dalek::SigningKey;

use super::orders::ORDERED;
use super::problem::Asked;
use crate::repository::kept_request_key;

/// What a gateway's client has to know of its machine.
#[derive(Clone, Debug)]
pub struct Introduction {
    /// The directory below which the keys of each repository are kept.
    pub state: PathBuf,
    /// Certificates to be trusted besides the system's.
    pub ca_file: Option<PathBuf>,
}

/// The keys at hand.
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
    /// Whether the gateway does not know the client.
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

    /// Does without the client's key, which the gateway does not know; whether it was used so far.
    pub(super) fn forget_client(&self) -> bool {
        let mut known = self.known();
        known.client = None;
        known.joining.is_none() && !std::mem::replace(&mut known.is_unknown, true)
    }

    /// Does without the enrollment key; whether it was used so far.
    pub(super) fn has_joined(&self) -> bool {
        self.known().joining.take().is_some()
    }

    /// Uses the client's key again: its record was written.
    pub(super) fn remember_client(&self) {
        self.known().is_unknown = false;
    }

    /// The key that signs a request; none if this machine has none. Writes that only the owner may make, and orders of jobs
    /// (only the owner may shorten the grace period), are signed with the owner's key.
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
            known.client = kept_request_key(&state.join(repository.to_string()));
        }
        let is_owners = matches!(asked.op, Op::Create | Op::Delete)
            && ["copal/", "keys/", "clients/", "reader/", ORDERED].iter().any(|start| asked.key.starts_with(start));
        let owner = known.owner.clone().map(|key| (Signatory::Owner, key));
        let client = known.client.clone().map(|(id, key)| (Signatory::Client(id), key));
        // A client that was just made is not registered before the owner has said so.
        let is_registering = asked.key.starts_with("clients/") || asked.op == Op::Now;
        if is_owners || (is_registering && owner.is_some()) { owner.or(client) } else { client.or(owner) }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
