//! Upkeep: the results of commands that maintain a repository. Field names are stable; `docs/cli.md` explains each.

use std::io::{self, Write};

use copal_format::id::SnapshotId;
use copal_format::receipt::IngestBy;
use copal_format::shown::is_unseen;
use serde::Serialize;

use super::Answer;
use super::clients::SignerField;
use super::field::{PathField, PathsField, Stamp};
use super::guard::Guarded;
use super::human::{self, Table, things};

#[derive(Serialize, Clone, Debug)]
pub struct ForgetReport {
    pub snapshots: Vec<ForgetRow>,
    pub kept: u64,
    pub forgotten: u64,
    pub freeable_bytes: Option<u64>,
    pub freeable_from: Option<Stamp>,
    /// The party that prunes: the user if the command reaches the store itself, else the service.
    pub pruned_by: IngestBy,
    /// Forgotten snapshots that the policy's guard keeps for now.
    #[serde(flatten)]
    pub guarded: Guarded,
    pub dry_run: bool,
}

#[derive(Serialize, Clone, Debug)]
pub struct ForgetRow {
    pub id: SnapshotId,
    pub time: Stamp,
    pub host: String,
    #[serde(flatten)]
    pub signer: SignerField,
    #[serde(flatten)]
    pub paths: PathsField,
    pub tags: Vec<String>,
    pub label: String,
    pub keep: bool,
    pub reasons: Vec<String>,
}

impl Answer for ForgetReport {
    fn only_confirms(&self) -> bool {
        !self.dry_run && self.guarded.held.is_empty() && self.guarded.stays.is_empty()
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut table = Table::new(&["", "ID", "Time", "Host", "Client", "Paths", "Why"]);
        let signers = self.snapshots.iter().map(|row| &row.signer);
        for (row, client) in self.snapshots.iter().zip(SignerField::column(signers)) {
            let verdict = if row.keep { "keep" } else { "forget" };
            let reasons: Vec<String> = row.reasons.iter().map(|reason| human::text(reason)).collect();
            table.row(vec![
                verdict.into(),
                row.id.short(),
                human::time(row.time.0),
                human::text(&row.host),
                client,
                row.paths.human(),
                reasons.join(", "),
            ]);
        }
        table.write(out)?;
        let verb = if self.dry_run { "would be forgotten" } else { "forgotten" };
        let snapshots = |number| things(number, "snapshot", "snapshots");
        match self.kept {
            // Snapshots that are named by id are all forgotten, unless one is pinned. The others are not counted here.
            0 => writeln!(out, "{} {verb}", snapshots(self.forgotten))?,
            kept => writeln!(out, "{} kept, {} {verb}", snapshots(kept), human::count(self.forgotten))?,
        }
        self.guarded.human(out)?;
        match (self.freeable_bytes, self.freeable_from) {
            (Some(0), _) => {
                let stay = self.guarded.stays.len() as u64;
                let why = match stay {
                    0 => "other snapshots need the same data, or data in the same blocks",
                    _ if stay == self.forgotten => "the forgotten snapshots keep their data until they are removed",
                    _ => "snapshots that are not removed need the same data, or data in the same blocks",
                };
                writeln!(out, "Nothing becomes free now: {why}.")
            }
            (Some(bytes), Some(from)) if self.pruned_by == IngestBy::Service => {
                let (bytes, from) = (human::size(bytes), human::time(from.0));
                writeln!(out, "About {bytes} becomes free, from {from} on, when the service prunes.")
            }
            (Some(bytes), Some(from)) => {
                let (bytes, from) = (human::size(bytes), human::time(from.0));
                writeln!(out, "About {bytes} becomes free. Run \"copal prune\" now, and again after {from}:")?;
                writeln!(
                    out,
                    "data is deleted once nothing has needed it for the grace period, counted from the first prune."
                )?;
                writeln!(out, "To free it now, while no backup runs anywhere: copal prune --grace 0s")
            }
            _ => Ok(()),
        }
    }
}

#[derive(Serialize, Clone, Debug, Default)]
pub struct PruneReport {
    pub entries_flagged: u64,
    pub entries_removed: u64,
    pub packs_deleted: u64,
    /// Packs whose live blocks were copied.
    pub packs_rewritten: u64,
    pub bytes_freed: u64,
    pub bytes_rewritten: u64,
    pub bytes_before: Option<u64>,
    pub bytes_after: Option<u64>,
    pub bytes_pending: u64,
    pub pending_until: Option<Stamp>,
    pub bytes_dead: u64,
    pub bytes_trapped: u64,
    pub chunks_wanted: u64,
    pub snapshots_stay: u64,
    pub chunks_repeated: u64,
    pub seconds: f64,
    pub dry_run: bool,
    /// Whether it ran without a grace period.
    #[serde(skip)]
    pub is_graceless: bool,
}

impl Answer for PruneReport {
    fn only_confirms(&self) -> bool {
        !self.dry_run
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let freed = human::size(self.bytes_freed);
        let packs = things(self.packs_deleted, "pack", "packs");
        let is_idle = self.bytes_freed + self.packs_deleted + self.bytes_rewritten == 0;
        match (self.dry_run, is_idle) {
            (true, true) => writeln!(out, "nothing would be freed now (dry run)")?,
            (true, false) => {
                let rewritten = things(self.packs_rewritten, "pack", "packs");
                writeln!(out, "{freed} would be freed: {packs} deleted, {rewritten} rewritten for it (dry run)")?;
            }
            (false, true) => writeln!(out, "nothing freed now")?,
            (false, false) => {
                writeln!(out, "{freed} deleted ({packs}), {} rewritten", human::size(self.bytes_rewritten))?;
            }
        }
        if let (Some(before), Some(after)) = (self.bytes_before, self.bytes_after)
            && before != after
        {
            let until = if after < before { "" } else { ": nothing less until a later prune deletes the old copies" };
            writeln!(out, "packs take {}, were {}{until}", human::size(after), human::size(before))?;
        }
        if self.bytes_pending > 0 {
            let pending = human::size(self.bytes_pending) + if is_idle { "" } else { " more" };
            match self.pending_until {
                Some(time) => writeln!(out, "{pending} can be freed by a prune after {}", human::time(time.0))?,
                None => writeln!(out, "{pending} can be freed by a later prune")?,
            }
            if !self.is_graceless {
                writeln!(out, "To free it now, while no backup runs anywhere: copal prune --grace 0s")?;
            }
        }
        if self.snapshots_stay > 0 {
            let stay = things(self.snapshots_stay, "forgotten snapshot", "forgotten snapshots");
            writeln!(out, "{stay} not removed: the policy's floor or a hold keeps them (see \"copal status\").")?;
        }
        if self.chunks_repeated > 0 {
            let repeated = things(self.chunks_repeated, "chunk", "chunks");
            writeln!(out, "{repeated} stored again in unproven packs: {REPEATED}")?;
        }
        if self.bytes_dead > 0 {
            let dead = human::size(self.bytes_dead);
            writeln!(
                out,
                "{dead} that nothing needs stay in packs that are mostly needed: prune rewrites a pack once enough of it is not."
            )?;
        }
        if self.bytes_trapped > 0 {
            let trapped = human::size(self.bytes_trapped);
            writeln!(out, "{trapped} that nothing needs stay in blocks that also hold needed data.")?;
        }
        if self.chunks_wanted > 0 {
            let wanted = human::things(self.chunks_wanted, "chunk", "chunks");
            writeln!(
                out,
                "The next backups upload {wanted} of that needed data again; a later prune then frees the blocks."
            )?;
        }
        Ok(())
    }
}

/// The advice about chunks that unproven packs repeat.
pub(super) const REPEATED: &str = "\"copal check --full\" proves the sound packs and names the forged ones.";

#[derive(Serialize, Clone, Debug)]
pub struct ChangeSummary {
    /// The change's number; none if there was nothing to change.
    pub change: Option<u64>,
    pub snapshots: Vec<SnapshotId>,
}

impl Answer for ChangeSummary {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.change {
            Some(_) => writeln!(out, "{} changed", things(self.snapshots.len() as u64, "snapshot", "snapshots")),
            None => writeln!(out, "nothing to change"),
        }
    }
}

#[derive(Serialize, Clone, Debug, Default)]
pub struct IngestReport {
    pub accepted: u64,
    pub rejected: u64,
    /// Manifests that wait for one before them.
    pub waiting: u64,
    pub root: u64,
}

impl Answer for IngestReport {
    fn only_confirms(&self) -> bool {
        self.rejected == 0
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.accepted + self.rejected + self.waiting == 0 {
            return writeln!(out, "nothing to accept: no upload waits");
        }
        let accepted = things(self.accepted, "manifest", "manifests");
        writeln!(out, "{accepted} accepted, {} rejected, {} waiting", self.rejected, self.waiting)
    }
}

#[derive(Serialize, Clone, Debug, Default)]
pub struct CompactReport {
    pub segments_before: u64,
    pub segments_after: u64,
    pub root: u64,
}

impl Answer for CompactReport {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let segments = things(self.segments_before, "index segment", "index segments");
        match self.segments_before == self.segments_after {
            true => writeln!(out, "{segments}: nothing to merge"),
            false => writeln!(out, "{segments} merged into {}", self.segments_after),
        }
    }
}

#[derive(Serialize, Clone, Debug, Default)]
pub struct RepairReport {
    pub healed: u64,
    pub lost: u64,
    pub snapshots: Vec<SnapshotId>,
    /// The first entries that cannot be restored.
    #[serde(flatten)]
    pub paths: PathsField,
    pub restored: Vec<String>,
    pub deleted: Vec<String>,
    pub damaged: Vec<String>,
    pub accepted: Vec<String>,
}

impl Answer for RepairReport {
    fn only_confirms(&self) -> bool {
        self.lost == 0 && self.damaged.is_empty() && self.snapshots.is_empty()
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for name in &self.restored {
            writeln!(out, "{name}: written again from its other copy")?;
        }
        for name in &self.deleted {
            let next = if name.starts_with("receipts/") { "; \"copal rebuild-index\" writes it again" } else { "" };
            writeln!(out, "{name}: damaged, and now deleted{next}")?;
        }
        for name in &self.damaged {
            let remedy = match name.starts_with("keys/") {
                true => "\"copal key add\" makes a whole key, then \"copal key remove\" this one",
                false => "the store does not let this machine delete it: run \"copal repair\" where it may",
            };
            writeln!(out, "{name}: damaged; {remedy}")?;
        }
        for name in &self.accepted {
            writeln!(out, "{name}: lost; no check counts it as damage any more")?;
        }
        if self.healed + self.lost == 0 && self.damaged.is_empty() && self.snapshots.is_empty() {
            return writeln!(out, "nothing is lost");
        }
        let healed = things(self.healed, "chunk or page", "chunks and pages");
        writeln!(out, "{healed} healed, {} still lost", human::count(self.lost))?;
        let snapshots: Vec<String> = self.snapshots.iter().map(SnapshotId::short).collect();
        if !snapshots.is_empty() {
            writeln!(out, "not whole: snapshots {}", snapshots.join(", "))?;
        }
        self.paths.0.iter().try_for_each(|path| writeln!(out, "  lost: {}", human::path(path)))
    }
}

#[derive(Serialize, Clone, Debug, Default)]
pub struct RebuildReport {
    pub root: u64,
    pub packs: u64,
    pub entries: u64,
    pub snapshots: u64,
    /// Chunks and pages that a snapshot needs and no pack holds.
    pub lost: u64,
}

impl Answer for RebuildReport {
    fn only_confirms(&self) -> bool {
        self.lost == 0
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let (packs, snapshots) = (things(self.packs, "pack", "packs"), things(self.snapshots, "snapshot", "snapshots"));
        writeln!(out, "index of {packs} and {snapshots} rebuilt: {} entries", human::count(self.entries))?;
        match self.lost {
            0 => Ok(()),
            lost => writeln!(out, "{} lost; run \"copal check --full\"", things(lost, "entry is", "entries are")),
        }
    }
}

#[derive(Serialize, Clone, Debug)]
pub struct CacheSummary {
    #[serde(flatten)]
    pub directory: PathField,
    pub bytes_freed: u64,
}

impl Answer for CacheSummary {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} freed in {}", human::size(self.bytes_freed), self.directory.human())
    }
}

#[derive(Serialize, Clone, Debug)]
pub struct VersionSummary {
    pub version: &'static str,
    /// The version of the format it writes and reads.
    pub format: u64,
}

impl Answer for VersionSummary {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "copal {} (format {})", self.version, self.format)
    }
}

/// An object of the repository, shown by `cat`.
#[derive(Serialize, Clone, Debug)]
#[serde(transparent)]
pub struct CatReport(pub serde_json::Value);

impl Answer for CatReport {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let pretty = serde_json::to_string_pretty(&self.0)?;
        let mut text = String::with_capacity(pretty.len());
        for letter in pretty.chars() {
            // Other clients wrote these strings. JSON leaves most unseen characters in them as they are; a line feed is
            // the printer's own.
            match letter != '\n' && is_unseen(letter) {
                true => text.extend(letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}"))),
                false => text.push(letter),
            }
        }
        writeln!(out, "{text}")
    }
}
