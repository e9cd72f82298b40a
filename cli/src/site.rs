//! Site: where a repository lies, and the store that reaches it.

use std::path::Path;
use std::sync::Arc;

use copal_engine::id::ClientId;
use copal_engine::keys::owner::OwnerSecret;
use copal_store::fs::FsStore;
use copal_store::{Store, StoreError};
use ed25519_dalek::SigningKey;

use crate::places::{BadLocation, Location};
use crate::remote::{GatewayStore, Introduction, RemoteStore};
use crate::wait::wait;

/// Where a repository lies, or is to lie, and the store that reaches it.
#[derive(Clone)]
pub struct Site {
    location: Location,
    reached: Reached,
}

#[derive(Clone)]
enum Reached {
    Directory(Arc<FsStore>),
    Gateway { gateway: Arc<GatewayStore>, store: Arc<RemoteStore> },
    Other(Arc<dyn Store>),
}

/// Why a site cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// There is nothing.
    #[error("there is nothing at {0}")]
    Absent(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nothing of this kind can be opened.
    #[error(transparent)]
    Location(#[from] BadLocation),
}

impl Site {
    /// Where a repository should be; a directory must be there. Writes nothing.
    pub fn open(location: &Location) -> Result<Self, SiteError> {
        if let Some(reached) = Reached::gateway(location) {
            return Ok(Self { location: location.clone(), reached });
        }
        let absent = || SiteError::Absent(location.to_string());
        let reached = match FsStore::open(location.directory()?) {
            Ok(store) => Reached::Directory(Arc::new(store)),
            Err(StoreError::NotFound { .. } | StoreError::Gone { .. } | StoreError::Obstructed { .. }) => {
                return Err(absent());
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Self { location: location.clone(), reached })
    }

    /// Where a repository is to be made; a directory is made if it is missing.
    pub fn create(location: &Location) -> Result<Self, SiteError> {
        if let Some(reached) = Reached::gateway(location) {
            return Ok(Self { location: location.clone(), reached });
        }
        let store = FsStore::create(location.directory()?)?;
        Ok(Self { location: location.clone(), reached: Reached::Directory(Arc::new(store)) })
    }

    /// A store that was reached already.
    pub fn reached(location: &Location, store: Arc<dyn Store>) -> Self {
        Self { location: location.clone(), reached: Reached::Other(store) }
    }

    /// Whether every request takes a round trip: then many are made at once, and much is asked for with each.
    pub fn is_far(&self) -> bool {
        self.store().is_far()
    }

    /// How many packs are stored at once.
    pub fn uploads(&self) -> usize {
        if self.is_far() { UPLOADS } else { 1 }
    }

    /// How many threads read packs, of so many that the machine runs at once.
    pub fn readers(&self, threads: usize) -> usize {
        if self.is_far() { threads.max(READERS) } else { threads }
    }

    /// Where it is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The store.
    pub fn store(&self) -> Arc<dyn Store> {
        match &self.reached {
            Reached::Directory(store) => store.clone(),
            Reached::Gateway { store, .. } => store.clone(),
            Reached::Other(store) => store.clone(),
        }
    }

    /// The directory of this machine that holds it, if one does.
    pub fn directory(&self) -> Option<&Path> {
        match &self.location {
            Location::Directory(path) => Some(path),
            _ => None,
        }
    }

    /// Finds out whether the store can hold a repository safely.
    pub fn probe(&self) -> Result<(), StoreError> {
        match &self.reached {
            Reached::Directory(store) => store.probe().map(|_| ()),
            // What is behind it was probed by who serves it.
            Reached::Gateway { .. } => Ok(()),
            Reached::Other(_) => Ok(()),
        }
    }

    /// Whether something that looks like a repository is there.
    pub fn holds_repository(&self) -> Result<bool, StoreError> {
        for prefix in ["copal/", "keys/"] {
            if !wait(self.store().list(prefix, None, 1))?.objects.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether there is anything but what a repository holds that was just begun: then it is somebody else's.
    pub fn holds_other_files(&self) -> Result<bool, std::io::Error> {
        match (&self.reached, self.directory()) {
            (Reached::Directory(_), Some(directory)) => holds_other_files(directory),
            (Reached::Gateway { .. }, _) => Ok(false),
            _ => {
                let listed = wait(self.store().list("", None, 1000)).map_err(std::io::Error::other)?;
                Ok(listed.objects.iter().any(|object| !object.key.as_str().starts_with("keys/")))
            }
        }
    }

    /// Tells a gateway's store where this machine keeps its keys, and whom it trusts.
    pub fn introduce(&self, introduction: Introduction) {
        if let Reached::Gateway { gateway, .. } = &self.reached {
            gateway.introduce(introduction);
        }
    }

    /// Tells a gateway's store the owner's key: it signs what no client may do, and all while there is no client.
    pub fn know_owner(&self, owner: &OwnerSecret) {
        if let Reached::Gateway { gateway, .. } = &self.reached {
            gateway.know_owner(owner);
        }
    }

    /// Lets a gateway's store sign as whoever joins with this enrollment key.
    pub fn join_as(&self, client: ClientId, enrollment: SigningKey) {
        if let Reached::Gateway { gateway, .. } = &self.reached {
            gateway.join_as(client, enrollment);
        }
    }
}

impl Reached {
    fn gateway(location: &Location) -> Option<Self> {
        let gateway = match location {
            Location::Https(address) => GatewayStore::web(address),
            Location::Ssh(address) => GatewayStore::ssh(address.clone()),
            Location::Directory(_) | Location::S3 { .. } => return None,
        };
        Some(Self::Gateway { store: Arc::new(gateway.clone().patient()), gateway })
    }
}

/// A directory that holds anything but what the store itself makes is somebody's.
fn holds_other_files(directory: &Path) -> Result<bool, std::io::Error> {
    for entry in std::fs::read_dir(directory)? {
        // The last two hold nothing, or what was found to be an interrupted run's.
        let name = entry?.file_name();
        if !["tmp", "lost+found", "keys", "copal"].iter().any(|ours| name == *ours) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Packs on their way at once: with packs of 32 MiB, 128 MiB of memory.
const UPLOADS: usize = 4;
/// Threads that wait for ranges of 4 MiB.
const READERS: usize = 16;
