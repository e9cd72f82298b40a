//! Policy: what `policy` says. Field names are stable (`docs/cli.md`).

use std::io::{self, Write};

use copal_engine::retention::Lingering;
use serde::Serialize;

use super::Answer;
use super::field::Stamp;
use super::human::{self, things};

/// What `policy set` did.
#[derive(Serialize, Clone, Debug)]
pub struct PolicySummary {
    /// The number of the change that holds the policy; none with `--dry-run`.
    pub change: Option<u64>,
    /// Snapshots that it does not keep today.
    pub would_expire: u64,
    /// Suspicious snapshots of today that hold their series under it.
    pub would_hold: u64,
    /// The floor and the hold of replaced policies that go on beside those of this one.
    pub lingers: Option<LingeringField>,
    /// Whether nothing was signed because `--dry-run` was given.
    pub dry_run: bool,
}

impl Answer for PolicySummary {
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

/// The policy in force.
#[derive(Serialize, Clone, Debug)]
pub struct PolicyShown {
    /// The number of the change that holds it; none if there is no policy.
    pub change: Option<u64>,
    /// The policy as a file for `policy set`.
    pub policy: Option<String>,
    /// The floor and the hold of replaced policies that go on beside those of this one.
    pub lingers: Option<LingeringField>,
}

/// The floor and the hold of replaced policies, as far as they go on.
#[derive(Serialize, Clone, Debug)]
pub struct LingeringField {
    /// Until when.
    pub until: Stamp,
    /// So many snapshots of each series, those accepted last.
    pub floor_last: u32,
    /// What was accepted less than so many seconds ago.
    pub floor_age_seconds: u64,
    /// Percent of a snapshot that raise a hold.
    pub hold_share: Option<u8>,
    /// From how many bytes on.
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
