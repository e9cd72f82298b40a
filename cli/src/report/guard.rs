//! Guard: held series, and forgotten snapshots that stay. Field names are stable; `docs/cli.md` explains each.

use std::io::{self, Write};

use copal_format::id::{ClientId, SnapshotId, SourceId};
use serde::Serialize;

use super::field::{PathsField, Stamp};
use super::human::{self, things};

/// The snapshots that the policy's guard (floor and hold) keeps.
#[derive(Serialize, Clone, Debug, Default)]
pub struct Guarded {
    pub held: Vec<HeldField>,
    pub stays: Vec<StaysField>,
}

#[derive(Serialize, Clone, Debug)]
pub struct HeldField {
    pub client: ClientId,
    pub source: SourceId,
    pub host: Option<String>,
    #[serde(flatten)]
    pub paths: PathsField,
    pub snapshot: SnapshotId,
    /// When it was accepted; its series is held since then.
    pub accepted: Stamp,
    pub why: String,
}

#[derive(Serialize, Clone, Debug)]
pub struct StaysField {
    pub snapshot: SnapshotId,
    pub client: ClientId,
    pub source: SourceId,
    /// When it was forgotten; `None` in a dry run.
    pub forgotten: Option<Stamp>,
    pub by: StaysBy,
    /// Until when it stays, if time decides that.
    pub until: Option<Stamp>,
}

impl StaysField {
    pub fn is_of(&self, held: &HeldField) -> bool {
        (self.client, self.source) == (held.client, held.source)
    }
}

#[derive(Serialize, Copy, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum StaysBy {
    Hold,
    /// It is among the last snapshots of its series that the floor keeps.
    FloorLast,
    /// It is younger than the floor's age.
    FloorAge,
}

impl Guarded {
    /// Prints what stays, why, since when, and what ends it.
    pub fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for held in &self.held {
            let (series, client, snapshot) = (held.source.short(), held.client.short(), held.snapshot.short());
            let (since, why) = (human::time(held.accepted.0), &held.why);
            let host = held.host.as_deref().map(human::text).unwrap_or_default();
            let paths = held.paths.human().replace('\n', " ");
            let named = [host, paths].join(" ");
            let named = if named.trim().is_empty() { String::new() } else { format!(" ({})", named.trim()) };
            writeln!(out, "nothing of series {series} of client {client}{named} expires or is removed since {since}:")?;
            writeln!(out, "  snapshot {snapshot} has {why}")?;
            writeln!(out, "  if that is as it should be: copal policy release {snapshot}")?;
        }
        let by = |by| self.stays.iter().filter(move |stays| stays.by == by);
        let count = |what| things(by(what).count() as u64, "forgotten snapshot", "forgotten snapshots");
        if by(StaysBy::Hold).next().is_some() {
            writeln!(out, "{} not removed: the series is held", count(StaysBy::Hold))?;
        }
        if by(StaysBy::FloorLast).next().is_some() {
            let held = count(StaysBy::FloorLast);
            writeln!(out, "{held} not removed: the policy's floor-last keeps them until newer ones are there")?;
        }
        if let Some(last) = by(StaysBy::FloorAge).filter_map(|stays| stays.until).map(|until| until.0).max() {
            let (held, last) = (count(StaysBy::FloorAge), human::time(last));
            writeln!(out, "{held} not removed: the policy's floor-age keeps them, the last of them until {last}")?;
        }
        Ok(())
    }
}
