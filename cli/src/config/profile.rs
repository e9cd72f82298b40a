//! Profile: what a run does, in the types of the command line.

use std::fmt;

use super::error::ConfigError;
use super::keys::Table;
use super::section::{Reading, Section};
use crate::args::backup::Backup;
use crate::args::check::Check;
use crate::args::forget::{Forget, Prune};
use crate::args::global::Global;
use crate::args::profile::{Hooks, Own, Schedule};

/// A profile: options, and the acts that they are for.
#[derive(Debug)]
pub struct Profile {
    /// Its name in the file.
    pub name: String,
    /// What it says of itself.
    pub own: Own,
    /// The options of all commands.
    pub global: Global,
    /// What to save.
    pub backup: Option<Backup>,
    /// What to keep.
    pub forget: Option<Forget>,
    /// How to free space.
    pub prune: Option<Prune>,
    /// How much to verify.
    pub check: Option<Check>,
    /// What is started before and after its acts.
    pub hooks: Option<Hooks>,
    /// When the system runs it.
    pub schedule: Option<Schedule>,
}

/// A part of a run, in the order in which they happen.
#[derive(Copy, Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    /// As `copal backup`.
    Backup,
    /// As `copal forget`.
    Forget,
    /// As `copal prune`.
    Prune,
    /// As `copal check`.
    Check,
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Backup => "backup",
            Self::Forget => "forget",
            Self::Prune => "prune",
            Self::Check => "check",
        })
    }
}

impl Profile {
    pub(super) fn of(reading: &Reading, name: &str, section: &Section) -> Result<Self, ConfigError> {
        fn table<T: clap::FromArgMatches>(
            reading: &Reading,
            name: &str,
            section: &Section,
            key: &str,
        ) -> Result<Option<T>, ConfigError> {
            let found = section.section(reading, key)?;
            found.map(|found| Table::named(key).read(reading, name, found)).transpose()
        }
        Ok(Self {
            name: name.to_owned(),
            own: Table::named("").read(reading, name, section)?,
            global: Table::named("").read(reading, name, section)?,
            backup: table(reading, name, section, "backup")?,
            forget: table(reading, name, section, "forget")?,
            prune: table(reading, name, section, "prune")?,
            check: table(reading, name, section, "check")?,
            hooks: table(reading, name, section, "hooks")?,
            schedule: table(reading, name, section, "schedule")?,
        })
    }

    /// Whether a run starts other programs.
    pub fn runs_commands(&self) -> bool {
        self.global.password_command.is_some()
            || self.hooks.is_some()
            || self.backup.as_ref().is_some_and(|backup| backup.names.stdin_from_command)
    }

    /// The acts of a run, in their order.
    pub fn acts(&self) -> Vec<Act> {
        let acts = [
            (Act::Backup, self.backup.is_some()),
            (Act::Forget, self.forget.is_some()),
            (Act::Prune, self.prune.is_some()),
            (Act::Check, self.check.is_some()),
        ];
        acts.into_iter().filter_map(|(act, is_there)| is_there.then_some(act)).collect()
    }
}
