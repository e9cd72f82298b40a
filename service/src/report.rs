//! Reports: JSON objects that say what a prune or a check did, for people and their tools.

use core::time::Duration;

use bytes::Bytes;
use copal_engine::layout::Prunable;
use copal_engine::time::Time;
use copal_store::{Created, Key};
use serde_json::{Value, json};

use crate::budget::Budget;
use crate::check::{self, Depth};
use crate::error::JobError;
use crate::host::Host;
use crate::objects;
use crate::progress;
use crate::prune::{self, Options};

/// Runs a prune and keeps its plans and report in the repository. Deletes reports older than half a year.
pub async fn prune(host: &Host<'_>, options: &Options) -> Result<prune::Report, JobError> {
    let report = prune::prune(host, &Options { keeps_plan: true, ..options.clone() }).await?;
    if !options.is_dry_run {
        write(host, "prune", of_prune(&report)).await?;
        delete_expired(host).await?;
    }
    Ok(report)
}

/// Runs a check and keeps its report in the repository.
pub async fn check(host: &Host<'_>, depth: Depth, budget: &Budget) -> Result<check::Report, JobError> {
    let report = check::check_until(host, depth, budget).await?;
    write(host, "check", of_check(&report)).await?;
    Ok(report)
}

/// Keeps a plan of what a prune is about to do on a root: the objects that go, and, before a dooming root, its changes.
pub(crate) async fn plan(
    host: &Host<'_>,
    root: u64,
    names: &[Prunable],
    change: Option<&prune::Report>,
) -> Result<(), JobError> {
    let mut plan = change.map_or_else(|| json!({}), of_prune);
    plan["root"] = json!(root);
    plan["objects_in_all"] = json!(names.len());
    plan["objects"] = json!(names.iter().take(NAMES).map(Prunable::to_string).collect::<Vec<_>>());
    write(host, "plan", plan).await.map(|_| ())
}

/// Writes a report and returns its name.
async fn write(host: &Host<'_>, job: &str, mut report: Value) -> Result<String, JobError> {
    let mut time = host.now().await?;
    report["time"] = json!(time.0);
    report["job"] = json!(job);
    loop {
        let name = format!("reports/{job}/{:020}", time.0.max(0));
        if host.store.create(&objects::key(&name), Bytes::from(report.to_string())).await? == Created::New {
            return Ok(name);
        }
        // The name is taken: another run ended at the same time.
        time = Time(time.0 + 1);
    }
}

async fn delete_expired(host: &Host<'_>) -> Result<(), JobError> {
    let now = host.now().await?;
    let listed = objects::list(host.store, "reports/").await?;
    let expired = listed.into_iter().filter(|listed| now.since(Time(listed.stat.created.0)) >= KEPT);
    let expired: Vec<Key> = expired.map(|listed| listed.key).collect();
    objects::delete(host.store, &expired).await?;
    // Done here for check, which may lack the right to delete its own notes.
    progress::delete_old(host, "check").await
}

/// A prune's report as JSON.
pub fn of_prune(report: &prune::Report) -> Value {
    json!(report)
}

/// A check's report as JSON.
pub fn of_check(report: &check::Report) -> Value {
    json!({
        "root": report.root,
        "packs_read": report.packs_read,
        "packs_left": report.packs_left,
        "bytes_read": report.bytes_read,
        "domains_left": report.domains_left,
        "has_unnamed": report.has_unnamed,
        "findings_in_all": report.findings.len(),
        "findings": report.findings.iter().take(FINDINGS).collect::<Vec<_>>(),
    })
}

/// How long reports are kept.
const KEPT: Duration = Duration::from_secs(183 * 24 * 3600);
/// Objects that a plan names one by one at most.
const NAMES: usize = 100_000;
/// Findings that a report names one by one at most.
const FINDINGS: usize = 10_000;
