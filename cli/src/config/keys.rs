//! Keys: which keys a table has, and how clap reads their values.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Args, Command, FromArgMatches};

use super::error::ConfigError;
use super::section::{Entry, Reading, Section, Value};
use crate::args::backup::Backup;
use crate::args::check::Check;
use crate::args::copy::Copy;
use crate::args::forget::{Forget, Prune};
use crate::args::global::Global;
use crate::args::profile::{Hooks, Notify, Own, Schedule};
use crate::args::without_empty;
use crate::system::SHELL;

/// A table that a profile may have, or the profile itself.
pub(super) struct Table {
    /// Its key in the profile; empty for the profile itself.
    pub(super) name: &'static str,
    command: fn(Command) -> Command,
    /// Options that are not keys: they make no sense in a file, or another key or table replaces them.
    pub(super) left_out: &'static [&'static str],
    /// The key of the arguments without a name.
    operands: Option<&'static str>,
}

pub(super) const TABLES: &[Table] = &[
    Table {
        name: "",
        command: |command| Global::augment_args(Own::augment_args(command)),
        // The caller of a run decides how it reports. The configuration does not name itself.
        left_out: &["json", "log-format", "quiet", "verbose", "config", "profile", "another"],
        operands: None,
    },
    Table {
        name: "backup",
        command: Backup::augment_args,
        // `init` and `dry-run` are for a person at a terminal. The time is now. A timer has no standard input.
        left_out: &["init", "dry-run", "time", "stdin"],
        operands: Some("paths"),
    },
    // Snapshots have no names before they are made.
    Table { name: "copy", command: Copy::augment_args, left_out: &["dry-run"], operands: None },
    // A profile's rules name no snapshots. Prune has a table of its own.
    Table { name: "forget", command: Forget::augment_args, left_out: &["dry-run", "prune"], operands: None },
    Table { name: "prune", command: Prune::augment_args, left_out: &["dry-run"], operands: None },
    Table { name: "check", command: Check::augment_args, left_out: &[], operands: None },
    Table { name: "hooks", command: Hooks::augment_args, left_out: &[], operands: None },
    Table { name: "schedule", command: Schedule::augment_args, left_out: &[], operands: None },
];

pub(super) const NOTIFY: Table = Table { name: "notify", command: Notify::augment_args, left_out: &[], operands: None };

/// The keys that are no option of a command, each table with its name in the file.
#[cfg(test)]
pub(super) fn own() -> Vec<(&'static str, Command)> {
    vec![
        ("profiles.NAME", Own::augment_args(Command::new(""))),
        ("notify.NAME", Notify::augment_args(Command::new(""))),
        ("profiles.NAME.hooks", Hooks::augment_args(Command::new(""))),
        ("profiles.NAME.schedule", Schedule::augment_args(Command::new(""))),
    ]
}

/// Refuses keys that no table has.
pub(super) fn known(reading: &Reading, profile: &str, section: &Section) -> Result<(), ConfigError> {
    let names: Vec<&str> = TABLES.iter().map(|table| table.name).filter(|name| !name.is_empty()).collect();
    for table in TABLES {
        let Some(found) = (if table.name.is_empty() { Some(section) } else { section.section(reading, table.name)? })
        else {
            continue;
        };
        let tables: &[&str] = if table.name.is_empty() { &names } else { &[] };
        table.refuse_strange(reading, &table.full_name(profile), found, tables)?;
    }
    Ok(())
}

/// A key that names a file or path that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Missing {
    pub line: usize,
    pub key: String,
    pub path: String,
}

/// Notes missing files that the keys of a profile name, and missing paths to back up.
pub(super) fn missing(reading: &Reading, profile: &Section, found: &mut BTreeSet<Missing>) -> Result<(), ConfigError> {
    for table in TABLES {
        let section = if table.name.is_empty() { Some(profile) } else { profile.section(reading, table.name)? };
        for (key, option) in table.keys() {
            let is_read = option.is_positional() || value_name(&option) == "FILE" && key != WRITTEN;
            let Some(entry) = section.and_then(|section| section.get(&key)).filter(|_| is_read) else { continue };
            for path in values(reading, &key, &option, entry)? {
                let path = Path::new(&path);
                if std::fs::metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
                    found.insert(Missing { line: entry.line, key: key.clone(), path: path.display().to_string() });
                }
            }
        }
    }
    Ok(())
}

impl Table {
    /// Refuses keys that are neither of this table nor tables in it.
    pub(super) fn refuse_strange(
        &self,
        reading: &Reading,
        title: &str,
        found: &Section,
        tables: &[&str],
    ) -> Result<(), ConfigError> {
        let keys = self.keys();
        let is_known = |key: &str| tables.contains(&key) || keys.iter().any(|(known, _)| known == key);
        let strange = found.entries().filter(|(key, _)| !is_known(key));
        let Some((key, entry)) = strange.min_by_key(|(_, entry)| entry.line) else { return Ok(()) };
        let known: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).chain(tables.iter().copied()).collect();
        Err(reading.unknown(entry.line, title, key, &known))
    }

    pub(super) fn named(name: &str) -> &'static Table {
        TABLES.iter().find(|table| table.name == name).expect("a table of the list")
    }

    pub(super) fn full_name(&self, profile: &str) -> String {
        if self.name == "notify" {
            return format!("[notify.{profile}]");
        }
        let dot = if self.name.is_empty() { "" } else { "." };
        format!("[profiles.{profile}{dot}{}]", self.name)
    }

    /// The command whose options are the keys.
    pub(super) fn command(&self) -> Command {
        (self.command)(Command::new("copal").no_binary_name(true).disable_help_flag(true)).mut_args(without_empty)
    }

    pub(super) fn keys(&self) -> Vec<(String, Arg)> {
        let command = self.command();
        let named = command.get_arguments().filter_map(|option| {
            let key = option.get_long().or(self.operands.filter(|_| option.get_id() == "operands"))?;
            (!self.left_out.contains(&key)).then(|| (key.to_owned(), option.clone()))
        });
        named.collect()
    }

    /// Reads the keys of a section. An environment variable overrides the key of the same option.
    pub(super) fn read<T: FromArgMatches>(
        &self,
        reading: &Reading,
        profile: &str,
        section: &Section,
    ) -> Result<T, ConfigError> {
        let keys = self.keys();
        let (mut words, mut operands): (Vec<OsString>, Vec<OsString>) = Default::default();
        for (key, option) in &keys {
            let variable = option.get_env().filter(|_| reading.by_variables).and_then(std::env::var_os);
            let is_set = variable.is_some_and(|value| !value.is_empty());
            let Some(entry) = section.get(key).filter(|_| !is_set) else { continue };
            if option.is_positional() {
                operands.extend(values(reading, key, option, entry)?);
            } else if key == STREAM {
                words.push(format!("--{key}").into());
                operands.extend(command(reading, key, option, entry)?);
            } else if option.get_action().takes_values() {
                let is_command = matches!(option.get_action(), ArgAction::Append) && value_name(option) == "COMMAND";
                let values = if is_command { command } else { values };
                for value in values(reading, key, option, entry)? {
                    let mut word = OsString::from(format!("--{key}="));
                    word.push(value);
                    words.push(word);
                }
            } else {
                match entry.value {
                    Value::Switch(true) => words.push(format!("--{key}").into()),
                    Value::Switch(false) => {}
                    _ => return Err(reading.wrong(entry.line, format!("{key} is true or false"))),
                }
            }
        }
        if !operands.is_empty() {
            words.push("--".into());
            words.extend(operands);
        }
        // A timer does not have the variables of this process.
        let reset = |option: Arg| if reading.by_variables { option } else { option.env(None::<&str>) };
        let command = self.command().mut_args(reset);
        let read = command.try_get_matches_from(words).and_then(|mut found| T::from_arg_matches_mut(&mut found));
        read.map_err(|error| self.told(reading, profile, section, &error))
    }

    /// Clap's error, in terms of the file.
    fn told(&self, reading: &Reading, profile: &str, section: &Section, error: &clap::Error) -> ConfigError {
        let option = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(option)) => option.trim_start_matches("--").split(['=', ' ']).next(),
            _ => None,
        };
        let line = option.and_then(|key| section.get(key)).map_or(section.line, |entry| entry.line);
        if error.kind() == clap::error::ErrorKind::MissingRequiredArgument {
            let table = self.full_name(profile);
            let has = |key: &&str| section.get(key).is_some();
            let missing = match self.name {
                "backup" if has(&"stdin-name") => "has stdin-name, which is for stdin-from-command",
                "backup" if has(&"changed-since") && !["changed-from", "changed-from0"].iter().any(has) => {
                    "has changed-since, which needs changed-from or changed-from0"
                }
                "backup" => "names nothing to save: it needs paths, files-from, files-from0 or stdin-from-command",
                "notify" if has(&"smtp-user") => "has smtp-user, which needs smtp-password-file",
                "notify" => {
                    "has no address: it needs webhook, webhook-file, webhook-variable, or mail-to with mail-from"
                }
                "forget" => "has no rule: it needs keep-last, keep-daily or another key that keeps something",
                _ => "lacks a key that another one needs",
            };
            return reading.wrong(line, format!("{table} {missing}"));
        }
        let text = error.to_string();
        let first = text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        let first = first.trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ");
        reading.wrong(line, first.replace("'--", "'").replace("=<", " <"))
    }
}

/// The values of an option: one, or a list if it may be repeated. `~/` is the home directory, and no path depends on where
/// a run starts.
fn values(reading: &Reading, key: &str, option: &Arg, entry: &Entry) -> Result<Vec<OsString>, ConfigError> {
    let may_repeat = matches!(option.get_action(), ArgAction::Append);
    let wrong = |why: &str| Err(reading.wrong(entry.line, format!("{key} {why}")));
    let texts = match &entry.value {
        Value::Text(_) | Value::Number(_) => entry.texts(),
        Value::List(_) if may_repeat => entry.texts(),
        Value::List(_) => return wrong("takes one value, not a list"),
        _ if may_repeat => return wrong("is a text, or a list of texts"),
        _ => return wrong("is a text or a number"),
    };
    let name = value_name(option);
    let mut values = Vec::new();
    for text in texts {
        let is_path = ["FILE", "DIR", "PATH"].contains(&name) || (name == "REPOSITORY" && !text.contains("://"));
        values.push(match text.strip_prefix("~/").filter(|_| is_path) {
            Some(below) => match &reading.home {
                Some(home) => home.join(below).into_os_string(),
                None => return wrong("begins with \"~/\", and there is no home directory"),
            },
            None if is_path && !text.starts_with('/') => {
                return wrong(&format!(
                    "is {text:?}: a path here begins with \"/\" or \"~/\", because a timer starts anywhere"
                ));
            }
            None => text.into(),
        });
    }
    Ok(values)
}

/// What `--help` calls the value of an option.
pub(super) fn value_name(option: &Arg) -> &str {
    option.get_value_names().and_then(|names| names.first()).map(|name| name.as_str()).unwrap_or_default()
}

/// A command: a list is a program and its arguments, run as it is; a text is for `sh -c`.
fn command(reading: &Reading, key: &str, _: &Arg, entry: &Entry) -> Result<Vec<OsString>, ConfigError> {
    match &entry.value {
        Value::Text(line) if !line.trim().is_empty() => {
            Ok(SHELL.iter().chain([&line.as_str()]).map(OsString::from).collect())
        }
        Value::List(words) if words.first().is_some_and(|program| !program.is_empty()) => {
            Ok(words.iter().map(OsString::from).collect())
        }
        _ => {
            Err(reading.wrong(entry.line, format!("{key} is a command: [\"program\", \"argument\"], or a text for sh")))
        }
    }
}

/// The key of a file that a run writes.
const WRITTEN: &str = "metrics-file";
/// The flag of `backup` whose key has the command as its value.
const STREAM: &str = "stdin-from-command";
