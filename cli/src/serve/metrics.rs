//! Metrics: what Prometheus is told.

use axum::http::Method;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use crate::clock;

/// Counters and gauges, and their names.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    runs: Family<Run, Counter>,
    seconds: Family<Job, Gauge<f64, std::sync::atomic::AtomicU64>>,
    succeeded: Family<Job, Gauge>,
    manifests: Family<Manifest, Counter>,
    pub(super) findings: Gauge,
    pub(super) root: Gauge,
    pub(super) bytes_deleted: Counter,
    pub(super) bytes_pending: Gauge,
    pub(super) expired: Counter,
    pub(super) held: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    method: &'static str,
    path: String,
    status: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Run {
    job: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Job {
    job: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Manifest {
    outcome: &'static str,
}

impl Metrics {
    pub(super) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("copal"),
            requests: Family::default(),
            runs: Family::default(),
            seconds: Family::default(),
            succeeded: Family::default(),
            manifests: Family::default(),
            findings: Gauge::default(),
            root: Gauge::default(),
            bytes_deleted: Counter::default(),
            bytes_pending: Gauge::default(),
            expired: Counter::default(),
            held: Gauge::default(),
        };
        let registry = &mut metrics.registry;
        registry.register("requests", "Requests to the gateway", metrics.requests.clone());
        registry.register("job_runs", "Runs of jobs, by how they ended", metrics.runs.clone());
        registry.register("job_seconds", "How long the last run of a job took", metrics.seconds.clone());
        let about = "When a job last ended well, in seconds since 1970";
        registry.register("job_succeeded", about, metrics.succeeded.clone());
        registry.register("manifests", "Manifests that were decided", metrics.manifests.clone());
        let about = "What the last check found wrong and is needed";
        registry.register("check_findings", about, metrics.findings.clone());
        registry.register("root", "Number of the newest root a job has seen", metrics.root.clone());
        let deleted = metrics.bytes_deleted.clone();
        registry.register_with_unit("pruned", "Bytes that prune deleted", Unit::Bytes, deleted);
        let pending = metrics.bytes_pending.clone();
        registry.register_with_unit("pending", "Bytes that wait for their grace period", Unit::Bytes, pending);
        registry.register("expired_snapshots", "Snapshots that expired", metrics.expired.clone());
        let about = "Suspicious snapshots that nobody has released: nothing of their series expires";
        registry.register("held_snapshots", about, metrics.held.clone());
        metrics
    }

    pub(super) fn count_request(&self, method: &Method, path: String, status: u16) {
        let method = label(method);
        self.requests.get_or_create(&Request { method, path, status: status.into() }).inc();
    }

    pub(super) fn count_manifest(&self, is_accepted: bool) {
        let outcome = if is_accepted { "accepted" } else { "rejected" };
        self.manifests.get_or_create(&Manifest { outcome }).inc();
    }

    /// A job has ended.
    pub(super) fn count_run(&self, job: &'static str, is_done: bool, seconds: f64) {
        let outcome = if is_done { "done" } else { "failed" };
        self.runs.get_or_create(&Run { job, outcome }).inc();
        self.seconds.get_or_create(&Job { job }).set(seconds);
        if is_done {
            self.succeeded.get_or_create(&Job { job }).set(clock::now().to_unix().0);
        }
    }

    /// As Prometheus reads it.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a text takes every letter");
        text
    }
}

/// A method as a label. Whoever asks can make up others, and a label is never forgotten.
fn label(method: &Method) -> &'static str {
    const KNOWN: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| method.as_str() == *known).unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_that_somebody_made_up_are_one_label() {
        let metrics = Metrics::new();
        metrics.count_request(&Method::GET, "/v1/time".to_owned(), 200);
        for number in 0..1_000 {
            let method = Method::from_bytes(format!("M{number}").as_bytes()).unwrap();
            metrics.count_request(&method, String::new(), 405);
        }
        let text = metrics.text();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("copal_requests_total{")).collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines.iter().any(|line| line.contains("method=\"other\"") && line.ends_with(" 1000")), "{lines:?}");
    }
}
