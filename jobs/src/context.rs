//! Job context: everything a job needs besides its parameters.

use copal_format::id::RepositoryId;
use copal_format::room::Scratch;
use copal_format::time::Time;
use copal_store::{Store, StoreError};

/// A source of random bytes.
pub trait Entropy: Send + Sync {
    /// Fills a buffer with random bytes.
    fn fill(&self, bytes: &mut [u8]);
}

/// The context of a job: store, randomness, scratch storage, and whose repository it is.
#[derive(Clone, Copy)]
pub struct JobContext<'a> {
    /// The repository's objects.
    pub store: &'a dyn Store,
    /// Random bytes, which make every new object's bytes (and therefore its name) unique.
    pub entropy: &'a dyn Entropy,
    /// Scratch storage for data whose size grows with a domain.
    pub scratch: &'a dyn Scratch,
    /// The repository.
    pub repository: RepositoryId,
    /// The owner's Ed25519 public key, which vouches for clients.
    pub owner_key: [u8; 32],
}

impl JobContext<'_> {
    /// 16 random bytes.
    pub fn random(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        self.entropy.fill(&mut bytes);
        bytes
    }

    /// The current time by the store's clock.
    pub async fn now(&self) -> Result<Time, StoreError> {
        Ok(Time(self.store.now().await?.0))
    }

    /// Like [`Self::now`], for a note. Time 0 if the store takes no writes, because then nothing can be noted.
    pub async fn now_to_note(&self) -> Result<Time, StoreError> {
        self.now_or(Time(0)).await
    }

    /// Like [`Self::now`], but `other` if the store takes no writes. For callers that write nothing because of it.
    pub async fn now_or(&self, other: Time) -> Result<Time, StoreError> {
        match self.now().await {
            Err(error) if error.refuses_writes() => Ok(other),
            now => now,
        }
    }
}
