//! `check`: verifies the repository.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use copal_client::backend::Backend;
use copal_client::progress::Progress;
use copal_client::remote::OrderError;
use copal_client::repository::Repository;
use copal_client::verify::ReadData;
use copal_client::verify::{self, Outcome, verify};
use copal_client::wait::wait;
use copal_format::id::SnapshotId;
use copal_format::layout;
use copal_gateway::orders::JobOrder;
use copal_jobs::view::{self, Parts};

use super::context::{CLIENTS, Context};
use super::copy;
use crate::args::check::Check;
use crate::exit::Exit;
use crate::pick::{self, Intent};
use crate::report::summary::CheckReport;
use crate::report::{Failure, human};

pub(super) fn run(context: &Context<'_>, options: &Check) -> Result<Exit, Failure> {
    let started = Instant::now();
    if options.chooses() && options.read_data_share.is_some() {
        return Err(Failure::Usage(
            "--read-data-share is a part of all packs: choose snapshots, or a share; --read-data reads all packs of the snapshots"
                .into(),
        ));
    }
    // The other machine has no key: it can neither open data (`--full`) nor find the data of chosen snapshots.
    if !options.full
        && !options.chooses()
        && let Some(backend) = context.taking_orders()?
    {
        match there(context, &backend, options, started) {
            Err(Failure::Order(why @ (OrderError::Closed | OrderError::Old))) => {
                context.report.note(&format!("{why}: this machine reads everything itself"));
            }
            done => return done,
        }
    }
    let repository = context.renewing_locks().open_bare()?;
    let chosen = match options.chooses() {
        true => Some(chosen(context, &repository, options)?),
        false => None,
    };
    let checked = chosen.as_ref().map(|chosen| chosen.len() as u64);
    let how = verify::Options {
        chosen,
        read: options.read_data(),
        is_full: options.full,
        threads: std::thread::available_parallelism().map_or(2, usize::from),
    };
    let progress = Arc::new(Progress::default());
    let watch = context.report.watch("check", progress.clone());
    let outcome = verify(&repository, &how, &progress);
    drop(watch);
    let mut outcome = outcome?;
    // Neither a replica nor an export takes notes.
    let is_frozen = repository.backend().is_frozen();
    if let Some(error) = outcome.unnoted.as_ref().filter(|_| !is_frozen) {
        context.report.warn(&format!("what was found could not be noted in the repository: {error}"));
    }
    if !outcome.unproven.is_empty() && !is_frozen {
        let vouched = context.client(&repository).and_then(|client| {
            verify::vouch(&repository, &client, std::mem::take(&mut outcome.unproven)).map_err(Failure::from)
        });
        if let Err(error) = vouched {
            context.report.warn(&format!("the packs that were opened could not be noted as proven: {error}"));
        }
    }
    if outcome.asked > 0 {
        let packs = human::things(outcome.asked, "pack", "packs");
        context.report.note(&format!("the service was asked to look at {packs} itself; it records what it finds"));
    }
    if !outcome.replaced.is_empty() {
        let packs = human::things(outcome.replaced.len() as u64, "damaged pack is", "damaged packs are");
        context.report.note(&format!("{packs} no longer needed; \"copal prune\" deletes what is left"));
    }
    let is_state_lost = outcome.is_state_lost;
    // The newest state in the store may be sound, but older than one that this machine has seen. If it cannot be read,
    // the check above has reported that.
    let lost = match wait(view::read_parts(repository.store().as_ref(), &Parts::NOTHING)) {
        Ok(view) => context.older(repository.store().as_ref(), repository.state_dir(), &view, CLIENTS)?,
        Err(_) => Vec::new(),
    };
    let exit = answer(context, outcome, &lost, checked, started)?;
    if is_state_lost {
        context.report.note("the index cannot be read: \"copal rebuild-index\" makes it again");
    }
    Ok(exit)
}

/// Lets the other machine of an `ssh://` repository check without a key; reports the result.
fn there(context: &Context<'_>, backend: &Backend, options: &Check, started: Instant) -> Result<Exit, Failure> {
    let parts = match options.read_data() {
        ReadData::None => None,
        ReadData::Share { parts } => Some(parts),
        ReadData::All => Some(1),
    };
    let outcome = Outcome::of_service(context.order(backend, &JobOrder::Check { parts })?);
    if !outcome.damage.is_empty() {
        context.report.note("\"copal check --full\" also says which files are hit");
    }
    answer(context, outcome, &context.older_there(backend)?, None, started)
}

/// The snapshots that the options choose. A choice that fits none is an error: nothing would be checked.
fn chosen(context: &Context<'_>, repository: &Repository, options: &Check) -> Result<BTreeSet<SnapshotId>, Failure> {
    let view = context.view(repository)?;
    let history = context.history(repository, &view)?;
    let found = copy::chosen(context, repository, &history, &options.snapshots, &options.narrow, Intent::Read)?;
    if found.is_empty() {
        return Err(pick::or_damage(&history, Failure::NoSnapshot { wanted: "these options".into() }));
    }
    Ok(found.into_iter().map(|snapshot| snapshot.id).collect())
}

/// Reports damage, and the parts of the state that this machine has met and that are lost.
fn answer(
    context: &Context<'_>,
    outcome: Outcome,
    lost: &[(String, String)],
    snapshots_checked: Option<u64>,
    started: Instant,
) -> Result<Exit, Failure> {
    for (object, why) in lost {
        context.report.warn(&format!("{object} is lost: {why}"));
    }
    if !outcome.accepted.is_empty() {
        let records = human::things(outcome.accepted.len() as u64, "lost record does", "lost records do");
        context.report.note(&format!("{records} not count, because the owner has accepted the loss"));
    }
    let ok = outcome.damage.is_empty() && lost.is_empty();
    context.report.answer(&CheckReport {
        ok,
        errors: outcome.damage.into_iter().map(Into::into).collect(),
        snapshots_checked,
        packs_read: outcome.packs_read,
        bytes_read: outcome.bytes_read,
        seconds: started.elapsed().as_secs_f64(),
    })?;
    if let Some((object, _)) = lost.first() {
        context.report.note(Failure::remedy_of_older(layout::root_number(object).is_some()));
    }
    Ok(if ok { Exit::Done } else { Exit::Damage })
}
