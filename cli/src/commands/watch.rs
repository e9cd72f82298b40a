//! `watch`: notes what changes, for backups that ask.

use std::io::{self, Write};

use copal_client::watch::Watcher;
use serde::Serialize;

use super::context::Context;
use super::sources::places_of;
use crate::args::watch::Watch;
use crate::exit::Exit;
use crate::report::{Answer, Failure, human};

pub(super) fn run(context: &Context<'_>, options: &Watch) -> Result<Exit, Failure> {
    let watcher = Watcher::begin(&context.places()?, &places_of(&options.paths)?)?;
    context.report.answer(&Watching { directories: watcher.directories() })?;
    watcher.run()?;
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct Watching {
    directories: usize,
}

impl Answer for Watching {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let directories = human::things(self.directories as u64, "directory", "directories");
        writeln!(out, "watching {directories} (Ctrl-C ends it)")
    }
}
