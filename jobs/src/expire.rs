//! Expire: writes an expiry, which lists the snapshots that the signed policy no longer keeps, and has ingest fold it
//! in.

use std::collections::BTreeSet;

use bytes::Bytes;
use copal_engine::retention::{Held, expirable, held};
use copal_format::expiry::Expiry;
use copal_format::id::{ObjectHash, SnapshotId};
use copal_format::layout;
use copal_format::limits::CHANGE_SNAPSHOTS;
use copal_format::repository::IngestBy;
use copal_format::state::{RunKind, SnapshotState};
use copal_format::time::Time;

use crate::baseline;
use crate::budget::Budget;
use crate::context::JobContext;
use crate::error::JobError;
use crate::ingest::{self, Scope};
use crate::objects::{self, Call};
use crate::policy;
use crate::view::{self, Parts, View};

/// What an expire job did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Snapshots that expired.
    pub expired: Vec<SnapshotId>,
    /// Changes and expiries that were waiting and are not believed, with reasons.
    pub refused: Vec<(String, String)>,
    /// Whether the budget was over before everything had expired. What has expired counts; the next run continues.
    pub is_unfinished: bool,
    /// Series in which nothing expires, with reasons.
    pub held: Vec<Held>,
}

/// Expires what the policy in force no longer keeps. Without a policy, or with nothing to expire, writes nothing.
pub async fn expire(job: &JobContext<'_>, by: IngestBy) -> Result<Report, JobError> {
    expire_until(job, by, &Budget::unlimited()).await
}

/// Like [`expire`], one expiry after another until the budget is over. Each expiry counts by itself.
pub fn expire_until<'a>(job: &'a JobContext<'_>, by: IngestBy, budget: &'a Budget) -> Call<'a, Report> {
    Box::pin(go(job, by, budget))
}

async fn go(job: &JobContext<'_>, by: IngestBy, budget: &Budget) -> Result<Report, JobError> {
    let mut report = Report::default();
    // There may be many expiries. If several in a row take no effect, another service is in the way.
    let mut in_vain = 0;
    while in_vain < ATTEMPTS {
        if budget.is_over() {
            report.is_unfinished = true;
            return Ok(report);
        }
        // An expiry is believed only if it names the last change, so waiting changes are folded in first.
        fold(job, by, &mut report).await?;
        let view = view::read_parts(job.store, &SNAPSHOTS).await?;
        view::refuse_rootless(job, &view).await?;
        let expiry = match decide(job, &view, &mut report).await {
            // A prune may have deleted what this root names.
            Err(JobError::StateLost { .. }) if view::is_superseded(job.store, &view).await? => {
                in_vain += 1;
                continue;
            }
            decided => decided?,
        };
        let Some(expiry) = expiry else { return Ok(report) };
        let bytes = Bytes::from(expiry.encode());
        // If another service was faster, its expiry is folded in, and the next round decides again.
        job.store.create(&objects::key(layout::expiry(expiry.number)), bytes).await?;
        fold(job, by, &mut report).await?;
        let view = view::read_parts(job.store, &SNAPSHOTS).await?;
        let is_kept = |id: &SnapshotId| {
            view.state.snapshots.values().any(|known| known.id == *id && known.state == SnapshotState::Kept)
        };
        if expiry.snapshots.iter().any(is_kept) {
            in_vain += 1;
        } else {
            report.expired.extend(expiry.snapshots);
        }
    }
    Err(JobError::Contended { attempts: ATTEMPTS })
}

async fn fold(job: &JobContext<'_>, by: IngestBy, report: &mut Report) -> Result<(), JobError> {
    report.refused.extend(ingest::work(job, by, Scope::Decisions, &|_| false).await?.refused);
    Ok(())
}

/// The next expiry; none if nothing expires.
async fn decide(job: &JobContext<'_>, view: &View, report: &mut Report) -> Result<Option<Expiry>, JobError> {
    let Some((root, hash)) = &view.root else { return Ok(None) };
    let Some((change, _)) = root.change_head else { return Ok(None) };
    let time = job.now().await?;
    let Some((number, policy)) = policy::guarding(job, view, time).await? else { return Ok(None) };
    report.held = held(&policy, &view.state.snapshots, Time(i64::MAX));
    if expirable(&policy, &view.state.snapshots, time).is_empty() {
        return Ok(None);
    }
    // A state may hold snapshots that no client has made and that push others out of a rule. So the state is verified.
    let mut whole = view::read_root(job.store, (root.number, *hash), &Parts::RECORDS).await?;
    let Some(agreed) = baseline::verify(job, None, &whole).await? else { return Ok(None) };
    agreed.mends.apply(job, &mut whole).await?;
    let expirable = expirable(&policy, &whole.state.snapshots, time);
    let snapshots: Vec<SnapshotId> = expirable.into_iter().take(CHANGE_SNAPSHOTS).collect();
    if snapshots.is_empty() {
        return Ok(None);
    }
    let (last, previous) = root.expiry_head.unwrap_or((0, ObjectHash::NONE));
    Ok(Some(Expiry { number: last + 1, previous, policy: number, change, time, snapshots }))
}

/// Snapshots only, no indexes.
const SNAPSHOTS: Parts = Parts { kinds: &[RunKind::Snapshots], domains: Some(BTreeSet::new()) };
/// How many expiries in a row may take no effect.
const ATTEMPTS: u32 = 16;
