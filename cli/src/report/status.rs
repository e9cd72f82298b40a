//! Status: the result of `status`. Field names are stable; `docs/cli.md` explains each.

use std::io::{self, Write};

use copal_format::client::Role;
use copal_format::id::{ClientId, OwnerFingerprint, SnapshotId, SourceId};
use copal_format::receipt::IngestBy;
use serde::Serialize;

use super::Answer;
use super::field::{PathsField, Stamp};
use super::guard::Guarded;
use super::human::{self, Table, things};
use super::sync::{CopyField, ReplicaField};
use super::upkeep::REPEATED;

#[derive(Serialize, Clone, Debug)]
pub struct StatusReport {
    pub ingest: Option<IngestBy>,
    pub owner: Option<OwnerFingerprint>,
    pub root: u64,
    pub waiting: Vec<WaitingField>,
    /// Manifests rejected since their client's last accepted one.
    pub rejected: Vec<RejectedField>,
    pub series: Vec<SeriesField>,
    /// The snapshots that the policy's guard keeps; only for the owner.
    #[serde(flatten)]
    pub guarded: Guarded,
    /// Changes that are not folded in yet; only for the owner.
    pub changes_waiting: Option<u64>,
    pub last_check: Option<JobField>,
    pub last_prune: Option<JobField>,
    pub chunks_repeated: u64,
    /// The replicas that this machine brings up to date; only for the owner.
    pub replicas: Vec<ReplicaField>,
    /// The repositories with other keys that this machine copies to; only for the owner.
    pub copies: Vec<CopyField>,
}

/// A manifest without an answer.
#[derive(Serialize, Clone, Debug)]
pub struct WaitingField {
    pub client: ClientId,
    pub name: Option<String>,
    pub manifest: u64,
    pub since: Stamp,
    pub seconds: u64,
}

#[derive(Serialize, Clone, Debug)]
pub struct RejectedField {
    pub client: ClientId,
    pub name: Option<String>,
    pub manifest: u64,
    pub time: Stamp,
    pub reasons: Vec<String>,
}

#[derive(Serialize, Clone, Debug)]
pub struct SeriesField {
    pub host: Option<String>,
    pub label: Option<String>,
    /// The paths that were backed up; empty if unknown.
    #[serde(flatten)]
    pub paths: PathsField,
    /// The id of the series' source, which is readable without keys.
    pub source: SourceId,
    pub client: ClientId,
    pub client_name: Option<String>,
    pub role: Option<Role>,
    pub snapshot: SnapshotId,
    pub time: Stamp,
    pub accepted: Stamp,
}

#[derive(Serialize, Clone, Debug)]
pub struct JobField {
    pub time: Stamp,
    pub report: String,
}

impl Answer for StatusReport {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.series.is_empty() {
            writeln!(out, "no snapshots")?;
        } else {
            let mut table = Table::new(&["Newest", "ID", "Host", "Client", "Label", "Paths"]);
            for series in &self.series {
                let unnamed = || format!("series {}", series.source.short());
                table.row(vec![
                    human::time(series.time.0),
                    series.snapshot.short(),
                    series.host.as_deref().map_or_else(unnamed, human::text),
                    series.who(),
                    human::text(series.label.as_deref().unwrap_or_default()),
                    series.paths.human(),
                ]);
            }
            table.write(out)?;
        }
        for waiting in &self.waiting {
            let (who, number) = (who(waiting.client, &waiting.name), waiting.manifest);
            let age = human::duration(waiting.seconds as f64);
            writeln!(out, "manifest {number} of {who} waits to be accepted, for {age} now")?;
        }
        for rejected in &self.rejected {
            let (who, number) = (who(rejected.client, &rejected.name), rejected.manifest);
            let why = human::text(&rejected.reasons.join("; "));
            writeln!(out, "manifest {number} of {who} was rejected at {}: {why}", human::time(rejected.time.0))?;
        }
        if self.waiting.is_empty() && self.rejected.is_empty() {
            writeln!(out, "all uploads are accepted")?;
        }
        self.guarded.human(out)?;
        if let Some(waiting) = self.changes_waiting.filter(|waiting| *waiting > 0) {
            let changes = things(waiting, "change waits", "changes wait");
            writeln!(out, "{changes} to be folded in")?;
        }
        for (job, last) in [("check", &self.last_check), ("prune", &self.last_prune)] {
            if let Some(last) = last {
                writeln!(out, "last {job} by the service: {} ({})", human::time(last.time.0), last.report)?;
            }
        }
        for replica in &self.replicas {
            writeln!(out, "{}", replica.line())?;
        }
        for copy in &self.copies {
            writeln!(out, "{}", copy.line())?;
        }
        if self.chunks_repeated > 0 {
            let repeated = things(self.chunks_repeated, "chunk", "chunks");
            writeln!(out, "that prune met {repeated} stored again in unproven packs: {REPEATED}")?;
        }
        Ok(())
    }
}

impl SeriesField {
    fn who(&self) -> String {
        let name = self.client_name.as_deref().map_or_else(|| self.client.short(), human::text);
        self.role.map_or_else(|| name.clone(), |role| format!("{name} ({})", role))
    }
}

fn who(client: ClientId, name: &Option<String>) -> String {
    match name {
        Some(name) => format!("client {} ({})", client.short(), human::text(name)),
        None => format!("client {}", client.short()),
    }
}
