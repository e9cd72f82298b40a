//! Answer: what the command writes once the snapshots can be seen.

use std::io::{self, Write};

use serde::Serialize;

use crate::report::{Answer, human};

/// The place where the command shows the snapshots.
#[derive(Serialize)]
pub(super) struct Shown {
    pub(super) at: String,
    #[serde(skip)]
    pub(super) how: &'static str,
    #[serde(skip)]
    pub(super) end: &'static str,
}

impl Answer for Shown {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} {} (Ctrl-C {} ends it)", self.how, human::text(&self.at), self.end)
    }
}
