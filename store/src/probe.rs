//! The race that every remote store must pass: of many writers of one name exactly one wins.

use bytes::Bytes;
use futures::future::join_all;
use sha2::{Digest, Sha256};

use crate::{Created, Key, Op, Store, StoreError};

/// Lets writers race for names below `tmp/`, and deletes what they made if permitted. `lack` is the error for a store
/// whose writers replace each other's objects.
pub(crate) async fn creates_once(store: &(impl Store + ?Sized), lack: &'static str) -> Result<(), StoreError> {
    for _ in 0..ROUNDS {
        let mut failure = None;
        for _ in 0..ATTEMPTS {
            let key = new_key()?;
            let raced = race(store, &key, lack).await;
            // Without the right to delete it stays; nothing reads it.
            let _ = store.delete(&key).await;
            match raced {
                Err(error) if error.is_transient() => failure = Some(error),
                settled => {
                    failure = None;
                    settled?;
                    break;
                }
            }
        }
        failure.map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// Of many concurrent creations exactly one gets [`Created::New`], and its bytes stay. Transient if the winner's answer
/// may be the one that was lost.
async fn race(store: &(impl Store + ?Sized), key: &Key, lack: &'static str) -> Result<(), StoreError> {
    let create = |creator: u8| store.create(key, Bytes::from(vec![creator; 1_000]));
    let (mut winners, mut failure) = (Vec::new(), None);
    for (creator, created) in (0..).zip(join_all((0..CREATORS).map(create)).await) {
        match created {
            Ok(Created::New) => winners.push(creator),
            Ok(Created::Exists) => (),
            Err(error) if error.is_transient() => failure = Some(error),
            Err(error) => return Err(error),
        }
    }
    let winner: u8 = match (winners.as_slice(), failure) {
        ([winner], _) => *winner,
        ([], Some(failure)) => return Err(failure),
        ([], None) => return Err(StoreError::Unfit { lack: "nobody creates an object that is not there" }),
        _ => return Err(StoreError::Unfit { lack }),
    };
    let late = store.create(key, Bytes::from_static(b"late")).await?;
    let found = store.read(key).await?;
    if late == Created::New || found != vec![winner; 1_000] {
        return Err(StoreError::Unfit { lack });
    }
    let attested = store.stat(key).await?.and_then(|stat| stat.sha256);
    let expected: [u8; 32] = Sha256::digest(&found).into();
    if attested.is_some_and(|attested| attested != expected) {
        return Err(StoreError::Unfit { lack: "the SHA-256 that it tells of an object is not that of its bytes" });
    }
    Ok(())
}

/// A name that nobody has used.
pub(crate) fn new_key() -> Result<Key, StoreError> {
    let random = getrandom::u64().map_err(|error| StoreError::Io {
        op: Op::Create,
        key: PLACE.to_owned(),
        source: error.to_string().into(),
    })?;
    Ok(Key::new(format!("{PLACE}{random:016x}")).expect("digits make a key"))
}

/// Where the probes write.
pub(crate) const PLACE: &str = "tmp/probe-";
const CREATORS: u8 = 12;
const ROUNDS: u32 = 3;
const ATTEMPTS: u32 = 4;
