//! Sync: the results of `sync` and of making a replica. Field names are stable; `docs/cli.md` explains each.

use std::io::{self, Write};

use copal_format::id::RepositoryId;
use copal_jobs::replica::Fault;
use serde::Serialize;

use super::Answer;
use super::field::Stamp;
use super::human::{self, things};

#[derive(Serialize, Clone, Debug, Default)]
pub struct SyncSummary {
    pub replica: String,
    pub root: u64,
    pub is_current: bool,
    #[serde(flatten)]
    pub lacked: BehindField,
    pub objects: u64,
    pub bytes: u64,
    pub not_copied: Vec<Fault>,
    pub keys_left: Vec<String>,
    pub seconds: f64,
    pub dry_run: bool,
}

#[derive(Serialize, Clone, Debug, Default)]
pub struct BehindField {
    pub snapshots_missing: u64,
    pub bytes_missing: u64,
    pub oldest_missing: Option<Stamp>,
}

/// A replica of a repository, as `status` shows it.
#[derive(Serialize, Clone, Debug)]
pub struct ReplicaField {
    pub repository: String,
    /// Why it could not be read; null if it was.
    pub unreached: Option<String>,
    /// The root that it shows; null if it could not be read.
    pub root: Option<u64>,
    #[serde(flatten)]
    pub behind: BehindField,
}

/// A repository with other keys, as `status` shows it without opening it.
#[derive(Serialize, Clone, Debug)]
pub struct CopyField {
    pub repository: String,
    /// When this machine last copied there.
    pub copied: Stamp,
    pub snapshots_missing: u64,
    pub oldest_missing: Option<Stamp>,
}

#[derive(Serialize, Clone, Debug)]
pub struct ReplicaSummary {
    pub repository_id: RepositoryId,
    pub repository: String,
    pub source: String,
}

impl BehindField {
    fn human(&self) -> String {
        let snapshots = things(self.snapshots_missing, "snapshot", "snapshots");
        format!("{snapshots} and {}{}", human::size(self.bytes_missing), since(self.oldest_missing))
    }
}

impl CopyField {
    pub fn line(&self) -> String {
        let (at, copied) = (human::text(&self.repository), human::time(self.copied.0));
        let lacks = match self.snapshots_missing {
            0 => "has every snapshot".to_owned(),
            missing => format!("lacks {}{}", things(missing, "snapshot", "snapshots"), since(self.oldest_missing)),
        };
        format!("copy {at} {lacks}; last copied {copied}")
    }
}

fn since(oldest: Option<Stamp>) -> String {
    oldest.map(|oldest| format!(", the oldest of {}", human::time(oldest.0))).unwrap_or_default()
}

impl Answer for SyncSummary {
    fn only_confirms(&self) -> bool {
        !self.dry_run && self.not_copied.is_empty()
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let replica = human::text(&self.replica);
        if self.dry_run {
            return writeln!(out, "{replica} lacks {} (dry run)", self.lacked.human());
        }
        let (objects, bytes) = (things(self.objects, "object", "objects"), human::size(self.bytes));
        let (snapshots, took) = (self.lacked.snapshots_missing, human::duration(self.seconds));
        let snapshots = things(snapshots, "snapshot", "snapshots");
        match (self.is_current, self.objects) {
            (false, _) => writeln!(out, "{objects}, {bytes} copied to {replica} in {took}; its state stays as it was"),
            (true, 0) if self.not_copied.is_empty() => writeln!(out, "{replica} lacks nothing"),
            (true, _) => writeln!(out, "{snapshots}, {objects}, {bytes} copied to {replica} in {took}"),
        }?;
        match self.not_copied.len() as u64 {
            0 => Ok(()),
            faults => writeln!(out, "{} could not be copied", things(faults, "object", "objects")),
        }
    }
}

impl ReplicaField {
    pub fn line(&self) -> String {
        let at = human::text(&self.repository);
        match &self.unreached {
            Some(why) => format!("replica {at}: cannot tell how far it is behind: {}", human::text(why)),
            None if self.behind.snapshots_missing == 0 && self.behind.bytes_missing == 0 => {
                format!("replica {at} has every snapshot")
            }
            None => format!("replica {at} lacks {}", self.behind.human()),
        }
    }
}

impl Answer for ReplicaSummary {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let (id, at, source) = (self.repository_id.short(), human::text(&self.repository), human::text(&self.source));
        writeln!(out, "{at} is a replica of repository {id} now: the same keys open it")?;
        writeln!(out, "\"copal -r {source} sync --to {at}\" fills it, and brings it up to date each time")
    }
}
