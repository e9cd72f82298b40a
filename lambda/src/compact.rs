//! Compact: merges segments of the index.

use copal_jobs::compact::compact_until;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::services::Run;

/// Merges segments as far as that is worth it.
pub async fn run(run: &mut Run<'_>) -> Result<Value, Failure> {
    let done = run.deadline.run(compact_until(&run.job, &run.deadline.budget())).await??;
    run.metrics.compacted(&done);
    Ok(json!({ "segments_before": done.segments_before, "segments_after": done.segments_after, "root": done.root }))
}
