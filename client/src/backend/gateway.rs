//! What a backend asks and tells the service behind a gateway.

use copal_format::id::{ClientId, PackId};
use copal_format::keys::owner::OwnerSecret;
use copal_store::StoreError;
use ed25519_dalek::SigningKey;

use super::{Backend, BackendKind};
use crate::remote::{GatewayStore, Introduction};
use crate::wait::wait;

impl Backend {
    /// Asks the service behind a gateway to check packs; `None` without a gateway.
    pub fn suspect(&self, packs: &[PackId]) -> Option<Result<(), StoreError>> {
        match &self.kind {
            BackendKind::Gateway(gateway) => Some(wait(gateway.suspect(packs))),
            _ => None,
        }
    }

    /// The gateway of an `ssh://` repository on a connection that takes orders; `None` elsewhere.
    pub fn taking_orders(&self) -> Option<GatewayStore> {
        match &self.kind {
            BackendKind::Gateway(gateway) => gateway.taking_orders(),
            _ => None,
        }
    }

    /// Tells a gateway's store where this machine keeps its keys, and which certificates it trusts.
    pub fn introduce(&self, introduction: Introduction) {
        if let BackendKind::Gateway(gateway) = &self.kind {
            gateway.introduce(introduction);
        }
    }

    /// Gives a gateway's store the owner's key, which signs what no client may do, and everything without a client.
    pub fn know_owner(&self, owner: &OwnerSecret) {
        if let BackendKind::Gateway(gateway) = &self.kind {
            gateway.know_owner(owner);
        }
    }

    /// Lets a gateway's store sign as this client with its enrollment key.
    pub fn join_as(&self, client: ClientId, enrollment: SigningKey) {
        if let BackendKind::Gateway(gateway) = &self.kind {
            gateway.join_as(client, enrollment);
        }
    }
}
