//! `snapshots`: lists snapshots.

use std::collections::BTreeMap;

use copal_client::history::{History, Snapshot};

use super::context::Context;
use crate::args::look::{Narrow, Snapshots};
use crate::args::spec::Which;
use crate::args::values::GroupBy;
use crate::exit::Exit;
use crate::pick::{self, Here};
use crate::report::Failure;
use crate::report::rows::SnapshotRow;
use crate::retain::Group;

pub(super) fn run(context: &Context<'_>, options: &Snapshots) -> Result<Exit, Failure> {
    let repository = context.open()?;
    let view = context.records(&repository)?;
    let history = context.listing(&repository, &view)?;
    let all = match options.forgotten {
        true => pick::forgotten(&history, &options.narrow),
        false => pick::narrowed(&history, &options.narrow),
    };
    let mut chosen = if options.snapshots.is_empty() {
        all
    } else {
        named(&context.here(&repository), &history, &options.snapshots, &options.narrow, &all)?
    };
    if chosen.is_empty() {
        context.note_claimants(&history, &options.narrow);
    }
    if let Some(most) = options.latest {
        chosen = newest_of_each(chosen, options, most.get() as usize);
    }
    if options.group_by.is_some() {
        chosen.sort_by_key(|snapshot| (group(snapshot, options), snapshot.age()));
    }
    let rows: Vec<SnapshotRow> = chosen.iter().copied().map(SnapshotRow::from).collect();
    context.report.list(&rows)?;
    Ok(context.exit_of(&history))
}

/// The snapshots that the operands name, each once, the oldest first.
pub(super) fn named<'a>(
    here: &Here,
    history: &History,
    which: &[Which],
    narrow: &Narrow,
    all: &[&'a Snapshot],
) -> Result<Vec<&'a Snapshot>, Failure> {
    let mut named = Vec::new();
    for which in which {
        named.push(pick::listed(history, all.to_vec(), which, narrow, here)?);
    }
    named.sort_by_key(|snapshot| snapshot.age());
    named.dedup_by_key(|snapshot| snapshot.id);
    Ok(named)
}

fn newest_of_each<'a>(snapshots: Vec<&'a Snapshot>, options: &Snapshots, most: usize) -> Vec<&'a Snapshot> {
    let mut groups: BTreeMap<Group, Vec<&Snapshot>> = BTreeMap::new();
    for snapshot in snapshots {
        groups.entry(group(snapshot, options)).or_default().push(snapshot);
    }
    let newest = groups.into_values().flat_map(|group| group.into_iter().rev().take(most));
    let mut newest: Vec<&Snapshot> = newest.collect();
    newest.sort_by_key(|snapshot| snapshot.age());
    newest
}

/// The group of a snapshot: by host, paths and label unless `--group-by` says otherwise.
fn group(snapshot: &Snapshot, options: &Snapshots) -> Group {
    let usual = GroupBy { host: true, paths: true, tags: false, label: true };
    Group::of(snapshot, options.group_by.unwrap_or(usual))
}
