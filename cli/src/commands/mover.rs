//! Mover: three calls around a volume, for a scheduler that may repeat any of them. Each runs a command of this
//! program, with a tag for the caller's id, and ends with one line of JSON about its result.

use std::ffi::{OsStr, OsString};
use std::time::Instant;

use copal_format::client::Role;

use super::context::Context;
use super::dispatch;
use crate::args::CommandLine;
use crate::args::global::Global;
use crate::args::look::Narrow;
use crate::args::mover::{Mover, Saving, Volume};
use crate::exit::Exit;
use crate::pick;
use crate::report::mover::{Saved, Status};
use crate::report::{Failure, Printer};

pub(super) fn run(context: &Context<'_>, options: &Mover) -> Result<Exit, Failure> {
    let started = Instant::now();
    let global = Global { json: true, ..context.global.clone() };
    let report = Printer::new(&global);
    let taking = report.taking();
    let moving = Context::new(&global, &taking);
    let (act, id) = match options {
        Mover::Backup(saving) => ("backup", &saving.volume.named.id),
        Mover::Restore(volume) => ("restore", &volume.named.id),
        Mover::Cleanup(named) => ("cleanup", &named.id),
    };
    let mut status = Status::new(act, id);
    let ended = found(&moving, id).and_then(|saved| {
        let last = saved.last();
        status.snapshot = last.map(|last| last.id.clone());
        match (options, last) {
            (Mover::Backup(_), Some(last)) => {
                status.again = true;
                Ok(last.exit())
            }
            (Mover::Cleanup(_), None) => {
                status.again = true;
                Ok(Exit::Done)
            }
            (Mover::Backup(saving), None) => words(&moving, &backup_words(saving), act),
            (Mover::Restore(volume), last) => {
                let last = last.ok_or_else(|| Failure::NoSnapshot { wanted: id.clone() })?;
                words(&moving, &[last.whole().into(), "--target".into(), volume.folder.clone().into()], act)
            }
            (Mover::Cleanup(_), Some(_)) => {
                words(&moving, &saved.iter().map(|one| one.id.clone().into()).collect::<Vec<_>>(), "forget")
            }
        }
    });
    let exit = ended.unwrap_or_else(|failure| {
        status.error = Some(failure.value());
        report.fail(&failure)
    });
    status.result = taking.taken().pop();
    if let Some(made) = status.result.as_ref().and_then(|result| result["snapshot_id"].as_str()) {
        status.snapshot = Some(made.to_owned());
    }
    status.end(exit, started.elapsed());
    report.answer(&status)?;
    Ok(exit)
}

/// The kept snapshots that full clients have saved under this id, the oldest first. A write-only client may use any tag, and
/// would otherwise decide what is saved already, and what a volume is restored to.
fn found(context: &Context<'_>, id: &str) -> Result<Vec<Saved>, Failure> {
    let repository = context.open()?;
    let view = context.records(&repository)?;
    let history = context.history(&repository, &view)?;
    let mut found = pick::narrowed(&history, &Narrow { tags: vec![tag(id)], ..Narrow::default() });
    found.retain(|snapshot| snapshot.signer.role == Role::Full);
    found.sort_by_key(|snapshot| snapshot.age());
    Ok(found.into_iter().map(Saved::from).collect())
}

fn tag(id: &str) -> String {
    format!("mover:{id}")
}

/// The arguments of the backup that saves a volume.
fn backup_words(saving: &Saving) -> Vec<OsString> {
    let Volume { named, folder } = &saving.volume;
    let mut words: Vec<OsString> = vec![format!("--tag={}", tag(&named.id)).into()];
    words.extend(saving.allow_empty.then(|| OsString::from("--allow-empty")));
    words.extend([OsString::from("--"), folder.clone().into()]);
    words
}

/// Runs a command line of these words.
fn words(context: &Context<'_>, words: &[OsString], command: &str) -> Result<Exit, Failure> {
    let line = ["copal", command].map(OsStr::new).into_iter().chain(words.iter().map(OsString::as_os_str));
    let line = CommandLine::read(line).map_err(|error| Failure::Usage(error.to_string()))?;
    dispatch(context, &line.command)
}
