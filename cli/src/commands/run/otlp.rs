//! OTLP: sends the numbers and the traces of a run to an OpenTelemetry receiver, as JSON over HTTP.

use copal_client::entropy::random;
use copal_client::places::this_host;
use jiff::Timestamp;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::metrics::{Gauge, number};
use super::post::{self, Unsent};
use crate::args::profile::Own;
use crate::commands::context::Context;
use crate::config::Profile;
use crate::exit::Exit;
use crate::report::human;
use crate::report::run::ProfileReport;

/// Sends them if the profile has an address. A failure is a warning, and fails no run.
pub(super) fn publish(context: &Context<'_>, profile: &Profile, report: &ProfileReport, gauges: &[Gauge]) {
    let host = this_host(|name| std::env::var_os(name));
    for why in send(&profile.own, report, gauges, &host) {
        context.report.warn(&format!("OpenTelemetry: {why}"));
    }
}

/// Returns warnings for the user, without addresses and headers.
fn send(own: &Own, report: &ProfileReport, gauges: &[Gauge], host: &str) -> Vec<String> {
    let Some(address) = post::address(&own.otlp, &own.otlp_file) else { return Vec::new() };
    let headers = match &own.otlp_headers_file {
        Some(file) => post::text_of(file).and_then(|text| {
            headers_of(&text).map_err(|line| format!("line {line} of {} is no header (NAME: VALUE)", file.display()))
        }),
        None => Ok(HeaderMap::new()),
    };
    let documents = [("metrics", metrics(report, gauges, host)), ("traces", traces(report, host))];
    match address.and_then(|address| Ok((address, headers?))) {
        Ok((address, headers)) => send_both(&address, &headers, documents),
        Err(why) => vec![why],
    }
}

fn send_both(address: &str, headers: &HeaderMap, documents: [(&str, Value); 2]) -> Vec<String> {
    let mut told = Vec::new();
    let mut unknown = 0;
    for (signal, document) in documents {
        let sent = post::below(address, &["v1", signal])
            .map_err(Unsent::Failed)
            .and_then(|url| post::send(Method::POST, &url, "application/json", headers, document.to_string()));
        match sent {
            Ok(answer) => told.extend(complaint(signal, &answer, address, headers)),
            // Prometheus takes only metrics, Jaeger only traces.
            Err(Unsent::Refused(StatusCode::NOT_FOUND)) => unknown += 1,
            Err(why @ Unsent::Refused(_)) => told.push(format!("{signal} could not be sent: {why}")),
            // Wait only once for a receiver that does not answer.
            Err(why @ Unsent::Failed(_)) => return vec![format!("nothing could be sent: {why}")],
        }
    }
    if unknown == 2 {
        told.push(format!("nothing could be sent: the answer is {}", StatusCode::NOT_FOUND));
    }
    told
}

/// The receiver's complaint about a document that it accepted, as far as the user may see it.
fn complaint(signal: &str, answer: &str, address: &str, headers: &HeaderMap) -> Option<String> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    let partial = answer.get("partialSuccess")?;
    let rejected = partial.get("rejectedDataPoints").or(partial.get("rejectedSpans")).unwrap_or(&Value::Null);
    // A 64-bit number is a text in OTLP's JSON; some receivers write a number.
    let rejected = rejected.as_u64().or_else(|| rejected.as_str()?.parse().ok()).unwrap_or(0);
    let why: String = partial.get("errorMessage").and_then(Value::as_str).unwrap_or("").chars().take(200).collect();
    let headers = headers.values().filter_map(|value| value.to_str().ok());
    let mut parts = headers.chain([address]).flat_map(|text| text.split([' ', '/', '?', '&', '=']));
    let why = match parts.any(|part| part.len() >= SHORTEST_SECRET && why.contains(part)) {
        true => "its words are left out, because they repeat an address or a header".into(),
        false => human::text(&why),
    };
    match (rejected, why.is_empty()) {
        (0, true) => None,
        (0, false) => Some(format!("the receiver says of {signal}: {why}")),
        _ => Some(format!("the receiver left out {rejected} of the {signal}: {why}")),
    }
}

/// A header in each line; skips empty lines and lines with #. An error is the line's number: the line may hold a token.
fn headers_of(text: &str) -> Result<HeaderMap, usize> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
        Some((name, HeaderValue::from_str(value.trim()).ok()?))
    };
    lines.map(|(at, line)| header(line).ok_or(at + 1)).collect()
}

fn metrics(report: &ProfileReport, gauges: &[Gauge], host: &str) -> Value {
    let now = nanoseconds(Timestamp::now());
    let gauges = gauges.iter().map(|gauge| {
        let points = gauge.rows.iter().map(|(act, value)| {
            let act = act.map(|act| attribute("act", &act.to_string().into()));
            let attributes: Vec<Value> =
                [attribute("profile", &report.profile.as_str().into())].into_iter().chain(act).collect();
            let (kind, value) = match value.as_i64() {
                Some(whole) => ("asInt", whole.to_string().into()),
                None => ("asDouble", value.clone()),
            };
            json!({ "attributes": attributes, "timeUnixNano": now, kind: value })
        });
        let unit = if gauge.name.contains("_seconds") {
            "s"
        } else if gauge.name.contains("_bytes") {
            "By"
        } else {
            ""
        };
        let points: Vec<Value> = points.collect();
        json!({ "name": gauge.name, "description": gauge.help, "unit": unit, "gauge": { "dataPoints": points } })
    });
    let metrics: Vec<Value> = gauges.collect();
    json!({ "resourceMetrics": [{
        "resource": resource(host), "scopeMetrics": [{ "scope": scope(), "metrics": metrics }]
    }] })
}

/// One span for the run, and one below it for each act.
fn traces(report: &ProfileReport, host: &str) -> Value {
    let trace = format!("{:032x}", u128::from_be_bytes(random()));
    let id = || format!("{:016x}", u64::from_be_bytes(random()));
    let root = id();
    let span = |name: &str, id: &str, started: Timestamp, seconds: f64, exit: Exit, error: &Option<Value>| {
        let error = error.as_ref().and_then(|error| error["error"].as_str()).unwrap_or_default();
        let status = match exit {
            Exit::Done | Exit::Partial => json!({ "code": STATUS_OK }),
            _ => json!({ "code": STATUS_ERROR, "message": error }),
        };
        let ended = started.as_nanosecond() + (seconds * 1e9) as i128;
        let attributes = [("copal.profile", report.profile.as_str().into()), ("copal.exit_code", exit.code().into())];
        let attributes: Vec<Value> = attributes.iter().map(|(key, value)| attribute(key, value)).collect();
        json!({
            "traceId": trace, "spanId": id, "name": name, "kind": KIND_INTERNAL, "status": status,
            "startTimeUnixNano": nanoseconds(started), "endTimeUnixNano": ended.to_string(), "attributes": attributes,
        })
    };
    let mut spans = vec![span("run", &root, report.started, report.seconds, report.exit, &report.error)];
    for act in &report.acts {
        let name = act.act.to_string();
        let mut span = span(&name, &id(), act.started, act.seconds, act.exit, &act.error);
        span["parentSpanId"] = root.as_str().into();
        let fields = act.result.as_ref().and_then(Value::as_object).into_iter().flatten();
        let numbers =
            fields.filter_map(|(key, value)| Some(attribute(&format!("copal.{name}.{key}"), &number(value)?)));
        span["attributes"].as_array_mut().expect("a span has attributes").extend(numbers);
        spans.push(span);
    }
    json!({ "resourceSpans": [{
        "resource": resource(host), "scopeSpans": [{ "scope": scope(), "spans": spans }]
    }] })
}

/// The source of the data. Prometheus makes its labels `job` and `instance` from service.name and service.instance.id.
fn resource(host: &str) -> Value {
    let of = |key, value: &str| attribute(key, &value.into());
    let version = of("service.version", env!("CARGO_PKG_VERSION"));
    json!({ "attributes": [of("service.name", "copal"), version, of("service.instance.id", host), of("host.name", host)] })
}

fn scope() -> Value {
    json!({ "name": "copal", "version": env!("CARGO_PKG_VERSION") })
}

fn attribute(key: &str, value: &Value) -> Value {
    let value = match value.as_u64() {
        Some(whole) => json!({ "intValue": whole.to_string() }),
        None => json!({ "stringValue": value }),
    };
    json!({ "key": key, "value": value })
}

/// OTLP's JSON has 64-bit numbers as texts.
fn nanoseconds(time: Timestamp) -> String {
    time.as_nanosecond().to_string()
}

/// Numbers of opentelemetry/proto/trace/v1/trace.proto.
const KIND_INTERNAL: u8 = 1;
const STATUS_OK: u8 = 1;
const STATUS_ERROR: u8 = 2;
/// Shorter parts of an address or a header, like `https:` and `Bearer`, are no secret.
const SHORTEST_SECRET: usize = 8;
