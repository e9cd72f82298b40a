//! Metrics: numbers of a run for Prometheus, as a file for its node exporter or for a push gateway.

use std::fmt::Write;

use copal_client::places::this_host;

use super::post;
use crate::commands::context::Context;
use crate::commands::open_file;
use crate::config::Profile;
use crate::report::run::ProfileReport;

/// Writes and pushes the numbers, as the profile says. A failure is a warning, and fails no run.
pub(super) fn publish(context: &Context<'_>, profile: &Profile, report: &ProfileReport, saved: i64) {
    let text = text(report, saved, jiff::Timestamp::now().as_second());
    if let Some(path) = &profile.own.metrics_file
        && let Err(failure) = open_file::write(path, &text)
    {
        context.report.warn(&format!("metrics could not be written: {}", failure.text()));
    }
    let address = match (&profile.own.metrics_push, &profile.own.metrics_push_file) {
        (Some(address), _) => Some(Ok(address.clone())),
        (None, file) => file.as_deref().map(post::line_of),
    };
    if let Some(address) = address {
        let host = this_host(|name| std::env::var_os(name));
        let below = |address: String| {
            let mut url =
                reqwest::Url::parse(address.trim()).map_err(|error| format!("its address is not valid: {error}"))?;
            let segments = ["metrics", "job", "copal", "instance", &host, "profile", &profile.name];
            url.path_segments_mut().map_err(|()| "its address has no path")?.pop_if_empty().extend(segments);
            Ok::<_, String>(url.to_string())
        };
        let sent = address.and_then(below).and_then(|url| post::send(reqwest::Method::PUT, &url, KIND, text));
        if let Err(why) = sent {
            context.report.warn(&format!("metrics could not be pushed: {why}"));
        }
    }
}

/// The numbers in Prometheus' text format. Names of profiles and acts need no quoting.
fn text(report: &ProfileReport, saved: i64, now: i64) -> String {
    let profile = &report.profile;
    let mut text = String::new();
    let mut gauge = |name: &str, help: &str, rows: Vec<(String, String)>| {
        if rows.is_empty() {
            return;
        }
        writeln!(text, "# HELP copal_{name} {help}\n# TYPE copal_{name} gauge").expect("memory takes every byte");
        for (labels, value) in rows {
            writeln!(text, "copal_{name}{{profile=\"{profile}\"{labels}}} {value}").expect("memory takes every byte");
        }
    };
    let one = |value: String| vec![(String::new(), value)];
    gauge("run_time_seconds", "When the last run ended.", one(now.to_string()));
    gauge("run_exit_code", "Exit code of the last run; 0 and 3 mean success.", one(report.exit.code().to_string()));
    gauge("run_duration_seconds", "Duration of the last run in seconds.", one(report.seconds.to_string()));
    let saved = if saved == 0 { Vec::new() } else { one(saved.to_string()) };
    gauge("backup_saved_time_seconds", "When a backup was last saved.", saved);
    let acts = |value: &dyn Fn(&crate::report::run::ActReport) -> String| {
        report.acts.iter().map(|act| (format!(",act=\"{}\"", act.act), value(act))).collect()
    };
    gauge("act_exit_code", "Exit code of each act of the last run.", acts(&|act| act.exit.code().to_string()));
    gauge("act_duration_seconds", "How long each act took.", acts(&|act| act.seconds.to_string()));
    for (act, field, name, help) in NUMBERS {
        let found = report.acts.iter().find(|done| done.act.to_string() == *act);
        let number = found.and_then(|done| done.result.as_ref()?.get(field)?.as_u64());
        gauge(name, help, number.map(|number| (String::new(), number.to_string())).into_iter().collect());
    }
    text
}

/// Numbers of what acts answer: act, field, name, help.
const NUMBERS: &[(&str, &str, &str, &str)] = &[
    ("backup", "files_new", "backup_files_new", "New files of the last backup."),
    ("backup", "files_changed", "backup_files_changed", "Changed files of the last backup."),
    ("backup", "files_unmodified", "backup_files_unmodified", "Unchanged files of the last backup."),
    ("backup", "errors", "backup_errors", "Entries that could not be saved."),
    ("backup", "bytes_scanned", "backup_bytes_scanned", "Bytes of all files of the last backup."),
    ("backup", "bytes_new", "backup_bytes_new", "Bytes that the repository did not have."),
    ("backup", "bytes_stored", "backup_bytes_stored", "Bytes written to the repository."),
    ("forget", "kept", "forget_snapshots_kept", "Snapshots that the rules keep."),
    ("forget", "forgotten", "forget_snapshots_forgotten", "Snapshots that were forgotten."),
    ("prune", "bytes_freed", "prune_bytes_freed", "Bytes that prune freed."),
    ("check", "packs_read", "check_packs_read", "Packs that check read whole."),
    ("check", "bytes_read", "check_bytes_read", "Bytes that check read."),
];
const KIND: &str = "text/plain; version=0.0.4";
