//! Progress: where a job that ended early continues, noted as an object below `work/<job>/`. It is a hint that decides
//! only the order of work: without a readable note, a job begins at the beginning.

use bytes::Bytes;
use copal_format::id::{ClientId, DomainId};
use copal_store::{Key, StoreError};
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

/// Reads the newest note.
pub(crate) async fn last(job: &JobContext<'_>, kind: &str) -> Result<Progress, JobError> {
    let page = job.store.list(&prefix(kind), None, 1).await?;
    let Some(newest) = page.objects.first() else { return Ok(Progress::default()) };
    let bytes = objects::read(job.store, newest.key.as_str()).await?.unwrap_or_default();
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
    // The newest note lists first.
    let time = job.now_to_note().await?.0.max(0) as u64;
    let name = objects::key(format!("{}{:020}", prefix(kind), u64::MAX - time));
    match job.store.create(&name, Bytes::from(bytes)).await {
        Ok(_) => Ok(()),
        Err(error @ (StoreError::Denied { .. } | StoreError::ReadOnly { .. })) => {
            tracing::warn!(job = kind, %error, "not noted where to go on: the next run begins at the beginning");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Deletes all notes but the newest.
pub(crate) async fn delete_old(job: &JobContext<'_>, kind: &str) -> Result<(), JobError> {
    let listed = objects::list(job.store, &prefix(kind)).await?;
    let old: Vec<Key> = listed.into_iter().skip(1).map(|listed| listed.key).collect();
    objects::delete(job.store, &old).await
}

/// The domains behind `after`; all domains if there are none behind it.
pub(crate) fn behind(mut domains: Vec<DomainId>, after: Option<DomainId>) -> Vec<DomainId> {
    domains.sort_unstable();
    let first = domains.partition_point(|domain| Some(*domain) <= after);
    if first < domains.len() { domains.split_off(first) } else { domains }
}

fn prefix(kind: &str) -> String {
    format!("work/{kind}/")
}

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
