//! `prune`: frees what no snapshot needs any more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use copal_client::backend::Backend;
use copal_client::backup::{BackupError, repack};
use copal_client::clock;
use copal_client::entropy::SystemEntropy;
use copal_client::location::Location;
use copal_client::remote::OrderError;
use copal_client::repository::Repository;
use copal_client::wait::wait;
use copal_gateway::orders::JobOrder;
use copal_jobs::context::Entropy;
use copal_jobs::error::JobError;
use copal_jobs::prune::{self as job, prune};
use copal_store::{StoreError, reserve};

use super::context::Context;
use super::signals::watch_signals;
use crate::args::forget::Prune;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::field::Stamp;
use crate::report::human;
use crate::report::upkeep::PruneReport;

pub(super) fn run(context: &Context<'_>, options: &Prune) -> Result<Exit, Failure> {
    watch_signals(context.report, || None)?;
    // Only the owner may shorten the grace period there, and a user who gives a secret wants to act as the owner.
    let is_owners = !options.keyless && (options.grace.is_some() || context.secrets().is_given());
    if !is_owners && let Some(backend) = context.taking_orders()? {
        if !options.dry_run
            && let Some((object, why)) = context.older_there(&backend)?.into_iter().next()
        {
            return Err(Failure::Older { object, why });
        }
        return there(context, &backend, options);
    }
    let mut repository = context.open()?;
    repository.give_reserve();
    context.ingest_first(&repository, options.dry_run)?;
    act(context, &repository, options)
}

/// Lets the other machine of an `ssh://` repository prune; reports the result.
fn there(context: &Context<'_>, backend: &Backend, options: &Prune) -> Result<Exit, Failure> {
    let started = Instant::now();
    let grace = options.grace.map(|grace| grace.0);
    warn_of_grace(context, grace, options.dry_run);
    let repack_most = options.max_repack.map(|size| size.0);
    let order = JobOrder::Prune { grace: grace.map(|grace| grace.as_secs()), repack_most, dry_run: options.dry_run };
    report(
        context,
        &context.order(backend, &order)?,
        &Anew::default(),
        None,
        (options.dry_run, is_graceless(grace), started),
    )
}

fn is_graceless(grace: Option<Duration>) -> bool {
    grace.is_some_and(|grace| grace.is_zero())
}

fn warn_of_grace(context: &Context<'_>, grace: Option<Duration>, is_dry_run: bool) {
    if is_graceless(grace) && !is_dry_run {
        context.report.warn("without a grace period a backup that runs at the same time, anywhere, may lose data");
    }
}

pub(super) fn act(context: &Context<'_>, repository: &Repository, options: &Prune) -> Result<Exit, Failure> {
    let started = Instant::now();
    let interrupted = watch_signals(context.report, || None)?;
    let is_ssh = matches!(repository.backend().location(), Location::Ssh(_));
    if repository.backend().is_behind_gateway() && !is_ssh && !options.dry_run {
        return Err(Failure::NoJobThere("prune"));
    }
    if is_ssh {
        match there(context, repository.backend(), options) {
            // If the other machine cannot, do the dry run here with the key: it changes nothing.
            Err(Failure::Order(OrderError::Closed | OrderError::Old)) if options.dry_run => {}
            done => {
                if done.is_ok() && !options.dry_run {
                    context.note_met(repository);
                }
                return done;
            }
        }
    }
    let mut how = service_options(repository, options)?;
    warn_of_grace(context, Some(how.grace), options.dry_run);
    if !options.keyless && !options.dry_run && repository.descriptor.is_some() {
        context.prove(repository, u64::MAX)?;
    }
    let before = packed(context, repository)?;
    let anew = if options.keyless { Anew::default() } else { write_anew(context, repository, &mut how, &interrupted)? };
    if interrupted.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted);
    }
    // The job asks nobody. The watch ends the process soon after a signal, and the next prune continues.
    let done = wait(prune(&repository.job(), &how))?;
    if !options.dry_run {
        context.note_met(repository);
        wait(reserve::keep(repository.store(), |bytes| SystemEntropy.fill(bytes)))?;
    }
    let sizes = if options.dry_run { None } else { Some([before, packed(context, repository)?]) };
    report(context, &done, &anew, sizes, (options.dry_run, is_graceless(Some(how.grace)), started))
}

fn packed(context: &Context<'_>, repository: &Repository) -> Result<u64, Failure> {
    Ok(context.records(repository)?.state.packs.values().map(|pack| pack.length).sum())
}

fn report(
    context: &Context<'_>,
    done: &job::Report,
    anew: &Anew,
    sizes: Option<[u64; 2]>,
    (is_dry_run, is_graceless, started): (bool, bool, Instant),
) -> Result<Exit, Failure> {
    if done.is_full {
        let left = human::size(done.bytes_postponed);
        context.report.warn(&format!("there was no room to write anew {left} that lie in packs with much dead data"));
    }
    if done.unread > 0 {
        let pages = human::things(done.unread, "page is", "pages are");
        context.report.warn(&format!(
            "{pages} unreadable: what lies below cannot be told from garbage and stays; \"copal check\" says which"
        ));
    }
    context.report.answer(&PruneReport {
        entries_flagged: done.entries_flagged,
        entries_removed: done.entries_removed,
        packs_deleted: done.packs_dead + done.packs_rewritten,
        packs_rewritten: done.packs_rewritten,
        bytes_freed: if is_dry_run { done.bytes_planned + anew.freed } else { done.bytes_deleted },
        bytes_rewritten: done.bytes_copied + anew.bytes,
        bytes_before: sizes.map(|[before, _]| before),
        bytes_after: sizes.map(|[_, after]| after),
        bytes_pending: done.bytes_pending,
        pending_until: done.pending_from.filter(|_| done.bytes_pending > 0).map(Stamp),
        bytes_dead: done.dead_for_good,
        bytes_trapped: done.trapped_for_good,
        chunks_wanted: done.entries_wanted,
        snapshots_stay: done.protected,
        chunks_repeated: done.unproven_copies,
        seconds: started.elapsed().as_secs_f64(),
        dry_run: is_dry_run,
        is_graceless,
    })?;
    Ok(if done.lost > 0 || done.unread > 0 { Exit::Damage } else { Exit::Done })
}

#[derive(Default)]
struct Anew {
    bytes: u64,
    /// Bytes that a dry run expects to free.
    freed: u64,
}

/// Repacks the live part of sparse blocks within the repack limit, and subtracts what it used from that limit. The old
/// blocks are removed by the following prune, or, with a grace period, by a later one.
fn write_anew(
    context: &Context<'_>,
    repository: &Repository,
    how: &mut job::Options,
    interrupted: &AtomicBool,
) -> Result<Anew, Failure> {
    let Some(descriptor) = &repository.descriptor else { return Ok(Anew::default()) };
    let domain = descriptor.shared_domain;
    let sparse = wait(job::sparse(&repository.job(), how, domain, TRAPPED_MOST, how.repack_most))?;
    if sparse.dead_bytes < WORTH_IT {
        return Ok(Anew::default());
    }
    if how.is_dry_run {
        return Ok(Anew { bytes: sparse.live_bytes, freed: sparse.dead_bytes });
    }
    let client = context.client(repository)?;
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    match repack(repository, &client, &sparse, threads, interrupted) {
        Ok(done) => {
            if done.unreadable > 0 {
                let blocks = human::things(done.unreadable, "chunk", "chunks");
                context
                    .report
                    .warn(&format!("{blocks} could not be read and stay as they are; \"copal check\" says more"));
            }
            how.repack_most = how.repack_most.saturating_sub(done.bytes);
            Ok(Anew { bytes: done.bytes, freed: 0 })
        }
        // A full disk: nothing can be rewritten before space is freed.
        Err(
            BackupError::Store(full @ StoreError::Full { .. })
            | BackupError::Job(JobError::Store(full @ StoreError::Full { .. })),
        ) => {
            context.report.warn(&format!("{full}: blocks with much dead data stay as they are"));
            Ok(Anew::default())
        }
        Err(error) => Err(Failure::from(error)),
    }
}

/// Converts the options to those of the service. Pack sizes come from the descriptor.
pub(super) fn service_options(repository: &Repository, options: &Prune) -> Result<job::Options, Failure> {
    let descriptor = repository.descriptor.as_ref().ok_or_else(Failure::no_descriptor)?;
    let parameters = &descriptor.parameters;
    let plain = job::Options::new([parameters.pack_target.into(), parameters.tree_pack_target.into()]);
    let grace = match options.grace {
        Some(grace) => grace.0,
        None => wait(job::grace(&repository.job()))?,
    };
    Ok(job::Options {
        otherwise: clock::now(),
        grace,
        repack_most: options.max_repack.map_or(u64::MAX, |size| size.0),
        is_dry_run: options.dry_run,
        dead_most: if options.keyless { plain.dead_most } else { DEAD_MOST },
        ..plain
    })
}

/// Percentage of dead bytes that may stay as whole blocks beside live ones. A keyless prune tolerates more.
const DEAD_MOST: u32 = 1;
/// The same percentage for dead bytes trapped in partly live blocks.
const TRAPPED_MOST: u32 = 1;
/// Rewriting starts only if it frees at least this many bytes.
const WORTH_IT: u64 = 128 << 10;
