//! `prune`: frees what no snapshot needs any more.

use std::time::{Duration, Instant};

use copal_service::prune::{self as job, GRACE, prune};

use super::context::Context;
use super::failure::{of_client, of_job};
use crate::args;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::field::Stamp;
use crate::report::human;
use crate::report::upkeep::PruneReport;
use crate::repository::{ClientError, Repository};
use crate::wait::wait;

/// How a prune goes about it.
pub(super) struct Options {
    pub(super) grace: Duration,
    pub(super) is_dry_run: bool,
    pub(super) repack_most: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { grace: GRACE, is_dry_run: false, repack_most: None }
    }
}

pub(super) fn run(context: &Context<'_>, options: &args::forget::Prune) -> Result<Exit, Failure> {
    let repository = context.open()?;
    context.ingest(&repository)?;
    let repack_most = options.max_repack.map(|size| size.0);
    act(context, &repository, Options { grace: options.grace.0, is_dry_run: options.dry_run, repack_most })
}

/// Prunes and reports.
pub(super) fn act(context: &Context<'_>, repository: &Repository, options: Options) -> Result<Exit, Failure> {
    let started = Instant::now();
    if options.grace.is_zero() && !options.is_dry_run {
        context.report.warn("without a grace period a backup that runs at the same time, anywhere, may lose data");
    }
    let done = wait(prune(&repository.host(), &service_options(repository, &options)?)).map_err(of_job)?;
    if done.unread > 0 {
        let pages = human::things(done.unread, "page is", "pages are");
        context.report.warn(&format!("{pages} unreadable: what lies below cannot be told from garbage and stays"));
    }
    context.report.answer(&PruneReport {
        entries_flagged: done.entries_flagged,
        entries_removed: done.entries_removed,
        packs_deleted: done.packs_dead + done.packs_rewritten,
        packs_rewritten: done.packs_rewritten,
        bytes_freed: if options.is_dry_run { done.bytes_planned } else { done.bytes_deleted },
        bytes_rewritten: done.bytes_copied,
        bytes_pending: done.bytes_pending,
        pending_until: done.pending_from.filter(|_| done.bytes_pending > 0).map(Stamp),
        bytes_dead: done.dead_for_good,
        bytes_trapped: done.trapped_for_good,
        chunks_wanted: done.entries_wanted,
        seconds: started.elapsed().as_secs_f64(),
        dry_run: options.is_dry_run,
    })?;
    Ok(if done.lost > 0 || done.unread > 0 { Exit::Damage } else { Exit::Done })
}

/// The options as the service takes them; packs get the sizes that the descriptor says.
pub(super) fn service_options(repository: &Repository, options: &Options) -> Result<job::Options, Failure> {
    let descriptor = repository.descriptor.as_ref().ok_or_else(|| of_client(ClientError::NoDescriptor))?;
    let parameters = &descriptor.parameters;
    Ok(job::Options {
        grace: options.grace,
        repack_most: options.repack_most.unwrap_or(u64::MAX),
        is_dry_run: options.is_dry_run,
        ..job::Options::new([parameters.pack_target.into(), parameters.tree_pack_target.into()])
    })
}
