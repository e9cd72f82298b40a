//! Policy: what `policy` says. Field names are stable (`docs/cli.md`).

use std::io::{self, Write};

use serde::Serialize;

use super::Answer;
use super::human::things;

/// What `policy set` did.
#[derive(Serialize, Clone, Debug)]
pub struct PolicySummary {
    /// The number of the change that holds the policy; none with `--dry-run`.
    pub change: Option<u64>,
    /// Snapshots that it does not keep today.
    pub would_expire: u64,
    /// Suspicious snapshots of today that hold their series under it.
    pub would_hold: u64,
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
}

impl Answer for PolicyShown {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        match (&self.policy, self.change) {
            (Some(policy), Some(number)) => write!(out, "# set by change {number}\n{policy}"),
            _ => writeln!(out, "# no policy is set: the service lets no snapshot expire"),
        }
    }
}
