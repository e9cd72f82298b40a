//! `check`: verifies the repository.

use std::sync::Arc;
use std::time::Instant;

use copal_service::error::JobError;
use copal_service::view;

use super::context::Context;
use super::failure::of_job;
use crate::args;
use crate::exit::Exit;
use crate::history::History;
use crate::report::progress::Progress;
use crate::report::summary::CheckReport;
use crate::report::{Failure, human};
use crate::verify::{self, Known, verify};
use crate::wait::wait;

pub(super) fn run(context: &Context<'_>, options: &args::check::Check) -> Result<Exit, Failure> {
    let started = Instant::now();
    let repository = context.open()?;
    let view = match wait(view::read(repository.store().as_ref())) {
        Ok(view) => Some(view),
        // The check says so.
        Err(JobError::Damaged { .. } | JobError::StateLost { .. }) => None,
        Err(error) => return Err(of_job(error)),
    };
    let history = view.as_ref().map(|view| History::read(&repository, view)).transpose()?;
    let known = view.as_ref().zip(history.as_ref()).map(|(view, history)| Known { view, history });
    let how = verify::Options {
        read: options.read_data(),
        is_full: options.full,
        threads: std::thread::available_parallelism().map_or(2, usize::from),
    };
    let progress = Arc::new(Progress::default());
    let watch = context.report.watch("check", progress.clone());
    let outcome = verify(&repository, known, &how, &progress).map_err(of_job);
    drop(watch);
    let outcome = outcome?;
    if let Some(error) = &outcome.unnoted {
        context.report.warn(&format!("what was found could not be noted in the repository: {error}"));
    }
    if !outcome.replaced.is_empty() {
        let packs = human::things(outcome.replaced.len() as u64, "damaged pack is", "damaged packs are");
        context.report.note(&format!("{packs} not needed any more; prune removes what is left of them"));
    }
    let ok = outcome.damage.is_empty();
    context.report.answer(&CheckReport {
        ok,
        errors: outcome.damage,
        packs_read: outcome.packs_read,
        bytes_read: outcome.bytes_read,
        seconds: started.elapsed().as_secs_f64(),
    })?;
    if !ok && view.is_none() {
        context.report.note("the index cannot be read: \"copal rebuild-index\" makes it again");
    }
    Ok(if ok { Exit::Done } else { Exit::Damage })
}
