//! Example: a file with every key, explained by the help of its option.

use std::fmt::Write;

use clap::{Arg, ArgAction};

use super::keys::{NOTIFY, TABLES, Table, value_name};
use crate::policy::quoted;

/// The file. Its active keys back up this machine every night; every other key is commented out.
pub fn example() -> String {
    let mut text = HEAD.to_owned();
    for table in TABLES.iter().chain([&NOTIFY]) {
        let name = if table.name == NOTIFY.name { "phone" } else { "machine" };
        let sign = if table.name == COMMENTED_OUT { "#" } else { "" };
        writeln!(text, "\n{sign}{}", table.full_name(name)).expect("memory takes every byte");
        for (key, option) in table.keys() {
            let help = option.get_help().map(ToString::to_string).unwrap_or_default();
            help.lines().for_each(|line| writeln!(text, "# {}", line.trim()).expect("memory takes every byte"));
            let used = USED.iter().find(|(of, used, _)| *of == table.name && *used == key);
            let line = match used {
                Some((_, _, value)) => format!("{key} = {value}\n"),
                None => format!("#{key} = {}\n", sample(table, &key, &option)),
            };
            text.push_str(&line);
        }
    }
    text
}

/// A value of the right type, with the placeholder that `--help` shows.
fn sample(table: &Table, key: &str, option: &Arg) -> String {
    if let Some((_, _, value)) = SAMPLES.iter().find(|(of, sampled, _)| *of == table.name && *sampled == key) {
        return (*value).to_owned();
    }
    let name = value_name(option);
    let usual = option.get_default_values().first().and_then(|value| value.to_str()).filter(|value| !value.is_empty());
    let value = match (usual, name) {
        _ if !option.get_action().takes_values() => return "true".to_owned(),
        (Some(usual), _) => quoted(usual),
        (None, "URL") => quoted("https://example.org/TOKEN"),
        (None, "EVENT") => quoted("failure"),
        (None, "COMMAND") => return "[\"/usr/local/bin/program\", \"argument\"]".to_owned(),
        (None, "N") => return "3".to_owned(),
        (None, "SIZE" | "RATE") => quoted("10M"),
        (None, "SPAN") => quoted("7d"),
        (None, "ID") => quoted("@/etc/copal/FILE"),
        (None, "FILE" | "PATH") => quoted("/etc/copal/FILE"),
        (None, "TIME") => quoted("2026-01-31"),
        (None, name) => quoted(name),
    };
    if matches!(option.get_action(), ArgAction::Append) { format!("[{value}]") } else { value }
}

/// A table that many machines do not need.
const COMMENTED_OUT: &str = "copy";

const HEAD: &str = "\
# The configuration of \"copal run\": /etc/copal/copal.toml, or ~/.config/copal/copal.toml for one user.
# Each key is an option of the command that its table is named after, with the same meaning. A profile may take keys and
# tables from others (use); false in place of a table leaves it out. The command line and variables like
# COPAL_REPOSITORY count before what stands here. \"copal config check\" reads the file and says what a run would do.
";

/// Keys that the example uses: table, key, value.
const USED: &[(&str, &str, &str)] = &[
    ("", "repository", "\"/mnt/backup\""),
    ("", "key-file", "\"/etc/copal/key\""),
    ("backup", "paths", "[\"/etc\", \"/home\"]"),
    ("backup", "exclude-caches", "true"),
    ("forget", "keep-daily", "7"),
    ("forget", "keep-weekly", "5"),
    ("forget", "keep-monthly", "12"),
    ("check", "read-data-share", "\"1/30\""),
    ("notify", "webhook-file", "\"/etc/copal/phone\""),
    ("schedule", "at", "\"daily\""),
];

/// Values of keys whose placeholder is not a valid value.
const SAMPLES: &[(&str, &str, &str)] = &[
    ("", "use", "[\"base\"]"),
    ("", "cache-dir", "\"/var/cache/copal\""),
    ("", "state-dir", "\"/var/lib/copal\""),
    ("", "object-lock", "\"GOVERNANCE:30\""),
    ("", "password-command", "\"pass show copal\""),
    ("", "notify", "[\"phone\"]"),
    ("", "metrics-file", "\"/var/lib/prometheus/node-exporter/copal.prom\""),
    ("backup", "as-path", "\"/home\""),
    ("copy", "to", "\"/mnt/offsite\""),
    ("schedule", "cron", "\"17 3 * * *\""),
    ("backup", "stdin-from-command", "[\"pg_dump\", \"shop\"]"),
];
