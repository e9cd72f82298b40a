//! Metrics: writes a run's numbers (see `jobs::metrics`) as log lines in CloudWatch's embedded metric format.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use copal_jobs::metrics::{Metrics, Unit};
use serde_json::{Map, Value, json};

/// The log line for CloudWatch. `function` and `repository` are its dimensions; the request's id is only logged.
pub fn line(
    metrics: &Metrics,
    namespace: &str,
    function: &str,
    repository: &str,
    request: &str,
    time: SystemTime,
) -> String {
    let definition =
        |(metric, _): &(copal_jobs::metrics::Metric, f64)| json!({ "Name": metric.name, "Unit": unit(metric.unit) });
    let definitions: Vec<Value> = metrics.values().iter().map(definition).collect();
    let millis = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let mut line = Map::new();
    line.insert(
        "_aws".to_owned(),
        json!({
            "Timestamp": millis,
            "CloudWatchMetrics": [{
                "Namespace": namespace,
                "Dimensions": [["Function", "Repository"]],
                "Metrics": definitions,
            }],
        }),
    );
    line.insert("Function".to_owned(), function.into());
    line.insert("Repository".to_owned(), repository.into());
    line.insert("requestId".to_owned(), request.into());
    for (metric, value) in metrics.values() {
        line.insert(metric.name.to_owned(), json!(value));
    }
    Value::Object(line).to_string()
}

/// Writes a whole line to the log at once.
pub fn write(line: &str) {
    // A failed write cannot be reported anywhere.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "Count",
        Unit::Bytes => "Bytes",
        Unit::Seconds => "Seconds",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use copal_jobs::metrics::{ALL, BYTES_READ, DURATION, MANIFESTS_ACCEPTED};
    use std::time::Duration;

    #[test]
    fn a_line_is_what_the_embedded_metric_format_asks_for() {
        let mut metrics = Metrics::default();
        metrics.count(MANIFESTS_ACCEPTED, 2).count(BYTES_READ, 1 << 30).note(DURATION, 0.5);
        let time = UNIX_EPOCH + Duration::from_millis(1_700_000);
        let line = line(&metrics, "Copal", "ingest", "bucket/a/", "r-1", time);
        let read: Value = serde_json::from_str(&line).unwrap();
        let expected = json!({
            "_aws": {
                "Timestamp": 1_700_000,
                "CloudWatchMetrics": [{
                    "Namespace": "Copal",
                    "Dimensions": [["Function", "Repository"]],
                    "Metrics": [
                        { "Name": "ManifestsAccepted", "Unit": "Count" },
                        { "Name": "BytesRead", "Unit": "Bytes" },
                        { "Name": "Duration", "Unit": "Seconds" },
                    ],
                }],
            },
            "Function": "ingest",
            "Repository": "bucket/a/",
            "requestId": "r-1",
            "ManifestsAccepted": 2.0,
            "BytesRead": 1_073_741_824.0,
            "Duration": 0.5,
        });
        assert_eq!(read, expected);
        assert!(!line.contains('\n'));
    }

    #[test]
    fn no_metric_has_the_name_of_another_field_and_all_fit_into_one_line() {
        assert!(ALL.iter().all(|metric| !["_aws", "Function", "Repository", "requestId"].contains(&metric.name)));
        // CloudWatch takes at most 100 metrics of a line.
        assert!(ALL.len() <= 100);
    }
}
