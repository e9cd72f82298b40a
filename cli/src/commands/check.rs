//! `check`: verifies the repository.

use std::sync::Arc;
use std::time::Instant;

use copal_service::view::{self, Parts};

use super::context::{CLIENTS, Context};
use super::failure::{of_change, of_verify};
use crate::args;
use crate::exit::Exit;
use crate::report::progress::Progress;
use crate::report::summary::CheckReport;
use crate::report::{Failure, human};
use crate::verify::{self, verify};
use crate::wait::wait;

pub(super) fn run(context: &Context<'_>, options: &args::check::Check) -> Result<Exit, Failure> {
    let started = Instant::now();
    let repository = context.renewing_locks().open_bare()?;
    let how = verify::Options {
        read: options.read_data(),
        is_full: options.full,
        threads: std::thread::available_parallelism().map_or(2, usize::from),
    };
    let progress = Arc::new(Progress::default());
    let watch = context.report.watch("check", progress.clone());
    let outcome = verify(&repository, &how, &progress);
    drop(watch);
    let mut outcome = outcome.map_err(of_verify)?;
    if let Some(error) = &outcome.unnoted {
        context.report.warn(&format!("what was found could not be noted in the repository: {error}"));
    }
    if !outcome.unproven.is_empty() {
        let vouched = context.client(&repository).and_then(|client| {
            verify::vouch(&repository, &client, std::mem::take(&mut outcome.unproven)).map_err(of_change)
        });
        if let Err(error) = vouched {
            context.report.warn(&format!("the packs that were opened could not be noted as proven: {error}"));
        }
    }
    if outcome.asked > 0 {
        let packs = human::things(outcome.asked, "pack", "packs");
        context.report.note(&format!("the service was asked to look at {packs} itself, and notes what is so"));
    }
    if !outcome.replaced.is_empty() {
        let packs = human::things(outcome.replaced.len() as u64, "damaged pack is", "damaged packs are");
        context.report.note(&format!("{packs} not needed any more; prune removes what is left of them"));
    }
    // What is there may be whole and older than it was.
    let (store, state_dir) = (repository.store().as_ref(), repository.state_dir());
    let lost = match wait(view::read_parts(store, &Parts::NOTHING)) {
        Ok(view) => context.older(store, state_dir, &view, CLIENTS)?,
        // That is among the findings.
        Err(_) => Vec::new(),
    };
    for (object, why) in &lost {
        context.report.warn(&format!("{object} is lost: {why}"));
    }
    let ok = outcome.damage.is_empty() && lost.is_empty();
    context.report.answer(&CheckReport {
        ok,
        errors: outcome.damage,
        packs_read: outcome.packs_read,
        bytes_read: outcome.bytes_read,
        seconds: started.elapsed().as_secs_f64(),
    })?;
    if outcome.is_state_lost {
        context.report.note("the index cannot be read: \"copal rebuild-index\" makes it again");
    }
    Ok(if ok { Exit::Done } else { Exit::Damage })
}
