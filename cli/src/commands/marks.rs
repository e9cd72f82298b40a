//! `tag`, `pin`, `unpin`, `undelete`: signed changes of snapshots.

use copal_client::changes::Written;
use copal_client::history::{History, Snapshot};
use copal_client::repository::Repository;
use copal_engine::changing::{self, Mark, Tagged};
use copal_format::id::SnapshotId;
use copal_format::state::SnapshotState;

use super::context::Context;
use crate::args::forget::{Chosen, Tag};
use crate::args::look::Choice;
use crate::exit::Exit;
use crate::pick::{self, Here, Intent, pick};
use crate::report::Failure;
use crate::report::upkeep::ChangeSummary;

pub(super) fn run(context: &Context<'_>, options: &Chosen, mark: Mark) -> Result<Exit, Failure> {
    let repository = context.open()?;
    let history = read(context, &repository)?;
    let here = context.here(&repository);
    let chosen = match mark {
        Mark::Undelete => forgotten(context, &here, &history, &options.choice)?,
        Mark::Forget | Mark::Pin | Mark::Unpin => kept(context, &here, &history, &options.choice)?,
    };
    let needing = chosen.iter().filter(|snapshot| mark.changes(&snapshot.record));
    let ids: Vec<SnapshotId> = needing.map(|snapshot| snapshot.id).collect();
    let operations = if ids.is_empty() { Vec::new() } else { vec![mark.operation(ids)] };
    let written = context.change(&repository, operations)?;
    if mark == Mark::Undelete {
        written.as_ref().map_or(Ok(()), |written| all_back(&chosen, written))?;
    }
    answer(context, &chosen, written)?;
    Ok(context.exit_of(&history))
}

pub(super) fn tag(context: &Context<'_>, options: &Tag) -> Result<Exit, Failure> {
    let repository = context.open()?;
    let history = read(context, &repository)?;
    let chosen = kept(context, &context.here(&repository), &history, &options.choice)?;
    let tagged = chosen.iter().map(|of| Tagged { id: of.id, domain: of.domain, tags: &of.tags });
    let operations = changing::tag(&repository.owner, tagged, &options.add, &options.remove);
    let written = context.change(&repository, operations.map_err(|error| Failure::Usage(error.to_string()))?)?;
    answer(context, &chosen, written)?;
    Ok(context.exit_of(&history))
}

fn read(context: &Context<'_>, repository: &Repository) -> Result<History, Failure> {
    context.ingest(repository)?;
    let view = context.view(repository)?;
    context.history(repository, &view)
}

fn kept<'a>(
    context: &Context<'_>,
    here: &Here,
    history: &'a History,
    choice: &Choice,
) -> Result<Vec<&'a Snapshot>, Failure> {
    let find = |which| context.snapshot(here, history, which, &choice.narrow, Intent::Change);
    distinct(choice.snapshots.iter().map(find))
}

/// The snapshots to undelete. One that was not forgotten is accepted too, and needs no change.
fn forgotten<'a>(
    context: &Context<'_>,
    here: &Here,
    history: &'a History,
    choice: &Choice,
) -> Result<Vec<&'a Snapshot>, Failure> {
    let find = |which| {
        let found = pick(pick::forgotten(history, &choice.narrow), which, &choice.narrow, here, Intent::Change);
        match found {
            Err(Failure::NoSnapshot { .. }) => context.snapshot(here, history, which, &choice.narrow, Intent::Change),
            found => found.map(|found| found[0]),
        }
    };
    distinct(choice.snapshots.iter().map(find))
}

pub(super) fn distinct<'a>(
    found: impl Iterator<Item = Result<&'a Snapshot, Failure>>,
) -> Result<Vec<&'a Snapshot>, Failure> {
    let mut chosen: Vec<&Snapshot> = Vec::new();
    for snapshot in found {
        let snapshot = snapshot?;
        if chosen.iter().all(|other| other.id != snapshot.id) {
            chosen.push(snapshot);
        }
    }
    Ok(chosen)
}

/// Fails if a snapshot did not come back because prune had freed it.
fn all_back(chosen: &[&Snapshot], written: &Written) -> Result<(), Failure> {
    let is_kept = |key| {
        let record = written.view.state.snapshots.get(key);
        record.is_some_and(|record| record.state == SnapshotState::Kept)
    };
    match chosen.iter().find(|snapshot| !is_kept(&snapshot.key)) {
        Some(gone) => Err(Failure::Freed { snapshot: gone.id }),
        None => Ok(()),
    }
}

fn answer(context: &Context<'_>, chosen: &[&Snapshot], written: Option<Written>) -> Result<(), Failure> {
    context.report.confirm(&ChangeSummary {
        change: written.map(|written| written.number),
        snapshots: chosen.iter().map(|snapshot| snapshot.id).collect(),
    })
}
