//! Numbers and traces for OpenTelemetry, against a receiver on this machine.

use std::fs;

use serde_json::Value;

use super::notice::Server;
use super::{HOME, configured, run};
use crate::kit::{Machine, Ran, Run, text};

/// A machine whose profile has these keys; `SERVER` stands for the address of the receiver.
fn sending(server: &Server, keys: &str) -> Machine {
    let keys = format!("use = \"base\"\n{}", keys.replace("SERVER", &server.address));
    let machine = configured(&HOME.replacen("use = \"base\"", &keys, 1));
    machine.write("letter", "12345");
    machine
}

/// The value of an attribute, whatever its type.
fn attribute<'a>(of: &'a Value, key: &str) -> &'a Value {
    let all = of["attributes"].as_array().unwrap();
    let found = all.iter().find(|attribute| attribute["key"] == key).unwrap_or_else(|| panic!("{key} in {of}"));
    found["value"].as_object().unwrap().values().next().unwrap()
}

fn nanoseconds(of: &Value, key: &str) -> i128 {
    text(&of[key]).parse().unwrap()
}

#[test]
fn a_run_is_sent_as_gauges_and_as_a_span_for_each_act() {
    let server = Server::start(&["200 OK|{}"]);
    let machine = sending(&server, "otlp = \"SERVER/base?tenant=1\"\nmetrics-file = \"HEREcopal.prom\"");
    run(&machine, &["run"]).ok();
    let [(first, metrics), (second, traces)] = &server.heard()[..] else { panic!() };
    assert_eq!((first.as_str(), second.as_str()), ("POST /base/v1/metrics?tenant=1", "POST /base/v1/traces?tenant=1"));
    assert!(server.headers.lock().unwrap().contains(&"content-type: application/json".to_owned()));
    let [metrics, traces]: [Value; 2] = [metrics, traces].map(|body| serde_json::from_str(body).unwrap());

    let described = &metrics["resourceMetrics"][0];
    assert_eq!(attribute(&described["resource"], "service.name"), "copal");
    assert_eq!(attribute(&described["resource"], "host.name"), "laptop");
    let gauges = described["scopeMetrics"][0]["metrics"].as_array().unwrap();
    // The same numbers as in the file for Prometheus, under the same names.
    let point = |gauge: &Value, point: &Value| {
        let labels: Vec<String> = point["attributes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|label| format!("{}=\"{}\"", text(&label["key"]), text(&label["value"]["stringValue"])))
            .collect();
        let value = point["asInt"].as_str().map_or_else(|| point["asDouble"].to_string(), str::to_owned);
        assert!(nanoseconds(point, "timeUnixNano") > 0);
        format!("{}{{{}}} {value}", text(&gauge["name"]), labels.join(","))
    };
    let points = |gauge: &Value| -> Vec<String> {
        gauge["gauge"]["dataPoints"].as_array().unwrap().iter().map(|one| point(gauge, one)).collect()
    };
    let sent: Vec<String> = gauges.iter().flat_map(points).collect();
    let file = fs::read_to_string(machine.path("copal.prom")).unwrap();
    assert_eq!(sent, file.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>());
    assert!(sent.contains(&"copal_backup_bytes_scanned{profile=\"home\"} 5".to_owned()), "{sent:?}");
    let unit = |name: &str| text(&gauges.iter().find(|gauge| gauge["name"] == name).unwrap()["unit"]);
    assert_eq!(
        [unit("copal_run_duration_seconds"), unit("copal_backup_bytes_new"), unit("copal_run_exit_code")],
        ["s", "By", ""]
    );

    let spans = traces["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let [root, acts @ ..] = &spans[..] else { panic!() };
    let names: Vec<String> = spans.iter().map(|span| text(&span["name"])).collect();
    assert_eq!(names, ["run", "backup", "forget", "prune", "check"]);
    assert_eq!((root["parentSpanId"].as_str(), &root["kind"], &root["status"]["code"]), (None, &1.into(), &1.into()));
    let is_id = |id: &Value, digits: usize| {
        id.as_str().is_some_and(|id| id.len() == digits && u128::from_str_radix(id, 16).is_ok_and(|id| id != 0))
    };
    for act in acts {
        assert!(is_id(&act["traceId"], 32) && is_id(&act["spanId"], 16), "{act}");
        assert_eq!((&act["traceId"], &act["parentSpanId"]), (&root["traceId"], &root["spanId"]));
        let [start, end] = ["startTimeUnixNano", "endTimeUnixNano"].map(|key| nanoseconds(act, key));
        assert!(nanoseconds(root, "startTimeUnixNano") <= start && start <= end, "{act}");
    }
    assert_eq!(attribute(&acts[0], "copal.backup.bytes_scanned"), "5");
    assert_eq!(
        (attribute(&acts[3], "copal.check.errors"), attribute(&acts[3], "copal.exit_code")),
        (&"0".into(), &"0".into())
    );
}

#[test]
fn a_failed_act_is_a_span_with_an_error() {
    let server = Server::start(&["200 OK"]);
    let machine = sending(&server, "otlp = \"SERVER\"");
    machine.command(&["run", "-r", "elsewhere"]).ran().exits(10);
    let (_, traces) = server.heard().pop().unwrap();
    let traces: Value = serde_json::from_str(&traces).unwrap();
    let spans = &traces["resourceSpans"][0]["scopeSpans"][0]["spans"];
    assert_eq!((&spans[0]["status"]["code"], &spans[1]["status"]["code"]), (&2.into(), &2.into()));
    assert!(text(&spans[1]["status"]["message"]).contains("elsewhere"), "{spans}");
}

#[test]
fn a_receiver_that_refuses_or_is_away_fails_no_run_and_nothing_secret_is_told() {
    let told = |server: &Server, address: &str, header: &str| -> Ran {
        let machine = sending(server, "otlp-file = \"HEREaddress\"\notlp-headers-file = \"HEREheaders\"");
        fs::write(machine.path("address"), format!("{}\n", address.replace("SERVER", &server.address))).unwrap();
        fs::write(machine.path("headers"), header).unwrap();
        let told = run(&machine, &["run"]).ok();
        assert!(!told.to_string().contains("SECRET"), "{told}");
        told
    };
    let header = "# of a hosted receiver\n\nAuthorization: Bearer SECRET-OF-HEADER\nx-scope: a:b\n";
    let refusing = Server::start(&["403 Forbidden"]);
    let ran = told(&refusing, "SERVER/SECRET-OF-ADDRESS", header);
    for signal in ["metrics", "traces"] {
        assert!(ran.err.contains(&format!("OpenTelemetry: {signal} could not be sent: the answer is 403")), "{ran}");
    }
    let headers = refusing.headers.lock().unwrap().join("\n");
    assert!(
        headers.contains("authorization: Bearer SECRET-OF-HEADER\n") && headers.contains("x-scope: a:b"),
        "{headers}"
    );
    assert_eq!(refusing.heard().len(), 2, "what is refused is not sent again");

    let ran = told(&refusing, "http://127.0.0.1:1/SECRET-OF-ADDRESS", header);
    assert_eq!(ran.err.matches("OpenTelemetry: nothing could be sent").count(), 1, "{ran}");
    let ran = told(&refusing, "SERVER", "a: b\nSECRET without a colon\n");
    assert!(ran.err.contains("OpenTelemetry: line 2 of ") && refusing.heard().is_empty(), "{ran}");

    let partial = r#"200 OK|{"partialSuccess":{"rejectedDataPoints":"2","errorMessage":"too old"}}"#;
    let echo = r#"200 OK|{"partialSuccess":{"rejectedSpans":1,"errorMessage":"SECRET-OF-HEADER is at its limit"}}"#;
    let ran = told(&Server::start(Box::leak(Box::new([partial, echo]))), "SERVER", header);
    assert!(ran.err.contains("OpenTelemetry: the receiver left out 2 of the metrics: too old"), "{ran}");
    assert!(ran.err.contains("left out 1 of the traces: its words are left out"), "{ran}");

    let shown = run(&sending(&refusing, "otlp = \"SERVER/SECRET\""), &["config", "show"]).ok();
    assert!(shown.text().contains("otlp = \"(hidden)\""), "{shown}");
}

#[test]
fn a_receiver_of_one_signal_gets_that_one_and_one_of_none_is_told() {
    let prometheus = Server::start(&["200 OK", "404 Not Found"]);
    let ran = run(&sending(&prometheus, "otlp = \"SERVER\""), &["run"]).ok();
    assert_eq!((prometheus.heard().len(), ran.err.contains("OpenTelemetry")), (2, false), "{ran}");
    let mistyped = Server::start(&["404 Not Found"]);
    let ran = run(&sending(&mistyped, "otlp = \"SERVER\""), &["run"]).ok();
    assert!(ran.err.contains("OpenTelemetry: nothing could be sent: the answer is 404"), "{ran}");
}
