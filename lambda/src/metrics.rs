//! Metrics: what a run tells CloudWatch, as lines of the embedded metric format, which CloudWatch reads from the log.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

/// What a metric counts.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Count => "Count",
            Unit::Bytes => "Bytes",
            Unit::Seconds => "Seconds",
        }
    }
}

/// The metrics of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    values: Vec<(&'static str, Unit, f64)>,
}

impl Metrics {
    /// Adds a number of things.
    pub fn count(&mut self, name: &'static str, value: u64) -> &mut Self {
        self.add(name, Unit::Count, value as f64)
    }

    /// Adds a number of bytes.
    pub fn bytes(&mut self, name: &'static str, value: u64) -> &mut Self {
        self.add(name, Unit::Bytes, value as f64)
    }

    /// Adds a time.
    pub fn seconds(&mut self, name: &'static str, value: f64) -> &mut Self {
        self.add(name, Unit::Seconds, value)
    }

    /// What was noted under a name.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|(of, ..)| *of == name).map(|(.., value)| *value)
    }

    fn add(&mut self, name: &'static str, unit: Unit, value: f64) -> &mut Self {
        self.values.push((name, unit, value));
        self
    }

    /// The line that CloudWatch reads. `function` and `repository` are its dimensions; the request's id is only logged.
    pub fn line(&self, namespace: &str, function: &str, repository: &str, request: &str, time: SystemTime) -> String {
        let definitions: Vec<Value> =
            self.values.iter().map(|(name, unit, _)| json!({ "Name": name, "Unit": unit.name() })).collect();
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
        for (name, _, value) in &self.values {
            line.insert((*name).to_owned(), json!(value));
        }
        Value::Object(line).to_string()
    }
}

/// Writes a line to the log at once, whole.
pub fn write(line: &str) {
    // Without a log nobody could be told that there is none.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_line_is_what_the_embedded_metric_format_asks_for() {
        let mut metrics = Metrics::default();
        metrics.count("ManifestsAccepted", 2).bytes("BytesRead", 1 << 30).seconds("Duration", 0.5);
        let line = metrics.line("Copal", "ingest", "bucket/a/", "r-1", UNIX_EPOCH + Duration::from_millis(1_700_000));
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
}
