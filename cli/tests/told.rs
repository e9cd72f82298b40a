//! What a running backup prints: the fate of each entry, what each pattern leaves out, and its progress.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::process::Stdio;

use crate::kit::{Machine, Run, noise, text};
use serde_json::Value;

/// The lines of standard error about entries below the source: a word and a path each.
fn fates(machine: &Machine, options: &[&str]) -> Vec<(String, String)> {
    let ran = machine.run(&[&["backup", "source"], options].concat()).ok();
    let source = format!("{}/", machine.path("source").display());
    let fate = |line: &str| {
        let (word, path) = line.split_once(' ')?;
        Some((word.to_owned(), path.trim_start().strip_prefix(&source)?.to_owned()))
    };
    ran.err.lines().filter_map(fate).collect()
}

fn told(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(word, path)| ((*word).to_owned(), (*path).to_owned())).collect()
}

#[test]
fn each_entry_and_what_became_of_it_is_named_where_somebody_asks() {
    let machine = Machine::with([("a/changed", "1"), ("kept", "2")]);
    symlink("kept", machine.path("source/link")).unwrap();
    let all = told(&[("new", "a/changed"), ("new", "kept"), ("new", "link")]);
    assert_eq!(fates(&machine, &["--dry-run", "-v"]), all);
    assert_eq!(fates(&machine, &["-v"]), all);
    machine.write("a/changed", "longer");
    fs::hard_link(machine.source("a/changed"), machine.source("second")).unwrap();
    fs::File::open(machine.source("kept"))
        .unwrap()
        .set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .unwrap();
    let fresh = told(&[("changed", "a/changed"), ("metadata", "kept"), ("link", "second")]);
    assert_eq!(fates(&machine, &["-v"]), fresh);
    let all =
        told(&[("unchanged", "a/changed"), ("unchanged", "kept"), ("unchanged", "link"), ("unchanged", "second")]);
    assert_eq!(fates(&machine, &["-vv"]), all);
    assert_eq!(fates(&machine, &["-v"]), [], "nothing has changed");
    assert_eq!(fates(&machine, &[]), []);
    let json = machine.run(&["backup", "source", "-vv", "--json"]).ok();
    let first: Value = serde_json::from_str(json.err.lines().next().unwrap()).unwrap();
    assert_eq!((text(&first["message_type"]), text(&first["action"])), ("verbose_status".into(), "unchanged".into()));
    assert!(text(&first["item"]).ends_with("/source/a/changed") && first["data_size"] == 6);
}

#[test]
fn a_dry_run_counts_what_each_pattern_leaves_out() {
    let machine = Machine::new();
    for (name, length) in
        [("a.o", 10), ("b/c.o", 5), ("cache/x/y", 100), ("marked/data", 7), ("ignored", 3), ("big", 9_000)]
    {
        machine.write(name, vec![0; length]);
    }
    machine.write("marked/NO", "marks");
    machine.write(".ignore", "/ignored\n");
    let options = [
        "--exclude",
        "*.o",
        "--exclude",
        "cache/",
        "--exclude-if-present",
        "NO",
        "--ignore-file",
        ".ignore",
        "--exclude-larger-than",
        "4k",
        "--dry-run",
    ];
    let ran = machine.run(&[&["backup", "source", "-v", "--json"], &options[..]].concat()).ok();
    let excluded = ran.json()["excluded"].clone();
    let rows = excluded.as_array().unwrap().iter();
    let counted: Vec<_> =
        rows.map(|row| (text(&row["by"]), row["entries"].as_u64().unwrap(), row["bytes"].as_u64().unwrap())).collect();
    let expected = [("(larger files)", 1, 9_000), ("*.o", 2, 15), ("/ignored", 1, 3), ("NO", 1, 7), ("cache/", 3, 100)];
    assert_eq!(counted, expected.map(|(by, entries, bytes)| (by.to_owned(), entries, bytes)));
    let said = machine.run(&[&["backup", "source", "-v"], &options[..]].concat()).ok().text();
    assert!(said.contains("*.o leaves out 2 entries, 15 B") && said.contains("nothing was saved"), "{said}");
    let short = machine.run(&[&["backup", "source"], &options[..]].concat()).ok().text();
    assert!(!short.contains("leaves out"), "{short}");
}

#[test]
fn a_program_that_waits_is_told_how_far_the_backup_is() {
    let machine = Machine::new();
    let mut command = machine.with_key(&["backup", "--stdin", "--json"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"slow").unwrap();
    // The stream ends only once a line has come.
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    let status: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((text(&status["message_type"]), text(&status["act"])), ("status".into(), "backup".into()));
    assert!(
        status["total_bytes"].is_null() && status["percent_done"].is_null() && status["error_count"] == 0,
        "{line}"
    );
}

#[test]
fn what_is_read_and_not_yet_stored_is_not_done() {
    let machine = Machine::with([("large", noise(1, 4 << 20))]);
    let told = |arguments: &[&str]| -> Vec<Value> {
        let ran = machine.run(&[arguments, &["--json"]].concat()).ok();
        ran.err.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let saved = told(&["backup", "source", "--limit-upload", "1MiB"]);
    let is_waiting = |status: &Value| status["bytes_done"] == 4 << 20 && status["percent_done"].as_f64() < Some(1.0);
    assert!(saved.iter().any(is_waiting), "{saved:?}");
    let restore: &[&str] = &["restore", "latest", "-t", "out", "--limit-download", "1MiB"];
    for (act, arguments) in [("restore", restore), ("check", &["check", "--full", "--limit-download", "1MiB"])] {
        let statuses = told(arguments);
        let is_one = |status: &Value| {
            let share = status["percent_done"].as_f64();
            status["act"] == act && status["message_type"] == "status" && share.is_some_and(|share| share <= 1.0)
        };
        assert!(statuses.iter().any(is_one), "{act}: {statuses:?}");
    }
}

#[test]
fn what_goes_to_standard_error_has_a_form_of_its_own() {
    let machine = Machine::with([("file", "1")]);
    let ran = machine.run(&["backup", "source", "-v", "--log-format", "json"]).ok();
    let lines: Vec<Value> = ran.err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["action"] == "new"), "{ran}");
    assert!(ran.text().contains("1 file (1 new"), "{ran}");
    let failed = machine.run(&["ls", "abcd", "--log-format", "json"]).exits(1);
    let said: Value = serde_json::from_str(failed.err.lines().last().unwrap()).unwrap();
    assert_eq!(said["exit_code"], 1);
    let failed = machine.run(&["ls", "abcd", "--json", "--log-format", "text"]).exits(1);
    assert!(failed.err.starts_with("copal: "), "{failed}");
    let mistyped = machine.run(&["--log-format", "json", "lss"]).exits(2);
    assert!(mistyped.err.starts_with("{\"error\":"), "{mistyped}");
    let mistyped = machine.run(&["--json", "--log-format=text", "lss"]).exits(2);
    assert!(mistyped.err.starts_with("error: "), "{mistyped}");
}

#[test]
fn success_is_silent_where_silence_is_asked_for() {
    let machine = Machine::with([("file", "1"), ("left-out", "2")]);
    let other = ["-r", "other", "--key-file", "other-key", "init"];
    machine.command(&other).env("COPAL_PASSWORD", "another").ran().ok();
    let silent: &[&[&str]] = &[
        &["backup", "source"],
        &["restore", "latest", "-t", "out"],
        &["tag", "latest", "--add", "x"],
        &["check"],
        &["forget", "--keep-last", "1"],
        &["prune"],
        &["key", "add", "--new-key-file", "second"],
        &["compact"],
        &["cache", "clean"],
        &["copy", "--to", "other", "--to-key-file", "other-key"],
        &["rewrite", "--exclude", "nothing-at-all"],
        &["rewrite", "--exclude", "left-out"],
        &["export", "latest", "plain.tar", "--format", "tar"],
        &["import", "tar", "plain.tar"],
    ];
    for words in silent {
        let ran = machine.run(&[words, &["--quiet"][..]].concat()).ok();
        assert_eq!((ran.text(), ran.err.clone()), (String::new(), String::new()), "{words:?}");
    }
    assert!(machine.ok(&["snapshots", "--quiet"]).contains("2 snapshots"), "what was asked for is no success");
    assert!(machine.json(&["backup", "source", "--quiet"])["snapshot_id"].is_string());
    let dry = machine.ok(&["backup", "source", "--quiet", "--dry-run"]);
    assert!(dry.contains("would be new"), "{dry}");
}
