//! `rewrite`: replaces snapshots by new ones without some paths.

use std::time::Instant;

use copal_client::changes;
use copal_client::copy::{Copier, LeftOut};
use copal_client::history::Snapshot;
use copal_client::reader::{ReadError, TreeError};
use copal_client::repository::{LocalClient, Repository};
use copal_format::change::Operation;
use copal_format::id::SnapshotId;

use super::context::{CLIENTS, Context};
use super::copy::{Makings, chosen, how};
use super::sources::patterns;
use crate::args::copy::Rewrite;
use crate::exit::Exit;
use crate::pick::Intent;
use crate::report::Failure;
use crate::report::copy::{CopiedRow, RewriteSummary, RewrittenRow};

pub(super) fn run(context: &Context<'_>, options: &Rewrite) -> Result<Exit, Failure> {
    let started = Instant::now();
    let left_out = left_out(options)?;
    let repository = context.open()?;
    let (is_dry_run, wait) = (options.making.dry_run, options.making.wait.0);
    let (making, client, view, history) = Makings::begin(context, (context, &repository), is_dry_run, wait)?;
    let chosen = chosen(context, &repository, &history, &options.snapshots, &options.narrow, Intent::Change)?;
    let mut copier =
        Copier::new((&repository, &view, &history), (&repository, &client, &history), how(&options.making));
    let mut summary = RewriteSummary { dry_run: is_dry_run, ..RewriteSummary::default() };
    let mut exit = context.exit_of(&history);
    for snapshot in chosen {
        let count = match copier.entries_left_out(snapshot, &left_out.filter) {
            Err(error @ TreeError::Read(ReadError::Store(_))) => return Err(error.into()),
            Err(error) => {
                let id = snapshot.id.short();
                context.report.warn(&format!("snapshot {id} stays as it is, since not all of it can be read: {error}"));
                exit = Exit::Damage;
                continue;
            }
            Ok(count) => count,
        };
        if count == 0 {
            summary.unchanged += 1;
            continue;
        }
        if is_pinned(context, snapshot) {
            continue;
        }
        let rewrite = |progress: &_| copier.rewrite(snapshot, &left_out, progress, &making.interrupted);
        let made = making.make("rewrite", snapshot.info.counts, rewrite)?;
        let row = CopiedRow::of(snapshot, made.as_ref());
        let mut row = RewrittenRow { row, left_out: count, forgotten: false };
        if let Some(made) = made {
            row.row.snapshot_id = made.snapshot.or(made.parent);
            match made.errors() {
                0 => row.forgotten = forget(&repository, &client, snapshot.id)?,
                _ => exit = Exit::Damage,
            }
        }
        summary.rewritten.push(row);
    }
    if !is_dry_run {
        context.remember(repository.store().as_ref(), repository.state_dir(), CLIENTS)?;
    }
    summary.seconds = started.elapsed().as_secs_f64();
    context.report.answer(&summary)?;
    Ok(exit)
}

fn left_out(options: &Rewrite) -> Result<LeftOut, Failure> {
    let builder = patterns(&options.patterns)?;
    let patterns = builder.added().to_vec();
    Ok(LeftOut { filter: builder.finish()?, patterns })
}

fn is_pinned(context: &Context<'_>, snapshot: &Snapshot) -> bool {
    let id = snapshot.id.short();
    if snapshot.record.pinned {
        context.report.warn(&format!("snapshot {id} is pinned and stays; \"copal unpin {id}\" allows to rewrite it"));
    }
    snapshot.record.pinned
}

/// Forgets a snapshot after its rewritten form was accepted; false if it was pinned meanwhile.
fn forget(repository: &Repository, client: &LocalClient, old: SnapshotId) -> Result<bool, Failure> {
    let written = changes::write(repository, client, vec![Operation::Forget(vec![old])])?;
    let is_kept = |view: &copal_jobs::view::View| {
        let mut records = view.state.snapshots.values();
        records.any(|record| record.id == old && record.state == copal_format::state::SnapshotState::Kept)
    };
    Ok(written.is_none_or(|written| !is_kept(&written.view)))
}
