//! Metrics: numbers of a run, for Prometheus' node exporter as a file, for a push gateway, and for OpenTelemetry.

use std::fmt::Write;

use copal_client::places::this_host;
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::post;
use crate::commands::context::Context;
use crate::commands::open_file;
use crate::config::{Act, Profile};
use crate::report::run::{ActReport, ProfileReport};

/// A number of the last run, or one for each act.
pub(super) struct Gauge {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) rows: Vec<(Option<Act>, Value)>,
}

/// Writes and pushes the numbers, as the profile says. A failure is a warning, and fails no run.
pub(super) fn publish(context: &Context<'_>, profile: &Profile, gauges: &[Gauge]) {
    let text = text(&profile.name, gauges);
    if let Some(path) = &profile.own.metrics_file
        && let Err(failure) = open_file::write(path, &text)
    {
        context.report.warn(&format!("metrics could not be written: {}", failure.text()));
    }
    if let Some(address) = post::address(&profile.own.metrics_push, &profile.own.metrics_push_file) {
        let host = this_host(|name| std::env::var_os(name));
        let segments = ["metrics", "job", "copal", "instance", &host, "profile", &profile.name];
        let push =
            |url: String| post::send(Method::PUT, &url, KIND, &HeaderMap::new(), text).map_err(|why| why.to_string());
        if let Err(why) = address.and_then(|address| post::below(&address, &segments)).and_then(push) {
            context.report.warn(&format!("metrics could not be pushed: {why}"));
        }
    }
}

/// The numbers of a run that has just ended. `saved` is when a backup was last saved; 0 if none was.
pub(super) fn gauges(report: &ProfileReport, saved: i64) -> Vec<Gauge> {
    let mut gauges = Vec::new();
    let mut gauge = |name, help, rows: Vec<(Option<Act>, Value)>| {
        if !rows.is_empty() {
            gauges.push(Gauge { name, help, rows });
        }
    };
    let one = |value: Value| vec![(None, value)];
    let acts = |value: &dyn Fn(&ActReport) -> Value| {
        report.acts.iter().map(|act| (Some(act.act), value(act))).collect::<Vec<_>>()
    };
    gauge("copal_run_time_seconds", "When the last run ended.", one(jiff::Timestamp::now().as_second().into()));
    gauge("copal_run_exit_code", "Exit code of the last run; 0 and 3 mean success.", one(report.exit.code().into()));
    gauge("copal_run_duration_seconds", "Duration of the last run in seconds.", one(report.seconds.into()));
    let saved = if saved == 0 { Vec::new() } else { one(saved.into()) };
    gauge("copal_backup_saved_time_seconds", "When a backup was last saved.", saved);
    gauge("copal_act_exit_code", "Exit code of each act of the last run.", acts(&|act| act.exit.code().into()));
    gauge("copal_act_duration_seconds", "How long each act took.", acts(&|act| act.seconds.into()));
    for (act, field, name, help) in NUMBERS {
        let found = report.acts.iter().find(|done| done.act == *act);
        gauge(
            name,
            help,
            found.and_then(|done| number(done.result.as_ref()?.get(field)?)).map(one).unwrap_or_default(),
        );
    }
    gauges
}

/// A number in an act's result; for a list, its length.
pub(super) fn number(value: &Value) -> Option<Value> {
    value.as_u64().or_else(|| Some(value.as_array()?.len() as u64)).map(Value::from)
}

/// The numbers in Prometheus' text format. Names of profiles and acts need no quoting.
fn text(profile: &str, gauges: &[Gauge]) -> String {
    let mut text = String::new();
    for Gauge { name, help, rows } in gauges {
        writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge").expect("memory takes every byte");
        for (act, value) in rows {
            let act = act.map(|act| format!(",act=\"{act}\"")).unwrap_or_default();
            writeln!(text, "{name}{{profile=\"{profile}\"{act}}} {value}").expect("memory takes every byte");
        }
    }
    text
}

/// Numbers in the results of acts: act, field, name, help.
const NUMBERS: &[(Act, &str, &str, &str)] = &[
    (Act::Backup, "files_new", "copal_backup_files_new", "New files of the last backup."),
    (Act::Backup, "files_changed", "copal_backup_files_changed", "Changed files of the last backup."),
    (Act::Backup, "files_unmodified", "copal_backup_files_unmodified", "Unchanged files of the last backup."),
    (Act::Backup, "errors", "copal_backup_errors", "Entries that could not be saved."),
    (Act::Backup, "bytes_scanned", "copal_backup_bytes_scanned", "Bytes of all files of the last backup."),
    (Act::Backup, "bytes_new", "copal_backup_bytes_new", "Bytes that the repository did not have."),
    (Act::Backup, "bytes_stored", "copal_backup_bytes_stored", "Bytes written to the repository."),
    (Act::Forget, "kept", "copal_forget_snapshots_kept", "Snapshots that the rules keep."),
    (Act::Forget, "forgotten", "copal_forget_snapshots_forgotten", "Snapshots that were forgotten."),
    (Act::Prune, "bytes_freed", "copal_prune_bytes_freed", "Bytes that prune freed."),
    (Act::Check, "packs_read", "copal_check_packs_read", "Packs that check read whole."),
    (Act::Check, "bytes_read", "copal_check_bytes_read", "Bytes that check read."),
    (Act::Check, "errors", "copal_check_errors", "Damaged objects that check found."),
];
const KIND: &str = "text/plain; version=0.0.4";
