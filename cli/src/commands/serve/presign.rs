//! Presign: presigned addresses at which clients upload to and read from a bucket directly.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use copal_client::backend::BackendOptions;
use copal_client::location::Location;
use copal_client::places::note_proof;
use copal_client::wait::wait;
use copal_gateway::router::Presigner;
use copal_store::retry::{self, Backoff};
use copal_store::s3::{BadConfig, S3Config, S3Store};
use copal_store::{Key, Presigned, StoreError};

/// A bucket that clients use directly, through presigned addresses.
pub(super) struct Bucket {
    store: S3Store,
    /// The file whose age says when the server last passed [`Bucket::binds_requests`].
    proof: Option<PathBuf>,
}

impl Bucket {
    pub(super) fn of(location: &Location, backend_options: &BackendOptions) -> Result<Option<Self>, BadConfig> {
        let Location::S3 { bucket, prefix } = location else { return Ok(None) };
        let mut config = S3Config::new(bucket, prefix);
        // Clients must send every header that the signature covers.
        config.storage_classes =
            backend_options.storage_class.iter().map(|class| ("packs/".to_owned(), class.clone())).collect();
        config.kms_key.clone_from(&backend_options.kms_key);
        config.lock = backend_options.object_lock;
        let store = wait(S3Store::open(config))?;
        let proof = backend_options.cache.as_ref().map(|cache| cache.join("bound").join(store.fingerprint()));
        Ok(Some(Self { store, proof }))
    }

    /// Whether the S3 server enforces signed headers, as far as a probe can tell. If `brief`, reuses a success of the
    /// last 24 h.
    pub(super) fn binds_requests(&self, brief: bool) -> Result<bool, StoreError> {
        let age = |proof: &PathBuf| fs::metadata(proof).ok()?.modified().ok()?.elapsed().ok();
        if brief && self.proof.as_ref().and_then(age).is_some_and(|age| age < BELIEVED) {
            return Ok(true);
        }
        let (backoff, pause) = (Backoff::default(), self.store.pause());
        let found = wait(retry::retried(backoff, &pause, || self.store.binds_requests()));
        match (&found, &self.proof) {
            (Ok(true), Some(proof)) => note_proof(proof),
            (_, Some(proof)) => drop(fs::remove_file(proof)),
            (_, None) => {}
        }
        match found {
            // Without the right to write the probe cannot tell; the gateway serves without presigning.
            Err(error) if error.refuses_writes() => Ok(false),
            found => found,
        }
    }
}

/// How long a successful probe counts.
const BELIEVED: Duration = Duration::from_secs(24 * 60 * 60);

#[async_trait]
impl Presigner for Bucket {
    async fn put(&self, key: &Key, length: u64, sha256: &[u8; 32], expires: Duration) -> Result<Presigned, StoreError> {
        self.store.presign_put(key, length, *sha256, expires).await
    }

    async fn get(&self, key: &Key, expires: Duration) -> Result<Presigned, StoreError> {
        self.store.presign_get(key, expires).await
    }
}
