//! Summary: the results of backup, restore, check and stats. Field names are stable; `docs/cli.md` explains each.

use std::io::{self, Write};

use copal_client::progress::Fate;
use copal_client::restore::Tally;
use copal_client::verify::{self, DamageKind};
use copal_format::id::SnapshotId;
use copal_format::receipt::IngestBy;
use copal_format::tree::Entry;
use serde::Serialize;

use super::Answer;
use super::advice::is_index;
use super::clients::SignerField;
use super::field::{PathField, PathsField};
use super::human::{self, things};

#[derive(Serialize, Clone, Debug, Default)]
pub struct BackupSummary {
    pub snapshot_id: Option<SnapshotId>,
    pub parent_id: Option<SnapshotId>,
    pub files_new: u64,
    pub files_changed: u64,
    pub files_unmodified: u64,
    pub dirs: u64,
    pub others: u64,
    pub errors: u64,
    pub changing: u64,
    pub bytes_scanned: u64,
    pub bytes_new: u64,
    pub bytes_stored: u64,
    pub seconds: f64,
    pub dry_run: bool,
    pub accepted_by: Option<IngestBy>,
    pub narrowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<LeftOut>,
}

/// What one pattern leaves out of a backup.
#[derive(Serialize, Clone, Debug, Default)]
pub struct LeftOut {
    /// The pattern, or the name of the marker.
    pub by: String,
    pub entries: u64,
    pub bytes: u64,
}

#[derive(Serialize, Clone, Debug)]
pub struct EntryFate {
    message_type: &'static str,
    action: &'static str,
    item: String,
    data_size: u64,
    #[serde(skip)]
    shown: String,
}

impl EntryFate {
    pub fn of(entry: &Entry, fate: Fate) -> Self {
        let action = match fate {
            Fate::New => "new",
            Fate::Changed => "changed",
            Fate::Metadata => "metadata",
            Fate::Unchanged => "unchanged",
            Fate::Link => "link",
        };
        let path = PathField::of(&entry.path);
        let item = String::from_utf8_lossy(&path.0).into_owned();
        Self { message_type: "verbose_status", action, item, data_size: entry.size, shown: path.human() }
    }
}

impl std::fmt::Display for EntryFate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:<9} {}", self.action, self.shown)
    }
}

impl Answer for BackupSummary {
    fn only_confirms(&self) -> bool {
        !self.dry_run && self.errors == 0
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let files = self.files_new + self.files_changed + self.files_unmodified;
        writeln!(
            out,
            "{} ({} new, {} changed), {}, {} in {}",
            things(files, "file", "files"),
            human::count(self.files_new),
            human::count(self.files_changed),
            things(self.dirs, "directory", "directories"),
            human::size(self.bytes_scanned),
            human::duration(self.seconds),
        )?;
        if self.dry_run {
            writeln!(out, "{} would be new; nothing was saved (dry run)", human::size(self.bytes_new))?;
            for LeftOut { by, entries, bytes } in &self.excluded {
                let entries = things(*entries, "entry", "entries");
                writeln!(out, "{} leaves out {entries}, {}", human::text(by), human::size(*bytes))?;
            }
            return Ok(());
        }
        let (new, stored) = (human::size(self.bytes_new), human::size(self.bytes_stored));
        match (self.bytes_new, self.bytes_stored) {
            (0, 0) => writeln!(out, "nothing new to store")?,
            // Small files lie in the tree, which is stored too.
            (0, _) => writeln!(out, "{stored} stored")?,
            _ => writeln!(out, "{new} new, {stored} stored")?,
        }
        if self.changing > 0 {
            writeln!(out, "{} while being read", things(self.changing, "file changed", "files changed"))?;
        }
        let errors = things(self.errors, "entry", "entries");
        let lacks = if self.errors > 0 { format!(", without {errors} named above") } else { String::new() };
        match (&self.snapshot_id, self.accepted_by) {
            (Some(id), Some(IngestBy::Client)) => writeln!(out, "snapshot {} saved{lacks}", id.short()),
            (Some(id), Some(IngestBy::Service)) => {
                writeln!(out, "snapshot {} saved{lacks}, verified by the service", id.short())
            }
            (Some(id), None) => writeln!(out, "snapshot {} uploaded; the service has not verified it yet", id.short()),
            (None, _) => writeln!(out, "nothing has changed: no snapshot made"),
        }
    }
}

#[derive(Serialize, Clone, Debug)]
pub struct RestoreSummary {
    pub snapshot_id: SnapshotId,
    pub host: String,
    #[serde(flatten)]
    pub signer: SignerField,
    /// The target directory, as field `path`.
    #[serde(flatten)]
    pub target: PathField,
    #[serde(flatten)]
    pub tally: Tally,
    pub left_out: u64,
    pub seconds: f64,
    pub dry_run: bool,
}

impl Answer for RestoreSummary {
    fn only_confirms(&self) -> bool {
        !self.dry_run && self.tally.errors == 0
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let verb = if self.dry_run { "would be restored" } else { "restored" };
        writeln!(
            out,
            "{} {verb} to {} ({} already right), {}, {} in {}",
            things(self.tally.files_restored, "file", "files"),
            self.target.human(),
            human::count(self.tally.files_unchanged),
            things(self.tally.dirs, "directory", "directories"),
            human::size(self.tally.bytes_written),
            human::duration(self.seconds),
        )?;
        if self.tally.bytes_read > 0 {
            writeln!(out, "{} read from the repository", human::size(self.tally.bytes_read))?;
        }
        if self.tally.errors > 0 {
            let errors = things(self.tally.errors, "entry is", "entries are");
            writeln!(out, "{errors} not restored, or not whole: see above")?;
        }
        if self.tally.files_skipped > 0 {
            writeln!(out, "{}", things(self.tally.files_skipped, "file left as it was", "files left as they were"))?;
        }
        if self.tally.deleted > 0 {
            let verb = if self.dry_run { "would be deleted" } else { "deleted" };
            writeln!(out, "{} {verb}", things(self.tally.deleted, "entry", "entries"))?;
        }
        if self.tally.files_verified > 0 {
            writeln!(out, "{} read again and compared", things(self.tally.files_verified, "file", "files"))?;
        }
        Ok(())
    }
}

#[derive(Serialize, Clone, Debug)]
pub struct CheckReport {
    pub ok: bool,
    pub errors: Vec<Damage>,
    pub snapshots_checked: Option<u64>,
    pub packs_read: u64,
    pub bytes_read: u64,
    pub seconds: f64,
}

#[derive(Serialize, Clone, Debug)]
pub struct Damage {
    pub kind: DamageKind,
    pub object: String,
    pub why: String,
    pub snapshots: Vec<SnapshotId>,
    /// Entries that need it, as far as the available keys show.
    #[serde(flatten)]
    pub paths: PathsField,
    pub more_paths: u64,
}

impl From<verify::Damage> for Damage {
    fn from(damage: verify::Damage) -> Self {
        Self {
            kind: damage.kind,
            object: damage.object,
            why: damage.why,
            snapshots: damage.snapshots,
            paths: PathsField::of(&damage.paths),
            more_paths: damage.more_paths,
        }
    }
}

fn words(kind: DamageKind) -> &'static str {
    match kind {
        DamageKind::Missing => "missing",
        DamageKind::Damaged => "damaged",
        DamageKind::Forged => "forged: its content is not what its writer claims",
        DamageKind::Unresolved => "refers to missing data",
        DamageKind::Lost => "lost",
        DamageKind::Stale => "damaged, but no longer needed",
    }
}

impl Answer for CheckReport {
    fn only_confirms(&self) -> bool {
        self.ok
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for damage in &self.errors {
            let (object, why) = (human::text(&damage.object), human::text(&damage.why));
            writeln!(out, "{object}: {} ({why})", words(damage.kind))?;
            let snapshots: Vec<String> = damage.snapshots.iter().map(SnapshotId::short).collect();
            if !snapshots.is_empty() {
                writeln!(out, "  in snapshots {}", snapshots.join(", "))?;
            }
            damage.paths.0.iter().try_for_each(|path| writeln!(out, "  hits {}", human::path(path)))?;
            if damage.more_paths > 0 {
                writeln!(out, "  and {} more", human::count(damage.more_paths))?;
            }
        }
        let walked = self.snapshots_checked.map(|number| things(number, "snapshot", "snapshots"));
        if let Some(walked) = &walked {
            writeln!(out, "{walked} walked; data and trees that only others need were not looked at")?;
        }
        if self.ok && self.packs_read == 0 {
            let took = human::duration(self.seconds);
            let packs = if walked.is_some() { "the packs of these snapshots" } else { "them" };
            return writeln!(
                out,
                "no damage found in {took}: the index is whole and every pack is there (--read-data reads {packs}, too)"
            );
        }
        let read = format!("{} ({}) read", things(self.packs_read, "pack", "packs"), human::size(self.bytes_read));
        let time = human::duration(self.seconds);
        match self.ok {
            true => writeln!(out, "no damage found; {read} in {time}"),
            false => {
                writeln!(
                    out,
                    "{} found; {read} in {time}",
                    things(self.errors.len() as u64, "damaged object", "damaged objects")
                )?;
                self.remedy().map_or(Ok(()), |remedy| writeln!(out, "{remedy}"))
            }
        }
    }
}

impl CheckReport {
    /// What to do first about the findings; none if only an older state was found.
    fn remedy(&self) -> Option<&'static str> {
        self.errors.first()?;
        let needed = || self.errors.iter().filter(|damage| damage.kind != DamageKind::Stale);
        // A chunk or page that no pack has is named by its id alone.
        let is_data = |object: &str| {
            !object.contains('/') || ["packs/", "moved/"].iter().any(|folder| object.starts_with(folder))
        };
        Some(match needed().next() {
            None => {
                "No snapshot needs these objects: \"copal repair\" restores lost copies, prune removes packs and parts of the state, and docs/recovery.md says what to do about others."
            }
            _ if needed().any(|damage| damage.why.starts_with(DENIED)) => {
                "Give this machine the right to read these objects again (mode, owner, or key of the bucket): they may be whole. Then run \"copal check\" again."
            }
            // A damaged index may make other objects look damaged too.
            _ if needed().any(|damage| is_index(&damage.object)) => {
                "Run \"copal rebuild-index\" (in a replica, delete what is damaged and run \"copal sync\") while nobody else writes to the repository, then \"copal check --full\"."
            }
            _ if needed().any(|damage| is_data(&damage.object)) => {
                "Back up the sources again: that replaces lost data that they still have. Then run \"copal repair\"."
            }
            _ => {
                "No backup brings these objects again. \"copal repair\" mends descriptors and single copies; for each other kind, \"Repair lost or damaged objects\" in docs/recovery.md says what to do."
            }
        })
    }
}

/// How the reason of a finding begins if this machine lacks the right to read the object.
const DENIED: &str = "it may not be read";

#[derive(Serialize, Clone, Debug, Default)]
pub struct Stats {
    pub snapshots: u64,
    pub files: u64,
    pub logical_bytes: u64,
    pub stored_bytes: u64,
    /// Bytes of packs that no accepted manifest names.
    pub unclaimed_bytes: u64,
    pub packs: u64,
    pub chunks: u64,
    pub dead_bytes: u64,
    pub trapped_bytes: u64,
}

impl Answer for Stats {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "snapshots     {}", human::count(self.snapshots))?;
        writeln!(out, "files         {}", human::count(self.files))?;
        writeln!(out, "data in them  {}", human::size(self.logical_bytes))?;
        writeln!(out, "stored        {}", human::size(self.stored_bytes))?;
        if self.unclaimed_bytes > 0 {
            let unclaimed = human::size(self.unclaimed_bytes);
            writeln!(out, "  of it       {unclaimed} in packs that no accepted backup names")?;
        }
        writeln!(out, "packs         {}", human::count(self.packs))?;
        writeln!(out, "chunks        {}", human::count(self.chunks))?;
        writeln!(out, "not needed    {}", human::size(self.dead_bytes))?;
        writeln!(out, "  of it       {} in blocks that also hold needed data", human::size(self.trapped_bytes))
    }
}

#[cfg(test)]
mod tests {
    use copal_jobs::witness::denial;
    use copal_store::{Op, StoreError};

    use super::*;

    #[test]
    fn what_check_found_decides_what_is_advised() {
        let told = |found: &[(DamageKind, &str)]| {
            report(found.iter().map(|&(kind, object)| damage(kind, object)).collect()).remedy().unwrap()
        };
        let (missing, damaged, stale) = (DamageKind::Missing, DamageKind::Damaged, DamageKind::Stale);
        assert!(told(&[(missing, "packs/00/ab"), (stale, "index/ab")]).contains("Back up the sources again"));
        assert!(told(&[(damaged, "packs/00/ab"), (damaged, "index/ab")]).contains("copal rebuild-index"));
        assert!(told(&[(missing, "state/ab")]).contains("copal rebuild-index"));
        assert!(told(&[(stale, "roots/1"), (stale, "keys/ab/a")]).contains("No snapshot needs these"));
        assert!(told(&[(missing, "changes/2"), (DamageKind::Lost, "c0ffee")]).contains("Back up the sources again"));
        assert!(told(&[(missing, "changes/2"), (damaged, "copal/1")]).contains("docs/recovery.md"));
    }

    #[test]
    fn what_may_not_be_read_needs_the_right_back_and_no_backup() {
        let refused = StoreError::Denied { op: Op::Read, key: "packs/x".into(), source: "its mode".into() };
        let pack = |why: String| Damage { why, ..damage(DamageKind::Damaged, "packs/00/ab") };
        let advice = |pack| report(vec![damage(DamageKind::Damaged, "index/ab"), pack]).remedy().unwrap();
        assert!(advice(pack(denial(&refused).unwrap())).contains("the right to read"));
        assert!(advice(pack("its hash differs".into())).contains("copal rebuild-index"));
    }

    fn damage(kind: DamageKind, object: &str) -> Damage {
        let paths = PathsField(Vec::new());
        Damage { kind, object: object.into(), why: String::new(), snapshots: Vec::new(), paths, more_paths: 0 }
    }

    fn report(errors: Vec<Damage>) -> CheckReport {
        CheckReport { ok: false, errors, snapshots_checked: None, packs_read: 1, bytes_read: 10, seconds: 0.5 }
    }
}
