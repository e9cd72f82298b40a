//! Prune: lets expire what the signed policy no longer keeps, then frees what no kept snapshot needs.

use copal_engine::repository::IngestBy;
use copal_service::expire::expire;
use copal_service::policy;
use copal_service::prune::{GRACE, Options};
use copal_service::{report, view};
use serde_json::Value;

use crate::failure::Failure;
use crate::services::{ROOT, Run};

/// One prune, as the policy in force says. Without a policy nothing expires, and what is not needed stays for a day.
pub async fn run(run: &mut Run<'_>) -> Result<Value, Failure> {
    let expired = run.deadline.run(expire(&run.host, IngestBy::Service)).await??;
    run.metrics.count("SnapshotsExpired", expired.expired.len() as u64);
    run.metrics.count("SnapshotsHeld", expired.held.len() as u64);
    for held in &expired.held {
        tracing::warn!(snapshot = %held.snapshot, source = %held.source, why = %held.why, "held");
    }
    for (object, why) in &expired.refused {
        tracing::warn!(object, why, "not believed");
    }
    let view = run.deadline.run(view::read_parts(run.host.store, &ROOT)).await??;
    let policy = run.deadline.run(policy::current(&run.host, &view)).await??;
    drop(view);
    let parameters = &run.descriptor.parameters;
    let options = Options {
        grace: policy.map_or(GRACE, |(_, policy)| policy.grace()),
        repack_most: run.environment.repack_most,
        budget: run.deadline.budget(),
        ..Options::new([parameters.pack_target.into(), parameters.tree_pack_target.into()])
    };
    let done = run.deadline.run(report::prune(&run.host, &options)).await??;
    run.metrics.count("ObjectsDeleted", done.objects_deleted).bytes("BytesDeleted", done.bytes_deleted);
    run.metrics.bytes("BytesCopied", done.bytes_copied).bytes("BytesPending", done.bytes_pending);
    run.metrics.bytes("BytesDead", done.dead_bytes + done.trapped_bytes).count("EntriesWanted", done.entries_wanted);
    run.metrics.count("Orphans", done.orphans).count("LostChunks", done.lost).count("UnreadPages", done.unread);
    run.metrics.count("Unfinished", done.is_unfinished.into());
    let mut answer = report::of_prune(&done);
    answer["snapshots_expired"] = expired.expired.len().into();
    Ok(answer)
}
