//! Benchmark: the result of `benchmark`. Field names are stable; `docs/cli.md` explains each.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

use super::List;
use super::human::Table;

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

impl List for Speed {
    fn human(rows: &[Self], out: &mut dyn Write) -> io::Result<()> {
        let mut table = Table::new(&["", ">"]);
        for row in rows {
            table.row(vec![row.act.into(), format!("{:.0} MB/s", row.mb_per_second)]);
        }
        table.write(out)
    }
}
