//! Section: a table of the file, with the line of each key.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use toml::de::{DeTable, DeValue};

use super::error::ConfigError;
use crate::policy::quoted;

/// The file that is being read.
pub(super) struct Reading {
    pub(super) path: PathBuf,
    /// What `~` stands for.
    pub(super) home: Option<PathBuf>,
    /// Whether an environment variable overrides the key of the same option.
    pub(super) by_variables: bool,
}

impl Reading {
    pub(super) fn wrong(&self, line: usize, why: impl Into<String>) -> ConfigError {
        ConfigError::Wrong { path: self.path.clone(), line, why: why.into() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) line: usize,
    entries: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) line: usize,
    pub(super) value: Value,
}

/// A value. A number is the text that it is written as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Number(String),
    Switch(bool),
    List(Vec<String>),
    Section(Section),
}

impl Entry {
    /// A text, or the texts of a list.
    pub(super) fn texts(&self) -> Vec<&str> {
        match &self.value {
            Value::Text(text) | Value::Number(text) => vec![text],
            Value::List(texts) => texts.iter().map(String::as_str).collect(),
            Value::Switch(_) | Value::Section(_) => Vec::new(),
        }
    }
}

impl Section {
    pub(super) fn empty(line: usize) -> Self {
        Self { line, entries: BTreeMap::new() }
    }

    pub(super) fn of(reading: &Reading, lines: &Lines, table: &DeTable<'_>, line: usize) -> Result<Self, ConfigError> {
        let mut section = Self::empty(line);
        for (key, value) in table {
            let line = lines.line(key.span().start);
            let key = key.get_ref();
            if SECRETS.contains(&key.as_ref()) {
                return Err(reading.wrong(line, format!("{key} must not stand here: {WHY_NO_SECRETS}")));
            }
            let value = value_of(reading, lines, value.get_ref(), line).map_err(|error| {
                error.unwrap_or_else(|| {
                    reading.wrong(line, format!("{key} must be a text, a number, true, false, a list or a table"))
                })
            })?;
            section.entries.insert(key.to_string(), Entry { line, value });
        }
        Ok(section)
    }

    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)
    }

    pub(super) fn remove(&mut self, key: &str) -> Option<Entry> {
        self.entries.remove(key)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(key, entry)| (key.as_str(), entry))
    }

    /// The table below this key; none if it is not there, or switched off by `false`.
    pub(super) fn section(&self, reading: &Reading, key: &str) -> Result<Option<&Section>, ConfigError> {
        match self.entries.get(key).map(|entry| (entry.line, &entry.value)) {
            None | Some((_, Value::Switch(false))) => Ok(None),
            Some((_, Value::Section(section))) => Ok(Some(section)),
            Some((line, _)) => Err(reading.wrong(line, format!("{key} is a table, or false"))),
        }
    }

    /// Takes out a table of tables.
    pub(super) fn take_sections(
        &mut self,
        reading: &Reading,
        key: &str,
    ) -> Result<BTreeMap<String, Section>, ConfigError> {
        let Some(below) = self.section(reading, key)?.cloned() else { return Ok(BTreeMap::new()) };
        self.remove(key);
        let named = below.entries.into_iter().map(|(name, entry)| match entry.value {
            Value::Section(section) => Ok((name, section)),
            _ => Err(reading.wrong(entry.line, format!("{key}.{name} is a table: [{key}.{name}]"))),
        });
        named.collect()
    }

    pub(super) fn must_be_empty(&self, reading: &Reading, what: &str, known: &[&str]) -> Result<(), ConfigError> {
        match self.entries.iter().min_by_key(|(_, entry)| entry.line) {
            Some((key, entry)) => Err(reading.unknown(entry.line, what, key, known)),
            None => Ok(()),
        }
    }

    /// Roughly the bytes that a copy takes.
    pub(super) fn weight(&self) -> usize {
        let weigh = |(key, entry): (&String, &Entry)| {
            let value = match &entry.value {
                Value::Text(text) | Value::Number(text) => text.len(),
                Value::Switch(_) => 0,
                Value::List(texts) => texts.iter().map(|text| text.len() + EACH).sum(),
                Value::Section(section) => section.weight(),
            };
            key.len() + value + EACH
        };
        self.entries.iter().map(weigh).sum()
    }

    /// Takes the keys of another table; they override the same keys here. Tables are joined, lists are not.
    pub(super) fn take_from(&mut self, other: &Section) {
        for (key, entry) in &other.entries {
            match (self.entries.get_mut(key).map(|entry| &mut entry.value), &entry.value) {
                (Some(Value::Section(section)), Value::Section(more)) => section.take_from(more),
                _ => drop(self.entries.insert(key.clone(), entry.clone())),
            }
        }
    }

    pub(super) fn shown(&self, name: &str) -> String {
        let mut text = format!("[{name}]\n");
        for (key, entry) in &self.entries {
            let value = match &entry.value {
                Value::Text(_) if HIDDEN.contains(&key.as_str()) => quoted("(hidden)"),
                Value::Text(text) => quoted(text),
                Value::Number(text) => text.clone(),
                Value::Switch(value) => value.to_string(),
                Value::List(list) => format!("[{}]", list.iter().map(|one| quoted(one)).collect::<Vec<_>>().join(", ")),
                Value::Section(_) => continue,
            };
            writeln!(text, "{key} = {value}").expect("memory takes every byte");
        }
        for (key, entry) in &self.entries {
            if let Value::Section(section) = &entry.value {
                text.push_str(&section.shown(&format!("{name}.{key}")));
            }
        }
        text
    }
}

impl Reading {
    /// The error for an unknown key; lists the known ones.
    pub(super) fn unknown(&self, line: usize, what: &str, key: &str, known: &[&str]) -> ConfigError {
        self.wrong(line, format!("unknown key {key:?} in {what}; it has: {}", known.join(", ")))
    }
}

/// The value; none if it is of a type that no key has.
fn value_of(reading: &Reading, lines: &Lines, value: &DeValue<'_>, line: usize) -> Result<Value, Option<ConfigError>> {
    Ok(match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => Value::Number(number.to_string()),
        DeValue::Float(number) => Value::Number(number.to_string()),
        DeValue::Boolean(value) => Value::Switch(*value),
        DeValue::Datetime(time) => Value::Text(time.to_string()),
        DeValue::Array(list) => {
            let one = |value: &DeValue<'_>| match value {
                DeValue::String(text) => Ok(text.to_string()),
                DeValue::Integer(number) => Ok(number.to_string()),
                _ => Err(None),
            };
            Value::List(list.iter().map(|value| one(value.get_ref())).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => Value::Section(Section::of(reading, lines, table, line).map_err(Some)?),
    })
}

/// Where the lines of a text end.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The line of a place, counted from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        1 + self.0.partition_point(|end| *end < at)
    }
}

/// Roughly the bytes of an entry besides its texts.
const EACH: usize = 64;
/// Keys that people may write a secret to.
const SECRETS: &[&str] = &["password", "passphrase", "secret", "token", "recovery-code", "smtp-password"];
const WHY_NO_SECRETS: &str = "whoever reads this file, or a copy of it in a backup, would have the secret. Write it to a \
                              file that only you can read, and name that file (password-file, key-file), or a command that prints it (password-command)";
/// Keys whose values are not shown, because they may hold a token.
const HIDDEN: &[&str] = &["webhook", "metrics-push", "otlp", "body"];
