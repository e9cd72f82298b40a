//! Reports: JSON objects that say what a job did, for people and their tools.

use bytes::Bytes;
use copal_format::layout::Prunable;
use copal_format::time::Time;
use copal_store::Created;
use serde_json::{Value, json};

use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;

/// Keeps a plan of what a prune is about to do on a root: the objects that go, and, before a dooming root, its changes.
pub(crate) async fn plan(
    job: &JobContext<'_>,
    root: u64,
    names: &[Prunable],
    change: Option<Value>,
) -> Result<(), JobError> {
    let mut plan = change.unwrap_or_else(|| json!({}));
    plan["root"] = json!(root);
    plan["objects_in_all"] = json!(names.len());
    plan["objects"] = json!(names.iter().take(NAMES).map(Prunable::to_string).collect::<Vec<_>>());
    write(job, "plan", plan).await.map(|_| ())
}

/// Writes a report and returns its name.
pub(crate) async fn write(job: &JobContext<'_>, kind: &str, mut report: Value) -> Result<String, JobError> {
    let mut time = job.now().await?;
    report["time"] = json!(time.0);
    report["job"] = json!(kind);
    loop {
        let name = format!("reports/{kind}/{:020}", time.0.max(0));
        if job.store.create(&objects::key(&name), Bytes::from(report.to_string())).await? == Created::New {
            return Ok(name);
        }
        // The name is taken: another run ended at the same time.
        time = Time(time.0 + 1);
    }
}

/// Objects that a plan names one by one at most.
const NAMES: usize = 100_000;
