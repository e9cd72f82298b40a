//! Check: checks the structure and reads one share of the packs, those not read for longest.

use copal_jobs::check::{Depth, Kind, Tables};
use copal_jobs::view::Parts;
use copal_jobs::{policy, upkeep, view};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::services::Run;

/// Runs one check. Findings are noted in the repository, logged and counted; they do not make the run fail.
pub async fn run(run: &mut Run<'_>) -> Result<Value, Failure> {
    let parts = parts(run).await?;
    // Locks are renewed by reading, so every pack is read from in each round.
    let tables = if run.environment.object_lock.is_some() { Tables::All } else { Tables::Share };
    let how = (Depth::Data { part: 1, parts }, tables);
    let done = run.deadline.run(upkeep::check(&run.job, how, &run.deadline.budget())).await??;
    for finding in &done.findings {
        let snapshots: Vec<String> = finding.snapshots.iter().map(ToString::to_string).collect();
        let (kind, snapshots) = (finding.kind.name(), snapshots.join(" "));
        match finding.kind {
            Kind::Replaced => tracing::info!(kind, object = finding.object, why = finding.why, "no damage any more"),
            _ => tracing::error!(kind, object = finding.object, why = finding.why, snapshots, "damage"),
        }
    }
    run.metrics.checked(&done);
    Ok(json!({
        "ok": done.is_ok(),
        "damage": done.wrong(),
        "packs_read": done.packs_read,
        "packs_left": done.packs_left,
        "domains_left": done.domains_left,
        "clients_left": done.clients_left,
        "bytes_read": done.bytes_read,
        "root": done.root,
    }))
}

/// How many shares the packs have, of which one is read. Without a readable policy, the configured number.
async fn parts(run: &Run<'_>) -> Result<u32, Failure> {
    let policy = async {
        let view = view::read_parts(run.job.store, &Parts::NOTHING).await?;
        policy::current(&run.job, &view).await
    };
    let policy = run.deadline.run(policy).await?;
    Ok(policy.ok().flatten().map_or(run.environment.check_parts, |(_, policy)| policy.check_parts()))
}
