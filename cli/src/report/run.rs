//! Run: the results of `run` and `config`. Field names are stable; `docs/cli.md` explains each.

use std::collections::BTreeMap;
use std::io::{self, Write};

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::human;
use super::{Answer, Columns};
use crate::args::schedule::Timer;
use crate::config::{Act, Missing};
use crate::exit::Exit;

#[derive(Serialize, Clone, Debug)]
pub struct ProfileReport {
    pub profile: String,
    #[serde(rename = "exit_code", serialize_with = "code")]
    pub exit: Exit,
    /// When it began.
    #[serde(skip)]
    pub started: Timestamp,
    pub seconds: f64,
    pub acts: Vec<ActReport>,
    /// Why it did not begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    pub dry_run: bool,
}

#[derive(Serialize, Clone, Debug)]
pub struct ActReport {
    pub act: Act,
    #[serde(rename = "exit_code", serialize_with = "code")]
    pub exit: Exit,
    /// The exit code of the act itself, without the hook after it.
    #[serde(skip)]
    pub own: Exit,
    /// When the hook before the act began.
    #[serde(skip)]
    pub started: Timestamp,
    pub seconds: f64,
    /// What the command of this name prints with `--json`.
    pub result: Option<Value>,
    /// The failure, as the command tells it with `--json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
}

impl ProfileReport {
    pub fn new(profile: &str, dry_run: bool) -> Self {
        let profile = profile.to_owned();
        let started = Timestamp::now();
        Self { profile, exit: Exit::Done, started, seconds: 0.0, acts: Vec::new(), error: None, dry_run }
    }

    pub fn add(&mut self, act: ActReport) {
        self.exit = self.exit.or_worse(act.exit);
        self.acts.push(act);
    }

    /// Notes why the profile stopped.
    pub fn fail(&mut self, exit: Exit, error: Value) {
        self.exit = self.exit.or_worse(exit);
        self.error = Some(error);
    }

    pub fn told(&self) -> String {
        let time = human::duration(self.seconds);
        let names = |of: &dyn Fn(&ActReport) -> bool| {
            self.acts.iter().filter(|act| of(act)).map(|act| act.act.to_string()).collect::<Vec<_>>().join(", ")
        };
        let is_well = |act: &ActReport| matches!(act.exit, Exit::Done | Exit::Partial);
        let done = names(&is_well);
        let name = &self.profile;
        let failed = self.acts.iter().find(|act| !is_well(act));
        match (failed, &self.error) {
            (Some(act), _) => {
                let before = if done.is_empty() { String::new() } else { format!(" after {done}") };
                let why = act.error.as_ref().and_then(|error| error["error"].as_str());
                let why = why.map(|why| format!(": {}", human::text(why))).unwrap_or_default();
                format!("profile {name}: {} failed{before} (exit code {}){why}", act.act, act.exit.code())
            }
            (None, Some(error)) => {
                let why = human::text(error["error"].as_str().unwrap_or_default());
                format!("profile {name}: failed (exit code {}): {why}", self.exit.code())
            }
            (None, None) if self.exit == Exit::Interrupted => format!("profile {name}: interrupted after {time}"),
            (None, None) if self.exit == Exit::Partial => {
                format!("profile {name}: {done} done in {time}; some entries could not be read")
            }
            (None, None) => format!("profile {name}: {done} done in {time}"),
        }
    }
}

impl Answer for ProfileReport {
    fn only_confirms(&self) -> bool {
        self.exit == Exit::Done && !self.dry_run
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}{}", self.told(), if self.dry_run { " (dry run)" } else { "" })
    }
}

impl ActReport {
    /// The report of an act with these results. Leaves out lists of snapshots, which `copal snapshots` shows.
    pub fn new(act: Act, started: Timestamp, mut answered: Vec<Value>) -> Self {
        let mut result = answered.pop();
        if let Some(Value::Object(fields)) = &mut result {
            fields.remove("snapshots");
        }
        Self { act, exit: Exit::Done, own: Exit::Done, started, seconds: 0.0, result, error: None }
    }
}

fn code<S: Serializer>(exit: &Exit, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u8(exit.code())
}

#[derive(Serialize, Clone, Debug)]
pub struct Checked {
    pub path: String,
    pub profiles: Vec<CheckedProfile>,
    /// Missing files and paths that it names.
    pub missing: Vec<Missing>,
}

/// A profile that no other uses.
#[derive(Serialize, Clone, Debug)]
pub struct CheckedProfile {
    pub name: String,
    pub acts: Vec<Act>,
}

impl Answer for Checked {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} is valid", human::text(&self.path))?;
        if self.profiles.is_empty() {
            writeln!(out, "no profile: \"copal config example\" shows what one may hold")?;
        }
        for profile in &self.profiles {
            let acts: Vec<String> = profile.acts.iter().map(ToString::to_string).collect();
            let acts = if acts.is_empty() { "nothing to run".to_owned() } else { acts.join(", ") };
            writeln!(out, "profile {}: {acts}", profile.name)?;
        }
        for Missing { line, key, path } in &self.missing {
            writeln!(out, "line {line}: {key} names {}, which is not there now", human::text(path))?;
        }
        Ok(())
    }
}

#[derive(Serialize, Clone, Debug)]
pub struct Shown {
    pub path: String,
    pub profiles: BTreeMap<String, String>,
}

impl Answer for Shown {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        self.profiles.values().try_for_each(|profile| out.write_all(profile.as_bytes()))
    }
}

/// A profile that the system runs, or should run.
#[derive(Serialize, Clone, Debug)]
pub struct Scheduled {
    pub profile: String,
    pub by: Timer,
    pub at: String,
    pub installed: bool,
    pub current: bool,
}

impl Columns for Scheduled {
    const COLUMNS: &[&str] = &["PROFILE", "BY", "AT", "STATE"];

    fn cells(&self) -> Vec<String> {
        let state = match (self.installed, self.current) {
            (true, true) => "installed",
            (true, false) => "not as the configuration says: \"copal schedule install\", or \"remove\"",
            (false, _) => "not installed: \"copal schedule install\"",
        };
        let by = if self.by == Timer::Systemd { "systemd" } else { "cron" };
        vec![self.profile.clone(), by.into(), human::text(&self.at), state.into()]
    }
}

#[derive(Serialize, Clone, Debug)]
pub struct Removed {
    pub profiles: Vec<String>,
}

impl Answer for Removed {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.profiles.as_slice() {
            [] => writeln!(out, "no profile had a schedule"),
            profiles => writeln!(out, "no longer run by the system: {}", profiles.join(", ")),
        }
    }
}
