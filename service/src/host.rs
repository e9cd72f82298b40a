//! Host: what a job needs of the world besides its parameters.

use copal_engine::id::RepositoryId;
use copal_engine::room::Scratch;
use copal_engine::time::Time;
use copal_store::{Store, StoreError};

/// A source of random bytes.
pub trait Entropy: Send + Sync {
    /// Fills a buffer with random bytes.
    fn fill(&self, bytes: &mut [u8]);
}

/// What a job works with.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// The repository's objects.
    pub store: &'a dyn Store,
    /// Random bytes, for what must never be made twice.
    pub entropy: &'a dyn Entropy,
    /// Room for what grows with a domain.
    pub scratch: &'a dyn Scratch,
    /// The repository.
    pub repository: RepositoryId,
    /// The owner's Ed25519 public key, which vouches for clients.
    pub owner_key: [u8; 32],
}

impl Host<'_> {
    /// 16 random bytes.
    pub fn random(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        self.entropy.fill(&mut bytes);
        bytes
    }

    /// The store's time.
    pub async fn now(&self) -> Result<Time, StoreError> {
        Ok(Time(self.store.now().await?.0))
    }

    /// The store's time, to be noted; the earliest of all where the store takes no writes, for then nothing can be noted.
    pub async fn now_to_note(&self) -> Result<Time, StoreError> {
        match self.now().await {
            Err(StoreError::Denied { .. } | StoreError::ReadOnly { .. } | StoreError::Full { .. }) => Ok(Time(0)),
            now => now,
        }
    }
}
