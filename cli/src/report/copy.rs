//! Copies: the results of `copy`, `import restic`, `rewrite` and `export`. Field names are stable; `docs/cli.md` explains each.

use std::io::{self, Write};

use copal_client::backup::Outcome;
use copal_client::history::Snapshot;
use copal_client::restic::ResticSnapshot;
use copal_format::id::{RepositoryId, SnapshotId};
use copal_format::path::TreePath;
use copal_format::snapshot::Counts;
use copal_format::time::Time;
use serde::Serialize;

use super::Answer;
use super::field::{PathsField, Stamp};
use super::human::{self, things};
use super::keys::RECOVERY;

#[derive(Serialize, Clone, Debug, Default)]
pub struct CopySummary {
    pub copied: Vec<CopiedRow>,
    pub already_there: u64,
    pub seconds: f64,
    pub dry_run: bool,
}

/// A snapshot that was made from another one.
#[derive(Serialize, Clone, Debug)]
pub struct CopiedRow {
    pub source_id: String,
    /// The new snapshot; `None` after a dry run, or if nothing more could be read than an earlier copy has.
    pub snapshot_id: Option<SnapshotId>,
    pub time: Stamp,
    pub host: String,
    #[serde(flatten)]
    pub paths: PathsField,
    pub files: u64,
    pub bytes: u64,
    pub files_read: u64,
    pub bytes_new: u64,
    pub bytes_stored: u64,
    pub errors: u64,
}

#[derive(Serialize, Clone, Debug, Default)]
pub struct RewriteSummary {
    pub rewritten: Vec<RewrittenRow>,
    pub unchanged: u64,
    pub seconds: f64,
    pub dry_run: bool,
}

/// A snapshot that was replaced by another one.
#[derive(Serialize, Clone, Debug)]
pub struct RewrittenRow {
    #[serde(flatten)]
    pub row: CopiedRow,
    pub left_out: u64,
    pub forgotten: bool,
}

#[derive(Serialize, Clone, Debug)]
pub struct ExportSummary {
    pub snapshot_id: SnapshotId,
    pub file: String,
    pub bytes: u64,
    pub repository_id: Option<RepositoryId>,
    /// The recovery code, which opens it; shown only this once.
    pub recovery_code: Option<String>,
    pub reader: Option<String>,
    pub errors: u64,
    pub seconds: f64,
}

impl ExportSummary {
    /// The summary of a snapshot's export, as far as the snapshot says it.
    pub fn of(snapshot: &Snapshot) -> Self {
        Self {
            snapshot_id: snapshot.id,
            file: String::new(),
            bytes: 0,
            repository_id: None,
            recovery_code: None,
            reader: None,
            errors: 0,
            seconds: 0.0,
        }
    }
}

impl Answer for ExportSummary {
    fn only_confirms(&self) -> bool {
        self.recovery_code.is_none() && self.errors == 0
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let (id, size, took) = (self.snapshot_id.short(), human::size(self.bytes), human::duration(self.seconds));
        writeln!(out, "snapshot {id} exported to {} in {took}: {size}", human::text(&self.file))?;
        let Some(code) = &self.recovery_code else {
            return writeln!(out, "It is not encrypted.");
        };
        writeln!(out, "\n{RECOVERY}\n\n    {code}\n")?;
        writeln!(out, "The export opens with its passphrase or this code, and with nothing of this repository.")
    }
}

impl CopiedRow {
    /// The row of a snapshot and what came of it; none in a dry run.
    pub fn of(snapshot: &Snapshot, outcome: Option<&Outcome>) -> Self {
        let (id, host) = (snapshot.id.to_string(), snapshot.machine());
        Self::new((id, snapshot.time, host), &snapshot.sources(), snapshot.info.counts, outcome)
    }

    /// The same for a snapshot of restic.
    pub fn of_restic(snapshot: &ResticSnapshot, outcome: Option<&Outcome>) -> Self {
        let paths: Vec<TreePath> = snapshot.paths.iter().filter_map(|path| TreePath::new(path.clone()).ok()).collect();
        Self::new((snapshot.id.clone(), snapshot.time, &snapshot.host), &paths, Counts::default(), outcome)
    }

    fn new(
        (id, time, host): (String, Time, &str),
        paths: &[TreePath],
        counts: Counts,
        outcome: Option<&Outcome>,
    ) -> Self {
        let counts = outcome.map_or(counts, |outcome| outcome.counts);
        let (summary, tally) = outcome.map(|outcome| (outcome.summary, outcome.tally)).unwrap_or_default();
        Self {
            source_id: id,
            snapshot_id: outcome.and_then(|outcome| outcome.snapshot),
            time: Stamp(time),
            host: host.to_owned(),
            paths: PathsField::of(paths),
            files: counts.files,
            bytes: counts.bytes,
            files_read: summary.new + summary.changed,
            bytes_new: tally.bytes_new,
            bytes_stored: tally.bytes_stored,
            errors: outcome.map_or(0, Outcome::errors),
        }
    }

    fn original(&self) -> String {
        let id: String = self.source_id.chars().take(8).collect();
        format!("{id} of {}, {}", human::text(&self.host), human::time(self.time.0))
    }

    pub fn line(&self, dry_run: bool) -> String {
        let of = self.original();
        let holds = format!("{}, {}", things(self.files, "file", "files"), human::size(self.bytes));
        let errors = things(self.errors, "entry is missing", "entries are missing");
        let lacks = if self.errors > 0 { format!("; {errors}") } else { String::new() };
        match &self.snapshot_id {
            _ if dry_run && self.files == 0 => of,
            _ if dry_run => format!("{of}: {holds}"),
            None => format!("{of}: no more can be read than before{lacks}"),
            Some(id) => {
                let (new, stored) = (human::size(self.bytes_new), human::size(self.bytes_stored));
                format!("{of}: {holds}; {new} new, {stored} stored as {}{lacks}", id.short())
            }
        }
    }
}

impl Answer for CopySummary {
    fn only_confirms(&self) -> bool {
        !self.dry_run && self.copied.iter().all(|row| row.errors == 0)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for row in &self.copied {
            writeln!(out, "{}", row.line(self.dry_run))?;
        }
        let made = self.copied.iter().filter(|row| self.dry_run || row.snapshot_id.is_some()).count();
        let verb = if self.dry_run { "would be copied (dry run)," } else { "copied" };
        write!(out, "{} {verb}", things(made as u64, "snapshot", "snapshots"))?;
        let (there, took) = (human::count(self.already_there), human::duration(self.seconds));
        writeln!(out, " in {took}; {there} already there")
    }
}

impl Answer for RewriteSummary {
    fn only_confirms(&self) -> bool {
        !self.dry_run && self.rewritten.iter().all(|of| of.forgotten && of.row.errors == 0)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for RewrittenRow { row, left_out, forgotten } in &self.rewritten {
            let of = row.original();
            let without = things(*left_out, "entry", "entries");
            match &row.snapshot_id {
                Some(id) if *forgotten => writeln!(out, "{of}: replaced by {} without {without}", id.short())?,
                Some(id) => writeln!(out, "{of}: {} is the same without {without}; both are kept", id.short())?,
                None => writeln!(out, "{of}: would be replaced, without {without}")?,
            }
        }
        let verb = if self.dry_run { "would be rewritten (dry run)," } else { "rewritten" };
        write!(out, "{} {verb}", things(self.rewritten.len() as u64, "snapshot", "snapshots"))?;
        let (unchanged, took) = (human::count(self.unchanged), human::duration(self.seconds));
        writeln!(out, " in {took}; {unchanged} unchanged")
    }
}
