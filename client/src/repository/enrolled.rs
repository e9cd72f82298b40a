//! Enrolled: a write-only machine's view of the repository. It cannot open stored data: session keys are wrapped for
//! the owner alone, and the device key seals only its own cache.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use copal_format::keys::owner::KemPublic;
use copal_format::repository::Descriptor;
use copal_format::room::Memory;
use copal_jobs::clients;
use copal_jobs::context::JobContext;
use copal_store::Store;

use super::{ClientError, LocalClient, OpenError, list_descriptors, seen};
use crate::backend::Backend;
use crate::credentials::Credentials;
use crate::entropy::SystemEntropy;
use crate::wait::wait;

/// A repository as a write-only client uses it.
pub struct Enrolled {
    pub(super) backend: Backend,
    pub(super) store: Arc<dyn Store>,
    pub(super) descriptor: Descriptor,
    /// The owner's public key that session keys are wrapped for.
    pub(super) kem: KemPublic,
    /// The client's credentials.
    pub credentials: Credentials,
    /// Directory of the kept trees; none if this machine has no cache directory.
    pub cache_dir: Option<PathBuf>,
}

impl Enrolled {
    /// Opens the repository of a backend. The newest descriptor must be of the owner who enrolled the client, and not
    /// older than this machine has seen.
    pub fn open(
        backend: &Backend,
        credentials: Credentials,
        state_dir: &Path,
        cache_dir: Option<PathBuf>,
    ) -> Result<Self, OpenError> {
        let store = backend.store();
        let (object, newest) =
            list_descriptors(&store)?.pop().ok_or_else(|| OpenError::NoRepository(backend.location().clone()))?;
        if let Some(found) =
            newest.as_ref().ok().map(|there| there.repository).filter(|id| *id != credentials.repository)
        {
            let (location, met) = (backend.location().clone(), credentials.repository);
            return Err(OpenError::Another { location, found, met });
        }
        let (descriptor, kem) = newest
            .and_then(|descriptor| {
                let kem = descriptor.kem_of(credentials.repository, credentials.owner)?;
                seen::compare(state_dir, &descriptor)?;
                Ok((descriptor, kem))
            })
            .map_err(|source| OpenError::Descriptor { object, source })?;
        Ok(Self { backend: backend.clone(), store, descriptor, kem, credentials, cache_dir })
    }

    /// This machine's client; fails if the owner has revoked it, or if its record does not match the credentials.
    pub fn client(&self) -> Result<LocalClient, ClientError> {
        let credentials = &self.credentials;
        let id = credentials.client;
        let record = wait(clients::read(&self.job(), id))?.ok_or(ClientError::Record(id))?;
        if record.revoked.is_some() {
            return Err(ClientError::Revoked(id));
        }
        let ours = Some(credentials.keys.manifest_public());
        if record.domain != credentials.domain || record.keys.map(|public| public.manifest) != ours {
            return Err(ClientError::Record(id));
        }
        Ok(LocalClient { id, keys: credentials.keys.clone(), domain: credentials.domain })
    }

    /// The context that jobs of the service run in.
    pub(super) fn job(&self) -> JobContext<'_> {
        JobContext {
            store: self.store.as_ref(),
            entropy: &SystemEntropy,
            scratch: &Memory,
            repository: self.credentials.repository,
            owner_key: self.descriptor.owner_key,
        }
    }
}
