//! The probe: tests whether a server gives the guarantees that a repository needs.

use std::sync::Arc;

use base64::Engine;
use bytes::Bytes;
use futures::future::join_all;
use sha2::{Digest, Sha256};

use super::bucket::Bucket;
use super::trouble::Trouble;
use super::{BASE64, S3Store};
use crate::{Created, Key, Op, StoreError};

impl S3Store {
    /// Tests whether the server creates a name only once, even with concurrent requests, and refuses bytes that do not
    /// match their SHA-256. Writes a few small objects below `tmp/` and deletes them if permitted.
    pub async fn probe(&self) -> Result<(), StoreError> {
        self.run(Op::Create, PLACE, |bucket| async move { bucket.probe().await }).await
    }
}

impl Bucket {
    async fn probe(self: Arc<Self>) -> Result<(), StoreError> {
        let mut made = Vec::new();
        let found = self.try_out(&mut made).await;
        for key in &made {
            // Without the right to delete they stay; nothing reads them.
            let _ = self.delete(key).await;
        }
        found
    }

    async fn try_out(&self, made: &mut Vec<Key>) -> Result<(), StoreError> {
        self.refuses_other_bytes(made).await?;
        for _ in 0..ROUNDS {
            self.creates_once(made).await?;
        }
        Ok(())
    }

    async fn refuses_other_bytes(&self, made: &mut Vec<Key>) -> Result<(), StoreError> {
        let key = new_key(made)?;
        for attempt in 0..ATTEMPTS {
            let created = self.create(&key, Bytes::from_static(b"what is sent"), sum(b"what was meant")).await;
            match created {
                Ok(_) => return Err(unfit("it does not refuse bytes that do not match their x-amz-checksum-sha256")),
                // A lost answer may have been a success or a refusal; but a refused object does not exist.
                Err(error) if error.is_transient() => match self.exists(&key).await {
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

    /// Of many concurrent creations exactly one gets [`Created::New`], and its bytes stay.
    async fn creates_once(&self, made: &mut Vec<Key>) -> Result<(), StoreError> {
        let mut failure = None;
        for _ in 0..ATTEMPTS {
            let key = new_key(made)?;
            let create = |creator: u8| {
                let bytes = Bytes::from(vec![creator; 1_000]);
                let sum = sum(&bytes);
                self.create(&key, bytes, sum)
            };
            let created = join_all((0..CREATORS).map(create)).await;
            let mut winners = Vec::new();
            for (creator, created) in (0..).zip(created) {
                match created {
                    Ok(Created::New) => winners.push(creator),
                    Ok(Created::Exists) => (),
                    Err(error) if error.is_transient() => failure = Some(error),
                    Err(error) => return Err(error),
                }
            }
            let winner: u8 = match winners.as_slice() {
                [winner] => *winner,
                // The winner's answer may be the lost one.
                [] if failure.is_some() => continue,
                [] => return Err(unfit("nobody creates an object that is not there")),
                _ => return Err(unfit(REPLACES)),
            };
            let late = self.create(&key, Bytes::from_static(b"late"), sum(b"late")).await?;
            let found = self.read(&key).await?;
            if late == Created::New || found != vec![winner; 1_000] {
                return Err(unfit(REPLACES));
            }
            let attested = self.stat(&key).await?.and_then(|stat| stat.sha256);
            let expected: [u8; 32] = Sha256::digest(&found).into();
            if attested.is_some_and(|attested| attested != expected) {
                return Err(unfit("the SHA-256 that it tells of an object is not that of its bytes"));
            }
            return Ok(());
        }
        Err(failure.unwrap_or_else(|| Trouble::Answer("no attempt was made").lasting(Op::Create, PLACE)))
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

pub(super) fn new_key(made: &mut Vec<Key>) -> Result<Key, StoreError> {
    let random =
        getrandom::u64().map_err(|_| Trouble::Answer("there are no random numbers").lasting(Op::Create, PLACE))?;
    let key = Key::new(format!("{PLACE}{random:016x}")).expect("digits make a key");
    made.push(key.clone());
    Ok(key)
}

const REPLACES: &str = "it does not honour If-None-Match: * on a PUT, so one writer could replace another's object";
const PLACE: &str = "tmp/probe-";
const CREATORS: u8 = 12;
const ROUNDS: u32 = 3;
const ATTEMPTS: u32 = 4;
