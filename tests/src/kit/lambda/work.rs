//! Work: what a function does for an invocation, in this process and over any store.

use std::time::Duration;

use copal_format::id::OwnerFingerprint;
use copal_format::room::Memory;
use copal_jobs::metrics::Metrics;
use copal_lambda::deadline::Deadline;
use copal_lambda::environment::{BUCKET, Environment, OWNER_FINGERPRINT, PREFIX};
use copal_lambda::failure::Failure;
use copal_lambda::function::Function;
use copal_lambda::services::Services;
use copal_store::Store;
use serde_json::Value;

use crate::kit::SeededEntropy;

/// The configuration of a function for a folder of a bucket.
pub fn environment(owner: OwnerFingerprint, prefix: &str) -> Environment {
    let value = |name: &str| match name {
        BUCKET => Some("bucket".to_owned()),
        PREFIX => Some(prefix.to_owned()),
        OWNER_FINGERPRINT => Some(owner.to_string()),
        _ => None,
    };
    Environment::read(value).expect("a sound environment")
}

pub fn work(
    environment: &Environment,
    store: &dyn Store,
    function: Function,
    payload: Value,
    time: Duration,
) -> Result<(Value, Metrics), Failure> {
    let entropy = SeededEntropy::new(9);
    let services = Services { environment, store, entropy: &entropy, scratch: &Memory };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime starts");
    let mut metrics = Metrics::default();
    let answer = runtime.block_on(function.work(&services, payload, Deadline::after(time), &mut metrics))?;
    Ok((answer, metrics))
}
