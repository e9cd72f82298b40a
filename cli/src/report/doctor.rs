//! Doctor: the result of `doctor`. Field names are stable; `docs/cli.md` explains each.

use std::io::{self, Write};

use serde::Serialize;

use super::List;
use super::human::{self, things};

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
            some => writeln!(out, "{}", things(some, "warning", "warnings")),
        }
    }
}
