//! Metrics: what Prometheus reads: the numbers of `jobs::metrics` per job, and those of a long-lived process.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;

use axum::http::Method;
use copal_jobs::metrics::{self, ALL, Metric, Sum, Unit};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Counters and gauges by name.
pub(super) struct Metrics {
    /// Returns the seconds since 1970.
    clock: fn() -> u64,
    registry: Registry,
    totals: HashMap<&'static str, Family<Job, Counter<f64, AtomicU64>>>,
    levels: HashMap<&'static str, Family<Job, Gauge<f64, AtomicU64>>>,
    responses: Family<Request, Counter>,
    succeeded: Family<Job, Gauge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    method: &'static str,
    path: String,
    status: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Job {
    job: &'static str,
}

impl Metrics {
    pub(super) fn new(clock: fn() -> u64) -> Self {
        let mut metrics = Self {
            clock,
            registry: Registry::with_prefix("copal"),
            totals: HashMap::new(),
            levels: HashMap::new(),
            responses: Family::default(),
            succeeded: Family::default(),
        };
        let registry = &mut metrics.registry;
        for metric in ALL {
            match metric.sum {
                Sum::Total => {
                    let family = metrics.totals.entry(metric.name).or_default();
                    registry.register(series(metric), metric.about, family.clone());
                }
                Sum::Level => {
                    let family = metrics.levels.entry(metric.name).or_default();
                    registry.register(series(metric), metric.about, family.clone());
                }
            }
        }
        registry.register("responses", "Answers of the gateway", metrics.responses.clone());
        let about = "When a job last ended well, in seconds since 1970";
        registry.register("succeeded", about, metrics.succeeded.clone());
        metrics
    }

    /// Counts a request that was answered.
    pub(super) fn answered(&self, method: &Method, path: String, status: u16) {
        let method = label(method);
        self.responses.get_or_create(&Request { method, path, status: status.into() }).inc();
    }

    /// Adds the numbers of a finished run; requests count as the job `gateway`.
    pub(super) fn take(&self, job: &'static str, run: &metrics::Metrics) {
        for (metric, value) in run.values() {
            match metric.sum {
                Sum::Total => {
                    self.totals[metric.name].get_or_create(&Job { job }).inc_by(*value);
                }
                Sum::Level => {
                    self.levels[metric.name].get_or_create(&Job { job }).set(*value);
                }
            }
        }
        if run.value(metrics::FAILURES.name) == Some(0.0) {
            self.succeeded.get_or_create(&Job { job }).set((self.clock)() as i64);
        }
    }

    /// The text that Prometheus reads.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a text takes every letter");
        text
    }
}

/// The metric's name for Prometheus, without the common prefix and the suffix of totals: `BytesDeleted` becomes
/// `bytes_deleted`.
fn series(metric: &Metric) -> String {
    let mut name = String::new();
    for letter in metric.name.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    if metric.unit == Unit::Seconds {
        name.push_str("_seconds");
    }
    name
}

/// A method as a label. Unknown ones become `other`: clients could invent any number, and labels are never dropped.
fn label(method: &Method) -> &'static str {
    const KNOWN: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| method.as_str() == *known).unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_cloudwatch_in_the_manner_of_prometheus() {
        assert_eq!(series(&metrics::BYTES_DELETED), "bytes_deleted");
        assert_eq!(series(&metrics::DURATION), "duration_seconds");
    }

    #[test]
    fn totals_add_up_over_runs_and_of_levels_the_last_stands() {
        let told = Metrics::new(|| 1);
        for (deleted, pending) in [(3, 7), (4, 5)] {
            let mut run = metrics::Metrics::default();
            run.count(metrics::BYTES_DELETED, deleted).count(metrics::BYTES_PENDING, pending);
            told.take("prune", &run);
        }
        let text = told.text();
        assert!(text.contains("copal_bytes_deleted_total{job=\"prune\"} 7.0\n"), "{text}");
        assert!(text.contains("copal_bytes_pending{job=\"prune\"} 5.0\n"), "{text}");
    }

    #[test]
    fn methods_that_somebody_made_up_are_one_label() {
        let metrics = Metrics::new(|| 1);
        metrics.answered(&Method::GET, "/v1/time".to_owned(), 200);
        for number in 0..1_000 {
            let method = Method::from_bytes(format!("M{number}").as_bytes()).unwrap();
            metrics.answered(&method, String::new(), 405);
        }
        let text = metrics.text();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("copal_responses_total{")).collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines.iter().any(|line| line.contains("method=\"other\"") && line.ends_with(" 1000")), "{lines:?}");
    }
}
