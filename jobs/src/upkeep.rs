//! Upkeep: prunes and checks whose reports are kept in the repository.

use core::time::Duration;

use copal_format::time::Time;
use copal_store::Key;
use serde_json::{Value, json};

use crate::budget::Budget;
use crate::check::{self, Depth, Tables};
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;
use crate::progress;
use crate::prune::{self, Options};
use crate::report;

/// Runs a prune and keeps its plans and report in the repository. Deletes reports older than half a year.
pub async fn prune(job: &JobContext<'_>, options: &Options) -> Result<prune::Report, JobError> {
    let report = prune::prune(job, &Options { keeps_plan: true, ..options.clone() }).await?;
    if !options.is_dry_run {
        report::write(job, "prune", json!(report)).await?;
        delete_expired(job).await?;
    }
    Ok(report)
}

/// Runs a check and keeps its report in the repository.
pub async fn check(job: &JobContext<'_>, how: (Depth, Tables), budget: &Budget) -> Result<check::Report, JobError> {
    let report = check::check_until(job, how, budget).await?;
    report::write(job, "check", of_check(&report)).await?;
    Ok(report)
}

async fn delete_expired(job: &JobContext<'_>) -> Result<(), JobError> {
    let now = job.now().await?;
    let listed = objects::list(job.store, "reports/").await?;
    let expired = listed.into_iter().filter(|listed| now.since(Time(listed.stat.created.0)) >= KEPT);
    let expired: Vec<Key> = expired.map(|listed| listed.key).collect();
    objects::delete(job.store, &expired).await?;
    // Done here for check, which may lack the right to delete its own notes.
    progress::delete_old(job, "check").await
}

/// A check's report as JSON.
fn of_check(report: &check::Report) -> Value {
    json!({
        "root": report.root,
        "packs_read": report.packs_read,
        "packs_left": report.packs_left,
        "bytes_read": report.bytes_read,
        "domains_left": report.domains_left,
        "clients_left": report.clients_left,
        "has_unnamed": report.has_unnamed,
        "findings_in_all": report.findings.len(),
        "findings": report.findings.iter().take(FINDINGS).collect::<Vec<_>>(),
    })
}

/// How long reports are kept.
const KEPT: Duration = Duration::from_secs(183 * 24 * 3600);
/// Findings that a report names one by one at most.
const FINDINGS: usize = 10_000;
