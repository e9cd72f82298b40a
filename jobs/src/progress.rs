//! Progress: where a job that ended early continues, noted as an object below `work/<job>/`. It is a hint that decides
//! only the order of work: without a readable note, a job begins at the beginning.

use bytes::Bytes;
use copal_format::id::{ClientId, DomainId};
use copal_format::time::Time;
use copal_store::{Key, Listed, StoreError};
use serde_json::{Value, json};

use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;

/// Where a job continues.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The last domain that was done, if domains behind it were not.
    pub(crate) after: Option<DomainId>,
    /// Whether the second part of the job comes first, because the last run did not reach it: reading packs for a
    /// check, copying in the domains behind `after` for a prune.
    pub(crate) owes_rest: bool,
    /// How far a check has come with what clients have written.
    pub(crate) chains: Chains,
}

/// How far a check has come with the chains of clients in this round.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Chains {
    /// Not begun.
    #[default]
    Due,
    /// Everything before this manifest was checked.
    Behind(Link),
    /// All of them were checked.
    Done,
}

/// A manifest at which a check continues.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// The client.
    pub(crate) client: ClientId,
    /// The last manifest of it that was checked; 0: none.
    pub(crate) number: u64,
    /// Whether the next check reads manifests before anything else.
    pub(crate) goes_first: bool,
}

impl Chains {
    fn read(noted: &Value) -> Self {
        let client = noted["client"].as_str().and_then(|text| ClientId::from_hex(text).ok());
        let link = |client| {
            let number = noted["number"].as_u64().unwrap_or(0);
            Self::Behind(Link { client, number, goes_first: noted["goes_first"].as_bool().unwrap_or(false) })
        };
        client.map_or(if noted["is_done"] == true { Self::Done } else { Self::Due }, link)
    }

    fn noted(self) -> Value {
        match self {
            Self::Due => Value::Null,
            Self::Behind(Link { client, number, goes_first }) => {
                json!({ "client": client.to_string(), "number": number, "goes_first": goes_first })
            }
            Self::Done => json!({ "is_done": true }),
        }
    }
}

/// Reads the newest note. An unreadable or malformed note counts as no note.
pub(crate) async fn last(job: &JobContext<'_>, kind: &str) -> Result<Progress, JobError> {
    let notes = until(job, kind, job.now_to_note().await?).await?;
    let Some(newest) = notes.first().filter(|listed| listed.stat.length <= NOTE_BYTES) else {
        return Ok(Progress::default());
    };
    let bytes = match objects::read(job.store, newest.key.as_str()).await {
        Err(error) if error.is_transient() => return Err(error.into()),
        read => read.ok().flatten().unwrap_or_default(),
    };
    let Ok(noted) = serde_json::from_slice::<Value>(&bytes) else { return Ok(Progress::default()) };
    let after = noted["after"].as_str().and_then(|text| DomainId::from_hex(text).ok());
    let owes_rest = noted["owes_rest"].as_bool().unwrap_or(false);
    Ok(Progress { after, owes_rest, chains: Chains::read(&noted["chains"]) })
}

/// Writes a note. If the store does not take it, the next run begins at the beginning.
pub(crate) async fn note(job: &JobContext<'_>, kind: &str, progress: &Progress) -> Result<(), JobError> {
    let Progress { after, owes_rest, chains } = progress;
    let after = after.map(|domain| domain.to_string());
    let bytes = json!({ "after": after, "owes_rest": owes_rest, "chains": chains.noted() }).to_string();
    let name = name(kind, job.now_to_note().await?);
    match job.store.create(&name, Bytes::from(bytes)).await {
        Ok(_) => Ok(()),
        Err(error) if error.refuses_writes() => {
            tracing::warn!(job = kind, %error, "not noted where to go on: the next run begins at the beginning");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Deletes everything below the notes' prefix except the newest note.
pub(crate) async fn delete_old(job: &JobContext<'_>, kind: &str) -> Result<(), JobError> {
    let newest = until(job, kind, job.now().await?).await?.into_iter().next().map(|listed| listed.key);
    let listed = all(job, kind).await?.into_iter().map(|listed| listed.key);
    let old: Vec<Key> = listed.filter(|key| Some(key) != newest.as_ref()).collect();
    objects::delete(job.store, &old).await
}

/// The notes up to `now`, newest first. A note from the future was planted, or a clock was fast. Until its time comes,
/// every run would skip the work that it calls done.
async fn until(job: &JobContext<'_>, kind: &str, now: Time) -> Result<Vec<Listed>, JobError> {
    let first = name(kind, now);
    let is_note = |listed: &Listed| {
        let name = listed.key.as_str();
        let is_number = name.bytes().skip(prefix(kind).len()).all(|byte| byte.is_ascii_digit());
        is_number && name.len() == first.as_str().len() && listed.key >= first
    };
    Ok(all(job, kind).await?.into_iter().filter(is_note).collect())
}

/// Lists everything below the notes' prefix. A link or a pipe there would fail every listing, so it is deleted.
async fn all(job: &JobContext<'_>, kind: &str) -> Result<Vec<Listed>, JobError> {
    match objects::list(job.store, &prefix(kind)).await {
        Err(StoreError::Obstructed { key }) if key.starts_with(&prefix(kind)) => {
            tracing::warn!(job = kind, key, "no object lies here: the job begins at the beginning");
            let planted: Vec<Key> = Key::new(key).into_iter().collect();
            objects::delete(job.store, &planted).await?;
            Ok(Vec::new())
        }
        listed => Ok(listed?),
    }
}

/// The domains after `after`; all domains if `after` is the last.
pub(crate) fn behind(mut domains: Vec<DomainId>, after: Option<DomainId>) -> Vec<DomainId> {
    domains.sort_unstable();
    let first = domains.partition_point(|domain| Some(*domain) <= after);
    if first < domains.len() { domains.split_off(first) } else { domains }
}

/// The name of a note of this time: the newest note lists first.
fn name(kind: &str, time: Time) -> Key {
    objects::key(format!("{}{:020}", prefix(kind), u64::MAX - time.0.max(0) as u64))
}

fn prefix(kind: &str) -> String {
    format!("work/{kind}/")
}

/// The most bytes of a note. Whatever is longer was not written by a job.
const NOTE_BYTES: u64 = 4 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_goes_on_behind_what_was_done_last_and_then_begins_again() {
        let domain = |byte: u8| DomainId([byte; 16]);
        let all = || vec![domain(1), domain(5), domain(9)];
        assert_eq!(behind(all(), None), all());
        assert_eq!(behind(all(), Some(domain(1))), [domain(5), domain(9)]);
        assert_eq!(behind(all(), Some(domain(6))), [domain(9)]);
        assert_eq!(behind(all(), Some(domain(9))), all());
        assert_eq!(behind(Vec::new(), Some(domain(9))), []);
    }
}
