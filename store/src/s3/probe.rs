//! The probe: tests whether a server gives the guarantees that a repository needs.

use std::sync::Arc;

use base64::Engine;
use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::bucket::Bucket;
use super::trouble::Trouble;
use super::{BASE64, S3Store};
use crate::error::Causes;
use crate::probe::{PLACE, creates_once, new_key};
use crate::{Key, Op, StoreError};

impl S3Store {
    /// Tests whether the server creates a name only once, even with concurrent requests, and refuses bytes that do not
    /// match their SHA-256. Writes a few small objects below `tmp/` and deletes them if permitted.
    pub async fn probe(&self) -> Result<(), StoreError> {
        self.worker.call(&self.bucket, (Op::Create, PLACE), |bucket| async move { bucket.probe().await }).await?;
        creates_once(self, REPLACES).await
    }
}

impl Bucket {
    async fn probe(self: Arc<Self>) -> Result<(), StoreError> {
        let key = new_key()?;
        let found = self.refuses_other_bytes(&key).await;
        // Without the right to delete it stays; nothing reads it.
        let _ = self.delete(&key).await;
        found
    }

    async fn refuses_other_bytes(&self, key: &Key) -> Result<(), StoreError> {
        for attempt in 0..ATTEMPTS {
            let created = self.create(key, Bytes::from_static(b"what is sent"), sum(b"what was meant")).await;
            match created {
                Ok(_) => return Err(unfit("it does not refuse bytes that do not match their x-amz-checksum-sha256")),
                // A lost answer may have been a success or a refusal; but a refused object does not exist.
                Err(error) if error.is_transient() => match self.exists(key).await {
                    Ok(true) => {
                        return Err(unfit("it does not refuse bytes that do not match their x-amz-checksum-sha256"));
                    }
                    Ok(false) if is_refusal(&error) => return Ok(()),
                    Ok(false) | Err(_) if attempt + 1 < ATTEMPTS => (),
                    Ok(false) | Err(_) => return Err(error),
                },
                Err(error) if is_refusal(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Err(Trouble::Answer("no attempt was made").lasting(Op::Create, PLACE))
    }
}

/// Whether the server refused the bytes.
fn is_refusal(error: &StoreError) -> bool {
    let (StoreError::Io { source, .. } | StoreError::Transient { source, .. }) = error else { return false };
    matches!(source.downcast_ref::<Trouble>(), Some(Trouble::Refused { status: 400, .. }))
}

fn unfit(lack: &'static str) -> StoreError {
    StoreError::Unfit { lack }
}

pub(super) fn sum(bytes: &[u8]) -> String {
    BASE64.encode(Sha256::digest(bytes))
}

const REPLACES: &str = "it does not honour If-None-Match: * on a PUT, so one writer could replace another's object";
const ATTEMPTS: u32 = 4;
