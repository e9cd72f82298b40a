//! Shares: sealed copies of files that a link opens (`docs/format.md`, section 2.3). Their key is only in the link, so
//! jobs and gateways know names, lengths and terms.
//!
//! A share exists while its terms do. They are created last and deleted first.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use copal_format::id::ObjectHash;
use copal_format::time::Time;
use copal_store::{Key, Listed, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::context::JobContext;
use crate::error::JobError;
use crate::objects::{self, delete, list};
pub use crate::share_id::{DATA, FOLDER, OBJECT_BYTES, ShareId, TAKEN, TERMS};

/// What a share's maker has set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// The SHA-256, in hexadecimal, of the token that opens the share. Without the token, its id opens nothing.
    pub token: String,
    /// When the share ends, in seconds since 1970.
    pub ends: u64,
    /// How often it may be opened.
    pub count: u32,
    /// The length of all objects in `shares/data/`.
    pub length: u64,
    /// The length of the sealed list.
    pub list: u64,
    /// What the owner calls it, sealed: base64.
    pub label: String,
}

impl Terms {
    /// Reads terms; none if they are no terms or a value is out of range.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let terms: Self = serde_json::from_slice(bytes).ok()?;
        let is_sound = ObjectHash::from_hex(&terms.token).is_ok_and(|hash| hash.to_string() == terms.token)
            && (1..=OPENINGS_MOST).contains(&terms.count)
            && (1..=OBJECTS_MOST * OBJECT_BYTES).contains(&terms.length)
            && (1..=OBJECT_BYTES).contains(&terms.list)
            && terms.label.len() <= LABEL_BYTES;
        is_sound.then_some(terms)
    }

    /// The object's bytes.
    pub fn encode(&self) -> Bytes {
        serde_json::to_vec(self).expect("numbers and texts are JSON").into()
    }
}

/// What was deleted.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Shares.
    pub shares: u64,
    /// Their objects.
    pub objects: u64,
    /// The objects' bytes.
    pub bytes: u64,
}

/// Deletes a share with all of its objects.
pub async fn remove(store: &dyn Store, id: &ShareId) -> Result<Ended, JobError> {
    let mut all = Vec::new();
    for prefix in [id.list().as_str().to_owned(), format!("{DATA}{}/", id.as_str()), format!("{TAKEN}{}/", id.as_str())]
    {
        // Other objects there, put by a person or a system, are not deleted.
        all.extend(
            list(store, &prefix)
                .await?
                .into_iter()
                .filter(|found| ShareId::of(found.key.as_str()).as_ref() == Some(id)),
        );
    }
    // From here on nobody can open the share, even if deleting the rest fails.
    delete(store, &[id.terms()]).await?;
    let keys: Vec<Key> = all.iter().map(|listed| listed.key.clone()).collect();
    delete(store, &keys).await?;
    Ok(Ended { shares: 1, objects: 1 + all.len() as u64, bytes: all.iter().map(|listed| listed.stat.length).sum() })
}

/// Deletes shares that are over, by the store's clock: ended ones, those whose openings were all taken and whose tickets
/// have ended, and what is a day old and has no terms.
pub(crate) async fn sweep(job: &JobContext<'_>) -> Result<Ended, JobError> {
    let mut ended = Ended::default();
    let mut shares: BTreeMap<ShareId, Vec<Listed>> = BTreeMap::new();
    for listed in list(job.store, FOLDER).await? {
        if let Some(id) = ShareId::of(listed.key.as_str()) {
            shares.entry(id).or_default().push(listed);
        }
    }
    if shares.is_empty() {
        return Ok(ended);
    }
    let now = match job.now().await {
        // A directory store needs a write to tell the time. Shares that are over are deleted once there is room.
        Err(StoreError::Full { .. }) => return Ok(ended),
        now => now?,
    };
    for (id, objects) in shares {
        if is_over(job, &id, &objects, now).await? {
            // A share that is made meanwhile has its terms by now.
            let has_begun =
                !objects.iter().any(|listed| listed.key == id.terms()) && job.store.stat(&id.terms()).await?.is_some();
            if has_begun {
                continue;
            }
            let Ended { shares, objects, bytes } = remove(job.store, &id).await?;
            ended.shares += shares;
            ended.objects += objects;
            ended.bytes += bytes;
        }
    }
    Ok(ended)
}

async fn is_over(job: &JobContext<'_>, id: &ShareId, objects: &[Listed], now: Time) -> Result<bool, JobError> {
    let names: BTreeSet<&Key> = objects.iter().map(|listed| &listed.key).collect();
    let newest = objects.iter().map(|listed| Time(listed.stat.created.0)).max().unwrap_or(now);
    let is_old = now.0.saturating_sub(newest.0) >= DAY.saturating_mul(1_000_000_000);
    let bytes = match names.contains(&id.terms()) {
        // Terms that cannot be read today are no reason to delete anything, nor to stop a prune.
        true => match objects::read(job.store, id.terms().as_str()).await {
            Ok(bytes) => bytes,
            Err(_) => return Ok(false),
        },
        false => None,
    };
    let Some(terms) = bytes.and_then(|bytes| Terms::read(&bytes)) else { return Ok(is_old) };
    let ends = Time::from_unix(i64::try_from(terms.ends).unwrap_or(i64::MAX), 0);
    // The newest object of a share that was taken up is its last opening, and no ticket is valid for more than a day.
    Ok(ends <= now || (is_old && names.contains(&id.taken(terms.count.into()))))
}

/// Objects of sealed bytes in one share: 4 GiB.
pub const OBJECTS_MOST: u64 = 256;
/// The most times that a share may be opened.
pub const OPENINGS_MOST: u32 = 1000;
/// The most seconds that a share may last.
pub const LONGEST: u64 = 90 * DAY as u64;
/// The most seconds that a ticket is valid.
pub const TICKET: u64 = DAY as u64;
const DAY: i64 = 24 * 60 * 60;
const LABEL_BYTES: usize = 4 << 10;

#[cfg(test)]
#[path = "shares_tests.rs"]
mod tests;
