//! A store in an S3 bucket, or on any server that speaks S3 and honours conditional writes.
//!
//! A creation is one PUT with `If-None-Match: *` and a SHA-256: the server refuses to replace, and refuses other bytes.
//! Requests run on the store's own tokio runtime or a given one; the caller's executor does not matter. Nothing is
//! retried here: [`retry`](crate::retry) does that.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

mod answer;
mod bound;
mod bucket;
mod clock;
mod config;
mod get;
mod list;
mod lock;
mod paced;
mod presign;
mod probe;
mod retention;
#[cfg(test)]
mod tests;
mod trouble;

use crate::clock::Clock;
use crate::under_way::UnderWay;
use crate::worker::{Stopped, Worker};
use crate::{Created, Key, Op, Store, StoreError};
use bucket::Bucket;

pub use crate::worker::RuntimePause;
pub use answer::{is_absence, of_answer};
pub use aws_credential_types::Credentials;
pub use config::S3Config;
pub use retention::{BadRetention, LockMode, Retention};
pub use trouble::Trouble;

/// Objects below a prefix of a bucket.
///
/// Times come from the server's `Date` and `Last-Modified` headers, in whole seconds.
#[derive(Debug)]
pub struct S3Store {
    bucket: Arc<Bucket>,
    worker: Worker,
}

/// Why a bucket cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BadConfig {
    /// The bucket's name is invalid.
    #[error("{bucket:?} cannot be the name of a bucket")]
    Bucket { bucket: String },
    /// It is a directory bucket, which lists in no order.
    #[error("{bucket} is a directory bucket, which lists its objects in no order: a general purpose bucket is needed")]
    Directory { bucket: String },
    /// The prefix is not made of key segments.
    #[error("{prefix:?} cannot stand before keys: it is of segments of letters, digits, dot, dash and underscore")]
    Prefix { prefix: String },
    /// No threads could be started.
    #[error("cannot start the runtime that requests run on")]
    Runtime(#[source] io::Error),
}

impl PartialEq for BadConfig {
    fn eq(&self, other: &BadConfig) -> bool {
        self.to_string() == other.to_string()
    }
}

impl S3Store {
    /// Opens a store with its own runtime. Sends no request to the bucket: its errors show at the first call.
    pub async fn open(config: S3Config) -> Result<S3Store, BadConfig> {
        S3Store::start(config, Worker::new().map_err(BadConfig::Runtime)?).await
    }

    /// Opens a store on an existing runtime with I/O and time, which must outlive the store.
    pub async fn open_on(config: S3Config, runtime: Handle) -> Result<S3Store, BadConfig> {
        S3Store::start(config, Worker::on(runtime)).await
    }

    async fn start(config: S3Config, worker: Worker) -> Result<S3Store, BadConfig> {
        config.check()?;
        let clock = Clock::default();
        let connected = worker.run(async move {
            let connection = config.connect(clock.clone()).await;
            Bucket { config, connection, clock, tokens: UnderWay::new(TOKENS_MAX), signing: Mutex::default() }
        });
        let stopped = || BadConfig::Runtime(io::Error::other(Stopped));
        let bucket = Arc::new(connected.await.ok_or_else(stopped)?);
        Ok(S3Store { bucket, worker })
    }

    /// Creates the bucket, on a server of your own; on AWS, create it with the account's tools. Succeeds if the bucket
    /// exists and is yours.
    pub async fn create_bucket(&self) -> Result<(), StoreError> {
        self.call((Op::Create, ""), |bucket| async move { bucket.create_bucket().await }).await
    }

    /// Identifies server and bucket in hexadecimal, for notes about them.
    pub fn fingerprint(&self) -> String {
        let (config, connection) = (&self.bucket.config, &self.bucket.connection);
        let endpoint = connection.endpoint.as_deref().unwrap_or("AWS");
        let sum = Sha256::digest(format!("{endpoint}\n{}\n{}", connection.region, config.bucket));
        sum.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    async fn call<T, F>(&self, of: (Op, &str), call: impl FnOnce(Arc<Bucket>) -> F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.worker.call(&self.bucket, of, call).await
    }

    /// How wrappers of this store should wait.
    pub fn pause(&self) -> RuntimePause {
        RuntimePause(self.worker.handle().clone())
    }
}

#[async_trait]
impl Store for S3Store {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        // Hashes on the caller's thread, so that many callers use many threads.
        let sum = BASE64.encode(Sha256::digest(&bytes));
        let own = key.clone();
        self.call((Op::Create, key.as_str()), |bucket| async move { bucket.create(&own, bytes, sum).await }).await
    }

    // The SHA-256 that `stat` tells is the one that the server checked at the upload, if it was of the whole object. A
    // page has at most 1,000 objects and skips names that are not keys: Copal did not make them.
    crate::pass_on!(call(): read, read_range, stat, list, delete, delete_all, now);

    fn is_remote(&self) -> bool {
        true
    }
}

/// Listings whose continuation tokens are kept.
const TOKENS_MAX: usize = 64;
