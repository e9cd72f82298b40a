//! Profile: what a run does, in the types of the command line.

use std::fmt;

use super::error::ConfigError;
use super::keys::Table;
use super::section::{Reading, Section};
use crate::args::backup::Backup;
use crate::args::check::Check;
use crate::args::copy::Copy;
use crate::args::forget::{Forget, Prune};
use crate::args::global::Global;
use crate::args::profile::{Hooks, Own, Schedule};

/// A profile: options, and the acts that they are for.
#[derive(Debug)]
pub struct Profile {
    pub name: String,
    /// The keys of the profile itself.
    pub own: Own,
    pub global: Global,
    pub backup: Option<Backup>,
    pub copy: Option<Copy>,
    pub forget: Option<Forget>,
    pub prune: Option<Prune>,
    pub check: Option<Check>,
    pub hooks: Option<Hooks>,
    pub schedule: Option<Schedule>,
}

/// A part of a run, in the order in which they happen.
#[derive(Copy, Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    Backup,
    Copy,
    Forget,
    Prune,
    Check,
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Backup => "backup",
            Self::Copy => "copy",
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
            copy: table(reading, name, section, "copy")?,
            forget: table(reading, name, section, "forget")?,
            prune: table(reading, name, section, "prune")?,
            check: table(reading, name, section, "check")?,
            hooks: table(reading, name, section, "hooks")?,
            schedule: table(reading, name, section, "schedule")?,
        })
    }

    /// Whether a run starts the user's programs, or asks a watcher, which has to see the same mounts.
    pub fn is_sandbox_in_the_way(&self) -> bool {
        let backup = self.backup.as_ref();
        self.global.password_command.is_some()
            || self.hooks.is_some()
            || backup.is_some_and(|backup| backup.names.stdin_from_command || backup.changes.watched)
    }

    pub fn acts(&self) -> Vec<Act> {
        let acts = [
            (Act::Backup, self.backup.is_some()),
            (Act::Copy, self.copy.is_some()),
            (Act::Forget, self.forget.is_some()),
            (Act::Prune, self.prune.is_some()),
            (Act::Check, self.check.is_some()),
        ];
        acts.into_iter().filter_map(|(act, is_there)| is_there.then_some(act)).collect()
    }
}
