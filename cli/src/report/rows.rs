//! Rows: results with many rows: snapshots, entries, differences, keys, speeds, findings. Field names are stable;
//! `docs/cli.md` explains each.

use std::io::{self, Write};
use std::time::Duration;

use copal_client::history::Snapshot;
use copal_format::id::{SlotId, SnapshotId};
use copal_format::keys::slot::SlotKind;
use copal_format::snapshot::Origin;
use copal_format::tree::EntryKind;
use serde::Serialize;

use super::clients::SignerField;
use super::field::{PathField, PathsField, Stamp, TargetField};
use super::human::{self, Table};
use super::{Answer, Columns, List};

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
    pub pinned: bool,
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
    /// A note that `latest` is this snapshot. `host` is this machine, if it has made none; `is_older` says that newer ones
    /// lack the path; `others` are the newest of other series.
    pub fn as_latest(&self, host: Option<&str>, is_older: bool, others: &[Self]) -> String {
        let (time, id) = (human::time(self.time.0), self.id.short());
        let (paths, client) = (self.paths.human().replace('\n', ", "), self.signer.human());
        let mut note = match host {
            Some(host) => {
                let [host, of] = [host, &self.host].map(human::text);
                format!(
                    "this machine (\"{host}\") has made no snapshot; \"latest\" is {id} of \"{of}\", {paths}, {time}, by client {client}"
                )
            }
            None => format!("\"latest\" is {id}, {paths}, {time}"),
        };
        if is_older {
            note.push_str(": newer ones do not have that path");
        }
        if !others.is_empty() {
            let mut named: Vec<String> = others.iter().take(OTHERS).map(|other| other.beside(self)).collect();
            named.extend(others.len().checked_sub(OTHERS + 1).map(|more| format!("{} more", more + 1)));
            let named = named.join("; ");
            note.push_str(&format!(
                "; also there: {named} (name one by its id, or with --path, --label, --host or --client)"
            ));
        }
        note
    }

    /// Its id, and how its series differs from that of another snapshot.
    fn beside(&self, other: &Self) -> String {
        let mut text = format!("{}, {}", self.id.short(), self.paths.human().replace('\n', ", "));
        if self.host != other.host || self.signer.client != other.signer.client {
            text.push_str(&format!(", of \"{}\", by client {}", human::text(&self.host), self.signer.human()));
        }
        match self.label.as_str() {
            label if label == other.label => {}
            "" => text.push_str(", without a label"),
            label => text.push_str(&format!(", label {}", human::text(label))),
        }
        text
    }
}

/// Other series that a note names.
const OTHERS: usize = 4;

impl List for SnapshotRow {
    fn human(rows: &[Self], out: &mut dyn Write) -> io::Result<()> {
        if rows.is_empty() {
            return writeln!(out, "no snapshots");
        }
        let mut table = Table::new(&["ID", "Time", "Host", "Client", "Tags", "Label", "Paths", ">Files", ">Size"]);
        for (row, client) in rows.iter().zip(SignerField::column(rows.iter().map(|row| &row.signer))) {
            let mut tags: Vec<String> = row.tags.iter().map(|tag| human::text(tag)).collect();
            tags.extend(row.pinned.then(|| "(pinned)".to_owned()));
            table.row(vec![
                row.id.short(),
                human::time(row.time.0),
                human::text(&row.host),
                client,
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
    pub size: u64,
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

impl Columns for LsRow {
    const COLUMNS: &[&str] = &["", "", "", ">", "", ""];

    fn cells(&self) -> Vec<String> {
        let named = |name: &str, number: u32| if name.is_empty() { number.to_string() } else { human::text(name) };
        let target = self.target.0.as_ref().map(|target| format!(" -> {}", human::path(target)));
        vec![
            human::mode(self.kind as u32 | self.mode),
            named(&self.user, self.uid),
            named(&self.group, self.gid),
            if self.kind == EntryKind::File { human::size(self.size) } else { "-".into() },
            human::time(self.mtime.0),
            format!("{}{}", self.path.human(), target.unwrap_or_default()),
        ]
    }
}

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

impl Columns for FindRow {
    const COLUMNS: &[&str] = &["", "", "", "", "", ">", "", ""];

    fn cells(&self) -> Vec<String> {
        let mut cells = vec![self.snapshot.short(), self.signer.human()];
        cells.extend(self.entry.cells());
        cells
    }
}

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
        writeln!(out, "{} {}", self.change.sign(), self.path.human())
    }
}

impl Change {
    pub(super) fn sign(self) -> char {
        match self {
            Self::Added => '+',
            Self::Removed => '-',
            Self::Modified => 'M',
            Self::Metadata => 'm',
            Self::Type => 'T',
        }
    }
}

#[derive(Serialize, Clone, Debug)]
pub struct KeyRow {
    pub slot: SlotId,
    pub name: Option<String>,
    pub kind: SlotKind,
    pub created: Stamp,
    /// Whether it opened the repository this time.
    pub current: bool,
}

impl Columns for KeyRow {
    const COLUMNS: &[&str] = &["Slot", "Name", "Kind", "Created", ""];

    fn cells(&self) -> Vec<String> {
        let current = if self.current { "in use" } else { "" };
        let name = self.name.as_deref().map(human::text).unwrap_or_default();
        vec![self.slot.short(), name, self.kind.to_string(), human::time(self.created.0), current.into()]
    }
}

#[derive(Serialize, Clone, Debug)]
pub struct Speed {
    pub act: &'static str,
    pub mb_per_second: f64,
}

impl Speed {
    /// The speed of an act that took this long.
    pub fn of(act: &'static str, bytes: usize, took: Duration) -> Self {
        Self { act, mb_per_second: bytes as f64 / 1e6 / took.as_secs_f64().max(1e-9) }
    }
}

impl Columns for Speed {
    const COLUMNS: &[&str] = &["", ">"];

    fn cells(&self) -> Vec<String> {
        vec![self.act.into(), format!("{:.0} MB/s", self.mb_per_second)]
    }
}

/// What `doctor` found about one thing.
#[derive(Serialize, Clone, Debug)]
pub struct Finding {
    pub check: &'static str,
    pub ok: bool,
    pub found: String,
    /// The remedy; none if the check has found nothing wrong.
    pub remedy: Option<String>,
}

impl List for Finding {
    fn human(rows: &[Self], out: &mut dyn Write) -> io::Result<()> {
        for Self { check, ok, found, remedy } in rows {
            writeln!(out, "{:<8} {check}: {}", if *ok { "ok" } else { "warning" }, human::text(found))?;
            remedy.iter().try_for_each(|remedy| writeln!(out, "         {remedy}"))?;
        }
        match rows.iter().filter(|row| !row.ok).count() as u64 {
            0 => writeln!(out, "all is well"),
            some => writeln!(out, "{}", human::things(some, "warning", "warnings")),
        }
    }
}
