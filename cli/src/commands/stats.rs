//! `stats`: how much the repository holds and stores.

use core::time::Duration;

use copal_client::clock;
use copal_client::wait::wait;
use copal_format::index::Index;
use copal_format::layout::Prunable;
use copal_jobs::objects;
use copal_jobs::prune::{self, prune};
use copal_jobs::view::View;

use super::context::Context;
use super::snapshots::named;
use crate::args::look;
use crate::exit::Exit;
use crate::pick;
use crate::report::Failure;
use crate::report::summary::Stats;

pub(super) fn run(context: &Context<'_>, options: &look::Stats) -> Result<Exit, Failure> {
    let (repository, view, history) = context.read()?;
    let all = pick::narrowed(&history, &options.narrow);
    let chosen = match options.snapshots.is_empty() {
        true => all,
        false => named(&context.here(&repository), &history, &options.snapshots, &options.narrow, &all)?,
    };
    let counts = || chosen.iter().map(|snapshot| snapshot.info.counts);
    let stored = wait(objects::list(repository.store().as_ref(), ""))?;
    // Without a grace period, so that all dead bytes count, also recent ones.
    let what_if = prune::Options {
        grace: Duration::ZERO,
        is_dry_run: true,
        otherwise: clock::now(),
        ..prune::Options::new([0, 0])
    };
    let dead = wait(prune(&repository.job(), &what_if))?;
    context.report.answer(&Stats {
        snapshots: chosen.len() as u64,
        files: counts().fold(0, |sum, counts| sum.saturating_add(counts.files)),
        logical_bytes: counts().fold(0, |sum, counts| sum.saturating_add(counts.bytes)),
        stored_bytes: stored.iter().map(|object| object.stat.length).sum(),
        unclaimed_bytes: stored
            .iter()
            .filter(|object| is_unclaimed(&view, object.key.as_str()))
            .map(|object| object.stat.length)
            .sum(),
        packs: view.state.packs.len() as u64,
        chunks: view.indexes.values().map(count_chunks).sum(),
        dead_bytes: dead.dead_bytes + dead.trapped_bytes,
        trapped_bytes: dead.trapped_bytes,
    })?;
    Ok(context.exit_of(&history))
}

/// Whether this is a pack that the state does not have: of a backup that runs, waits, was rejected or was killed.
fn is_unclaimed(view: &View, key: &str) -> bool {
    let name = Prunable::parse(key).filter(|name| !view.state.doomed.contains_key(name));
    matches!(name, Some(Prunable::Pack(_, pack)) if !view.state.packs.contains_key(&pack))
}

/// Counts the chunks, each once, however many copies it has. Merges the sorted segments as it reads them.
fn count_chunks<B: AsRef<[u8]>>(index: &Index<B>) -> u64 {
    let segments = index.segments().iter();
    let chunks = segments.map(|segment| segment.entries().filter(|entry| !entry.location.is_page));
    let mut segments: Vec<_> = chunks.map(|chunks| chunks.map(|entry| entry.id).peekable()).collect();
    let mut count = 0;
    while let Some(least) = segments.iter_mut().filter_map(|ids| ids.peek().copied()).min() {
        count += 1;
        for ids in &mut segments {
            while ids.next_if_eq(&least).is_some() {}
        }
    }
    count
}
