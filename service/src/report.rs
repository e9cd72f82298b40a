//! Reports: what a prune and a check did, as JSON objects that people and their tools read.

use core::time::Duration;

use bytes::Bytes;
use copal_engine::time::Time;
use copal_store::Created;
use serde_json::{Value, json};

use crate::budget::Budget;
use crate::check::{self, Depth};
use crate::error::JobError;
use crate::host::Host;
use crate::objects;
use crate::prune::{self, Options};

/// A prune whose report is kept in the repository. Reports that are older than half a year go.
pub async fn prune(host: &Host<'_>, options: &Options) -> Result<prune::Report, JobError> {
    let report = prune::prune(host, options).await?;
    if !options.is_dry_run {
        write(host, "prune", of_prune(&report)).await?;
        delete_expired(host).await?;
    }
    Ok(report)
}

/// A check whose report is kept in the repository.
pub async fn check(host: &Host<'_>, depth: Depth, budget: &Budget) -> Result<check::Report, JobError> {
    let report = check::check_until(host, depth, budget).await?;
    write(host, "check", of_check(&report)).await?;
    Ok(report)
}

/// Writes a report; gives its name.
async fn write(host: &Host<'_>, job: &str, mut report: Value) -> Result<String, JobError> {
    let mut time = host.now().await?;
    report["time"] = json!(time.0);
    report["job"] = json!(job);
    loop {
        let name = format!("reports/{job}/{:020}", time.0.max(0));
        if host.store.create(&objects::key(&name), Bytes::from(report.to_string())).await? == Created::New {
            return Ok(name);
        }
        // Another run ended at the same time.
        time = Time(time.0 + 1);
    }
}

async fn delete_expired(host: &Host<'_>) -> Result<(), JobError> {
    let now = host.now().await?;
    for listed in objects::list(host.store, "reports/").await? {
        if now.since(Time(listed.stat.created.0)) >= KEPT {
            host.store.delete(&listed.key).await?;
        }
    }
    Ok(())
}

/// A prune's report as it is kept.
pub fn of_prune(report: &prune::Report) -> Value {
    json!({
        "entries_flagged": report.entries_flagged,
        "entries_removed": report.entries_removed,
        "entries_wanted": report.entries_wanted,
        "packs_dead": report.packs_dead,
        "packs_rewritten": report.packs_rewritten,
        "bytes_copied": report.bytes_copied,
        "orphans": report.orphans,
        "objects_deleted": report.objects_deleted,
        "bytes_deleted": report.bytes_deleted,
        "bytes_planned": report.bytes_planned,
        "bytes_pending": report.bytes_pending,
        "pending_from": report.pending_from.map(|time| time.0),
        "bytes_postponed": report.bytes_postponed,
        "dead_bytes": report.dead_bytes,
        "trapped_bytes": report.trapped_bytes,
        "lost": report.lost,
        "unread": report.unread,
        "protected": report.protected,
        "held": report.held,
        "is_full": report.is_full,
        "is_unfinished": report.is_unfinished,
    })
}

/// A check's report as it is kept.
pub fn of_check(report: &check::Report) -> Value {
    let finding = |of: &check::Finding| {
        let snapshots: Vec<String> = of.snapshots.iter().map(ToString::to_string).collect();
        json!({ "kind": of.kind.name(), "object": of.object, "why": of.why, "snapshots": snapshots })
    };
    json!({
        "root": report.root,
        "packs_read": report.packs_read,
        "packs_left": report.packs_left,
        "bytes_read": report.bytes_read,
        "findings_in_all": report.findings.len(),
        "findings": report.findings.iter().take(FINDINGS).map(finding).collect::<Vec<_>>(),
    })
}

/// Reports are kept for so long.
const KEPT: Duration = Duration::from_secs(183 * 24 * 3600);
/// Findings that a report names one by one.
const FINDINGS: usize = 10_000;
