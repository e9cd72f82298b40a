//! Check: checks the structure and reads one share of the packs, those not read for longest. Several runs may divide the
//! packs among themselves.

use copal_jobs::check::{self, Depth, Kind, Lane, Tables};
use copal_jobs::view::Parts;
use copal_jobs::{policy, upkeep, view};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::services::Run;

/// The lane whose packs a job reads: of so many `lanes`, the first for `check`, which looks at the structure too, and the
/// others for `scrub-1` and so on. None if it is no job of this function.
pub fn lane(payload: &Value) -> Option<Lane> {
    let job = payload["job"].as_str()?;
    let lanes = if payload["lanes"].is_null() { 1 } else { payload["lanes"].as_u64()?.try_into().ok()? };
    let number = if job == "check" { 0 } else { job.strip_prefix("scrub-")?.parse().ok()? };
    Lane::new(number, lanes).filter(|_| job == "check" || (number > 0 && job == format!("scrub-{number}")))
}

/// Runs one check, or reads the packs of a later lane. Findings are noted in the repository, logged and counted; they do
/// not make the run fail.
pub async fn run(run: &mut Run<'_>, lane: Lane) -> Result<Value, Failure> {
    let parts = parts(run).await?;
    // Locks are renewed by reading, so every pack is read from in each round.
    let tables = if run.environment.object_lock.is_some() { Tables::All } else { Tables::Share };
    let budget = run.deadline.budget();
    let done = run.deadline.run(async {
        match lane.is_first() {
            true => upkeep::check(&run.job, (Depth::Lane { lane, parts }, tables), &budget).await,
            false => check::scrub(&run.job, lane, parts, &budget).await,
        }
    });
    let done = done.await??;
    for finding in &done.findings {
        let snapshots: Vec<String> = finding.snapshots.iter().map(ToString::to_string).collect();
        let (kind, snapshots) = (finding.kind.name(), snapshots.join(" "));
        match finding.kind {
            Kind::Replaced | Kind::Accepted => {
                tracing::info!(kind, object = finding.object, why = finding.why, "no damage any more")
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_reads_the_first_lane_and_each_scrub_another() {
        let of = |job: &str, lanes: u32| lane(&json!({ "job": job, "lanes": lanes }));
        assert_eq!((lane(&json!({ "job": "check" })), of("check", 1)), (Some(Lane::ONLY), Some(Lane::ONLY)));
        assert_eq!((of("check", 3), of("scrub-2", 3)), (Lane::new(0, 3), Lane::new(2, 3)));
        for no_job in ["scrub-0", "scrub-3", "scrub-02", "scrub-+1", "scrub-", "scrub", "prune", ""] {
            assert_eq!(of(no_job, 3), None, "{no_job:?}");
        }
        for lanes in [json!(0), json!(-1), json!("3"), json!(5_000_000_000u64)] {
            assert_eq!(lane(&json!({ "job": "check", "lanes": lanes })), None, "{lanes}");
        }
        assert_eq!(lane(&json!({ "job": "scrub-1" })), None);
    }
}
