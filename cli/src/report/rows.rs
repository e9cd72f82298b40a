//! Rows: results with many rows: snapshots, entries, differences, keys. Field names are stable; `docs/cli.md` explains each.

use std::io::{self, Write};

use copal_client::history::Snapshot;
use copal_format::id::{SlotId, SnapshotId};
use copal_format::keys::slot::SlotKind;
use copal_format::snapshot::Origin;
use copal_format::tree::EntryKind;
use serde::Serialize;

use super::clients::SignerField;
use super::field::{PathField, PathsField, Stamp, TargetField};
use super::human::{self, Table};
use super::{Answer, List};

/// A snapshot in a list.
#[derive(Serialize, Clone, Debug)]
pub struct SnapshotRow {
    pub id: SnapshotId,
    pub time: Stamp,
    pub host: String,
    #[serde(flatten)]
    pub paths: PathsField,
    pub tags: Vec<String>,
    /// The label of its series; may be empty.
    pub label: String,
    pub files: u64,
    pub bytes: u64,
    #[serde(flatten)]
    pub signer: SignerField,
    /// Whether it is pinned: no rule removes it.
    pub pinned: bool,
    /// The snapshot that it was copied or rewritten from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

impl From<&Snapshot> for SnapshotRow {
    fn from(snapshot: &Snapshot) -> Self {
        Self {
            id: snapshot.id,
            time: Stamp(snapshot.time),
            host: snapshot.machine().to_owned(),
            paths: PathsField::of(&snapshot.sources()),
            tags: snapshot.tags.clone(),
            label: snapshot.info.label.clone(),
            files: snapshot.info.counts.files,
            bytes: snapshot.info.counts.bytes,
            signer: SignerField::of(snapshot),
            pinned: snapshot.record.pinned,
            origin: snapshot.origin(),
        }
    }
}

impl SnapshotRow {
    /// A note that `latest` means this snapshot on a host that has none.
    pub fn as_latest_for(&self, host: &str) -> String {
        let time = human::time(self.time.0);
        let (paths, client) = (self.paths.human().replace('\n', ", "), self.signer.human());
        let [host, of] = [host, &self.host].map(human::text);
        format!(
            "this machine (\"{host}\") has made no snapshot; \"latest\" is that of \"{of}\", {paths}, {time}, by client {client}"
        )
    }
}

impl List for SnapshotRow {
    fn human(rows: &[Self], out: &mut dyn Write) -> io::Result<()> {
        if rows.is_empty() {
            return writeln!(out, "no snapshots");
        }
        let mut table = Table::new(&["ID", "Time", "Host", "Client", "Tags", "Label", "Paths", ">Files", ">Size"]);
        for row in rows {
            let mut tags: Vec<String> = row.tags.iter().map(|tag| human::text(tag)).collect();
            tags.extend(row.pinned.then(|| "(pinned)".to_owned()));
            table.row(vec![
                row.id.short(),
                human::time(row.time.0),
                human::text(&row.host),
                row.signer.human(),
                tags.join("\n"),
                human::text(&row.label),
                row.paths.human(),
                human::count(row.files),
                human::size(row.bytes),
            ]);
        }
        table.write(out)?;
        writeln!(out, "{}", human::things(rows.len() as u64, "snapshot", "snapshots"))
    }
}

/// An entry of a snapshot; people see its path.
#[derive(Serialize, Clone, Debug)]
pub struct LsRow {
    #[serde(flatten)]
    pub path: PathField,
    #[serde(rename = "type")]
    pub kind: EntryKind,
    /// Bytes of a regular file, else 0.
    pub size: u64,
    /// The permission bits, with setuid, setgid and sticky.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub user: String,
    pub group: String,
    /// When the content changed last.
    pub mtime: Stamp,
    #[serde(flatten)]
    pub target: TargetField,
}

impl Answer for LsRow {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.path.human())
    }
}

/// An entry of a snapshot; people see it as in `ls -l`.
#[derive(Serialize, Clone, Debug)]
#[serde(transparent)]
pub struct LongLsRow(pub LsRow);

impl Answer for LongLsRow {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let row = &self.0;
        let named = |name: &str, number: u32| if name.is_empty() { number.to_string() } else { human::text(name) };
        let (mode, time) = (human::mode(row.kind as u32 | row.mode), human::time(row.mtime.0));
        let (user, group) = (named(&row.user, row.uid), named(&row.group, row.gid));
        write!(out, "{mode} {user:<8} {group:<8} {:>12} {time} {}", row.size, row.path.human())?;
        match &row.target.0 {
            Some(target) => writeln!(out, " -> {}", human::path(target)),
            None => writeln!(out),
        }
    }
}

/// A result of `find`.
#[derive(Serialize, Clone, Debug)]
pub struct FindRow {
    pub snapshot: SnapshotId,
    #[serde(flatten)]
    pub signer: SignerField,
    #[serde(flatten)]
    pub entry: LsRow,
}

impl Answer for FindRow {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let (snapshot, client) = (self.snapshot.short(), self.signer.human());
        writeln!(out, "{snapshot}  {client}  {}", self.entry.path.human())
    }
}

/// How an entry differs between two snapshots.
#[derive(Serialize, Copy, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Only the later one has it.
    Added,
    /// Only the earlier one has it.
    Removed,
    /// Its content differs.
    Modified,
    /// Its content is the same; mode, owner, times or attributes differ.
    Metadata,
    /// Its kind differs.
    Type,
}

/// A difference between two snapshots.
#[derive(Serialize, Clone, Debug)]
pub struct DiffRow {
    pub change: Change,
    #[serde(flatten)]
    pub path: PathField,
    pub size_before: Option<u64>,
    pub size_after: Option<u64>,
}

impl Answer for DiffRow {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let sign = match self.change {
            Change::Added => '+',
            Change::Removed => '-',
            Change::Modified => 'M',
            Change::Metadata => 'm',
            Change::Type => 'T',
        };
        writeln!(out, "{sign} {}", self.path.human())
    }
}

/// A key slot of a repository.
#[derive(Serialize, Clone, Debug)]
pub struct KeyRow {
    pub slot: SlotId,
    pub kind: SlotKind,
    pub created: Stamp,
    /// Whether it opened the repository this time.
    pub current: bool,
}

impl List for KeyRow {
    fn human(rows: &[Self], out: &mut dyn Write) -> io::Result<()> {
        let mut table = Table::new(&["Slot", "Kind", "Created", ""]);
        for row in rows {
            let current = if row.current { "in use" } else { "" };
            table.row(vec![row.slot.short(), row.kind.to_string(), human::time(row.created.0), current.into()]);
        }
        table.write(out)
    }
}
