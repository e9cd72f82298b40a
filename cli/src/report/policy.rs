//! Policy: the results of `policy`. Field names are stable; `docs/cli.md` explains each.

use std::io::{self, Write};

use copal_format::policy::Lingering;
use serde::Serialize;

use super::Answer;
use super::field::Stamp;
use super::human::{self, things};

#[derive(Serialize, Clone, Debug)]
pub struct PolicySummary {
    pub change: Option<u64>,
    pub would_expire: u64,
    pub would_hold: u64,
    /// The guard (floor and hold) of replaced policies that still applies too.
    pub lingers: Option<LingeringField>,
    pub dry_run: bool,
}

impl Answer for PolicySummary {
    fn only_confirms(&self) -> bool {
        !self.dry_run
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let expire = match self.would_expire {
            0 => "it keeps every snapshot there is today".to_owned(),
            some => format!("{} of today expire under it", things(some, "snapshot", "snapshots")),
        };
        match self.change {
            Some(number) => writeln!(out, "policy signed (change {number}); {expire}")?,
            None => writeln!(out, "{expire}; nothing was signed (dry run)")?,
        }
        self.lingers.iter().try_for_each(|lingers| lingers.human("", out))?;
        match self.would_hold {
            0 => Ok(()),
            some => writeln!(
                out,
                "{} of today: nothing of their series expires until \"policy release\"",
                things(some, "suspicious snapshot", "suspicious snapshots")
            ),
        }
    }
}

#[derive(Serialize, Clone, Debug)]
pub struct PolicyShown {
    /// The number of the change that holds it; none if there is no policy.
    pub change: Option<u64>,
    /// The policy as a file for `policy set`.
    pub policy: Option<String>,
    /// The guard (floor and hold) of replaced policies that still applies too.
    pub lingers: Option<LingeringField>,
}

/// The guard of replaced policies, as far as it still applies.
#[derive(Serialize, Clone, Debug)]
pub struct LingeringField {
    pub until: Stamp,
    /// The last accepted snapshots of each series that it keeps.
    pub floor_last: u32,
    /// It keeps snapshots accepted less than this long ago.
    pub floor_age_seconds: u64,
    /// The change in percent that raises a hold.
    pub hold_share: Option<u8>,
    /// The size in bytes from which a hold is raised.
    pub hold_from: Option<u64>,
}

impl From<Lingering> for LingeringField {
    fn from(lingering: Lingering) -> Self {
        Self {
            until: Stamp(lingering.until),
            floor_last: lingering.floor.last,
            floor_age_seconds: lingering.floor.age.as_secs(),
            hold_share: lingering.hold.map(|hold| hold.share),
            hold_from: lingering.hold.map(|hold| hold.least),
        }
    }
}

impl LingeringField {
    fn human(&self, before: &str, out: &mut dyn Write) -> io::Result<()> {
        let floor = format!("floor-last {}, floor-age {} s", self.floor_last, self.floor_age_seconds);
        let hold = self.hold_share.map(|share| format!(", a hold from {share} %")).unwrap_or_default();
        let until = human::time(self.until.0);
        writeln!(out, "{before}what the policy before has guarded stays until {until}, too: {floor}{hold}")
    }
}

impl Answer for PolicyShown {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        match (&self.policy, self.change) {
            (Some(policy), Some(number)) => {
                write!(out, "# set by change {number}\n{policy}")?;
                self.lingers.iter().try_for_each(|lingers| lingers.human("# ", out))
            }
            _ => writeln!(out, "# no policy is set: the service lets no snapshot expire"),
        }
    }
}
