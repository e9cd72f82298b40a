//! `tag`, `pin`, `unpin`, `undelete`: signed changes of snapshots.

use std::collections::BTreeMap;

use copal_client::changes::{self, Written};
use copal_client::history::{History, Snapshot};
use copal_client::repository::Repository;
use copal_format::change::Operation;
use copal_format::id::{DomainId, SnapshotId, TagId};
use copal_format::keys::owner::TextPurpose;
use copal_format::limits::{SNAPSHOT_TAGS, TEXT_BYTES};
use copal_format::state::SnapshotState;

use super::context::Context;
use crate::args::forget::{Chosen, Tag};
use crate::args::look::Choice;
use crate::exit::Exit;
use crate::pick::{self, Here, Intent, pick};
use crate::report::Failure;
use crate::report::upkeep::ChangeSummary;

/// What to do with the chosen snapshots.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Pin,
    Unpin,
    Undelete,
}

pub(super) fn run(context: &Context<'_>, options: &Chosen, act: Act) -> Result<Exit, Failure> {
    let repository = context.open()?;
    let history = read(context, &repository)?;
    let here = context.here(&repository);
    let chosen = match act {
        Act::Undelete => forgotten(&here, &history, &options.choice)?,
        Act::Pin | Act::Unpin => kept(&here, &history, &options.choice)?,
    };
    let needs_change = |snapshot: &&&Snapshot| match act {
        Act::Pin => !snapshot.record.pinned,
        Act::Unpin => snapshot.record.pinned,
        Act::Undelete => snapshot.record.state != SnapshotState::Kept,
    };
    let ids: Vec<SnapshotId> = chosen.iter().filter(needs_change).map(|snapshot| snapshot.id).collect();
    let operations = match (ids.is_empty(), act) {
        (true, _) => Vec::new(),
        (false, Act::Pin) => vec![Operation::Pin(ids)],
        (false, Act::Unpin) => vec![Operation::Unpin(ids)],
        (false, Act::Undelete) => vec![Operation::Undelete(ids)],
    };
    let written = write(context, &repository, operations)?;
    if act == Act::Undelete {
        written.as_ref().map_or(Ok(()), |written| all_back(&chosen, written))?;
    }
    answer(context, &chosen, written)?;
    Ok(context.exit_of(&history))
}

pub(super) fn tag(context: &Context<'_>, options: &Tag) -> Result<Exit, Failure> {
    if let Some(tag) = options.add.iter().find(|tag| tag.len() > TEXT_BYTES) {
        return Err(Failure::Usage(format!("a tag of {} bytes is too long", tag.len())));
    }
    if let Some(tag) = options.add.iter().find(|tag| options.remove.contains(tag)) {
        return Err(Failure::Usage(format!("tag \"{tag}\" is both added and removed")));
    }
    let repository = context.open()?;
    let history = read(context, &repository)?;
    let chosen = kept(&context.here(&repository), &history, &options.choice)?;
    let mut domains: BTreeMap<DomainId, Vec<SnapshotId>> = BTreeMap::new();
    for snapshot in &chosen {
        let adds: Vec<&String> = options.add.iter().filter(|tag| !snapshot.tags.contains(tag)).collect();
        if snapshot.tags.len() + adds.len() > SNAPSHOT_TAGS {
            return Err(Failure::Usage(format!("a snapshot has at most {SNAPSHOT_TAGS} tags")));
        }
        if !adds.is_empty() || options.remove.iter().any(|tag| snapshot.tags.contains(tag)) {
            domains.entry(snapshot.domain).or_default().push(snapshot.id);
        }
    }
    let operations = domains.into_iter().map(|(domain, snapshots)| {
        let (add, remove) = tags(&repository, domain, options);
        Operation::Tag { snapshots, add, remove }
    });
    let written = write(context, &repository, operations.collect())?;
    answer(context, &chosen, written)?;
    Ok(context.exit_of(&history))
}

type Tags = (Vec<(TagId, Vec<u8>)>, Vec<TagId>);

/// The ids of the tags in a domain; added tags come with their sealed names.
fn tags(repository: &Repository, domain: DomainId, options: &Tag) -> Tags {
    let keys = repository.domain_keys(domain);
    let add = options.add.iter().map(|name| {
        let id = keys.tag_id(name);
        (id, repository.owner.seal_text(TextPurpose::TagName, &id.0, name))
    });
    (add.collect(), options.remove.iter().map(|name| keys.tag_id(name)).collect())
}

fn read(context: &Context<'_>, repository: &Repository) -> Result<History, Failure> {
    context.ingest(repository)?;
    let view = context.view(repository)?;
    context.history(repository, &view)
}

fn kept<'a>(here: &Here, history: &'a History, choice: &Choice) -> Result<Vec<&'a Snapshot>, Failure> {
    let find = |which| pick::find(history, which, &choice.narrow, here, Intent::Change);
    distinct(choice.snapshots.iter().map(find))
}

/// The snapshots to undelete. One that was not forgotten is accepted too, and needs no change.
fn forgotten<'a>(here: &Here, history: &'a History, choice: &Choice) -> Result<Vec<&'a Snapshot>, Failure> {
    let find = |which| {
        let found = pick(pick::forgotten(history, &choice.narrow), which, &choice.narrow, here, Intent::Change);
        match found {
            Err(Failure::NoSnapshot { .. }) => pick::find(history, which, &choice.narrow, here, Intent::Change),
            found => found,
        }
    };
    distinct(choice.snapshots.iter().map(find))
}

fn distinct<'a>(found: impl Iterator<Item = Result<&'a Snapshot, Failure>>) -> Result<Vec<&'a Snapshot>, Failure> {
    let mut chosen: Vec<&Snapshot> = Vec::new();
    for snapshot in found {
        let snapshot = snapshot?;
        if chosen.iter().all(|other| other.id != snapshot.id) {
            chosen.push(snapshot);
        }
    }
    Ok(chosen)
}

fn write(
    context: &Context<'_>,
    repository: &Repository,
    operations: Vec<Operation>,
) -> Result<Option<Written>, Failure> {
    if operations.is_empty() {
        return Ok(None);
    }
    let client = context.client(repository)?;
    changes::write(repository, &client, operations).map_err(Failure::from)
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
    context.report.answer(&ChangeSummary {
        change: written.map(|written| written.number),
        snapshots: chosen.iter().map(|snapshot| snapshot.id).collect(),
    })
}
