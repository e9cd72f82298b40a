//! Diff: how much differs between two snapshots. Field names are stable; `docs/cli.md` explains each.

use std::io::{self, Write};

use serde::Serialize;

use super::human::{self, Table};
use super::rows::{Change, DiffRow};
use super::{Answer, human::things};

#[derive(Serialize, Clone, Debug, Default)]
pub struct DiffStat {
    pub added: Sum,
    pub removed: Sum,
    pub modified: Sum,
    pub metadata: Sum,
    #[serde(rename = "type")]
    pub kind: Sum,
    /// The largest files that differ in content, the largest first.
    pub largest: Vec<DiffRow>,
}

/// Entries that differ in one way.
#[derive(Serialize, Copy, Clone, Debug, Default)]
pub struct Sum {
    pub entries: u64,
    pub bytes_before: u64,
    pub bytes_after: u64,
}

impl DiffStat {
    pub fn add(&mut self, row: DiffRow) {
        let sum = match row.change {
            Change::Added => &mut self.added,
            Change::Removed => &mut self.removed,
            Change::Modified => &mut self.modified,
            Change::Metadata => &mut self.metadata,
            Change::Type => &mut self.kind,
        };
        sum.entries += 1;
        sum.bytes_before += row.size_before.unwrap_or(0);
        sum.bytes_after += row.size_after.unwrap_or(0);
        let bytes = bytes(&row);
        if row.change == Change::Metadata || bytes == 0 {
            return;
        }
        let place = self.largest.partition_point(|other| self::bytes(other) >= bytes);
        if place < LARGEST {
            self.largest.insert(place, row);
            self.largest.truncate(LARGEST);
        }
    }
}

impl Answer for DiffStat {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut table = Table::new(&["", "", ">", ""]);
        for (what, sum) in [
            ("added", self.added),
            ("removed", self.removed),
            ("content changed", self.modified),
            ("attributes changed", self.metadata),
            ("type changed", self.kind),
        ] {
            let (before, after) = (human::size(sum.bytes_before), human::size(sum.bytes_after));
            let (size, was) = match (sum.bytes_before, sum.bytes_after) {
                (_, 0) if what == "removed" => (before, String::new()),
                (0, _) => (after, String::new()),
                _ => (after, format!("was {before}")),
            };
            table.row(vec![what.into(), things(sum.entries, "entry", "entries"), size, was]);
        }
        table.write(out)?;
        if self.largest.is_empty() {
            return Ok(());
        }
        writeln!(out, "largest files that differ:")?;
        let mut table = Table::new(&["", ">", ""]);
        for row in &self.largest {
            table.row(vec![row.change.sign().into(), human::size(bytes(row)), row.path.human()]);
        }
        table.write(out)
    }
}

/// The larger size of a file, before or after.
fn bytes(row: &DiffRow) -> u64 {
    row.size_before.max(row.size_after).unwrap_or(0)
}

const LARGEST: usize = 10;
