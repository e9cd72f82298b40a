//! The Grafana dashboard: what it asks for, a run and a gateway tell.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{HOME, configured, run};
use crate::kit::{text, until};
use crate::serve::server::{At, Server, get};

/// The names of samples in a text for Prometheus.
fn names(metrics: &str) -> BTreeSet<String> {
    let types = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    types.map(|(name, kind)| format!("{name}{}", if kind == "counter" { "_total" } else { "" })).collect()
}

/// The words of an expression that are metrics of Copal's.
fn metrics_of(expression: &str) -> impl Iterator<Item = &str> {
    let words = expression.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_');
    words.filter(|word| word.starts_with("copal_"))
}

#[test]
fn the_dashboard_asks_only_for_metrics_that_copal_writes() {
    let dashboard = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/grafana/copal.json");
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(dashboard).unwrap()).unwrap();
    let machine = configured(&HOME.replacen("use = \"base\"", "use = \"base\"\nmetrics-file = \"HEREcopal.prom\"", 1));
    run(&machine, &["run"]).ok();
    let of_run = names(&fs::read_to_string(machine.path("copal.prom")).unwrap());

    assert!(!text(&dashboard["title"]).is_empty() && !text(&dashboard["uid"]).is_empty());
    assert!(dashboard["schemaVersion"].as_u64().unwrap() >= 39);
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let named: Vec<&str> = variables.iter().map(|variable| variable["name"].as_str().unwrap()).collect();
    assert_eq!(named, ["datasource", "host", "profile"]);
    let queries = variables.iter().filter_map(|variable| variable["query"]["query"].as_str());

    let panels = dashboard["panels"].as_array().unwrap();
    let (rows, drawn): (Vec<&Value>, Vec<&Value>) = panels.iter().partition(|panel| panel["type"] == "row");
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!((rows.len(), ids.len()), (2, panels.len()), "no two panels have one id");
    let mut cells = BTreeSet::new();
    for panel in panels {
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|key| panel["gridPos"][key].as_u64().unwrap());
        assert!(x + w <= 24, "{panel}");
        let taken = (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y)));
        taken.for_each(|cell| assert!(cells.insert(cell), "two panels lie in one place: {panel}"));
    }
    let targets = drawn.iter().flat_map(|panel| {
        assert!(matches!(panel["type"].as_str(), Some("stat" | "timeseries")), "{panel}");
        assert!(!panel["title"].as_str().unwrap().is_empty() && panel["datasource"]["uid"] == "${datasource}");
        panel["targets"].as_array().unwrap()
    });
    let asked: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).chain(queries).collect();
    assert!(asked.iter().all(|expression| metrics_of(expression).next().is_some()), "{asked:?}");
    assert!(asked.len() > drawn.len() && drawn.len() > 12);

    // A gateway tells a metric once a job has counted it.
    let every = ["compact", "check", "prune", "expire"].map(|job| [format!("--{job}-every"), "1s".to_owned()]).concat();
    let every: Vec<&str> = every.iter().map(String::as_str).collect();
    let server = Server::start(&machine, &[&["--metrics-listen", "127.0.0.1:0"], &every[..]].concat());
    machine.at(&server.url, &["snapshots"]).ok();
    let jobs = ["ingest", "expire", "compact", "prune", "check"];
    let of_gateway = until("each job succeeds", || {
        let told = get(server.metrics.as_ref().unwrap());
        let has_run = |job: &&str| told.contains(&format!("copal_succeeded{{job=\"{job}\"}}"));
        jobs.iter().all(has_run).then(|| names(&told))
    });
    for metric in asked.iter().flat_map(|expression| metrics_of(expression)) {
        assert!(
            of_run.contains(metric) || of_gateway.contains(metric),
            "{metric} is none of {of_run:?}, {of_gateway:?}"
        );
    }
}
