//! Prune: expires what the signed policy no longer keeps, then frees what no kept snapshot needs.

use copal_format::repository::IngestBy;
use copal_jobs::expire::expire_until;
use copal_jobs::prune::{self, Options};
use copal_jobs::upkeep;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::services::Run;

/// Runs one prune under the policy in force. Without a policy nothing expires, and the grace period is one day.
pub async fn run(run: &mut Run<'_>) -> Result<Value, Failure> {
    let budget = run.deadline.budget();
    let expired = run.deadline.run(expire_until(&run.job, IngestBy::Service, &budget)).await??;
    run.metrics.expired(&expired);
    for held in &expired.held {
        tracing::warn!(snapshot = %held.snapshot, client = %held.series.client, source = %held.series.source, why = %held.why, "held");
    }
    for (object, why) in &expired.refused {
        tracing::warn!(object, why, "not believed");
    }
    let grace = run.deadline.run(prune::grace(&run.job)).await??;
    let parameters = &run.descriptor.parameters;
    let options = Options {
        grace,
        repack_most: run.environment.repack_most,
        budget,
        ..Options::new([parameters.pack_target.into(), parameters.tree_pack_target.into()])
    };
    let done = run.deadline.run(upkeep::prune(&run.job, &options)).await??;
    run.metrics.pruned(&done);
    let mut answer = json!(done);
    answer["snapshots_expired"] = expired.expired.len().into();
    Ok(answer)
}
