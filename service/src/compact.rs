//! Compact: merges index segments by size, so that few have to be searched for any one id. Ingest folds small segments
//! by itself; what outgrew that is merged here.

mod merge;

use std::collections::BTreeSet;

use copal_engine::id::{ChunkId, DomainId};
use copal_engine::index::Sequence;
use copal_engine::limits::SEGMENT_ENTRIES;
use copal_engine::state::RunKind;
use copal_store::Store;

use self::merge::{Merged, Part};
use crate::budget::Budget;
use crate::commit::commit;
use crate::error::JobError;
use crate::faults::windows;
use crate::host::Host;
use crate::view::{self, Parts, View};

/// What was merged.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Segments there were.
    pub segments_before: u64,
    /// Segments there are now.
    pub segments_after: u64,
    /// The number of the newest root.
    pub root: u64,
    /// Whether the budget was over before everything was looked at. What was merged until then counts.
    pub is_unfinished: bool,
}

/// Merges the segments of every domain as far as that is worth it, each domain in one root. Without anything to merge no
/// root is written.
pub async fn compact(host: &Host<'_>) -> Result<Report, JobError> {
    compact_until(host, &Budget::unlimited()).await
}

/// The same, one domain after another, each in a root of its own, until the budget is over. What is merged needs nothing
/// more, so the next run goes on by itself.
pub async fn compact_until(host: &Host<'_>, budget: &Budget) -> Result<Report, JobError> {
    compact_within(host, &Limits::of(host.store), budget).await
}

async fn compact_within(host: &Host<'_>, limits: &Limits, budget: &Budget) -> Result<Report, JobError> {
    let view = view::read_parts(host.store, &NAMES).await?;
    view::refuse_rootless(host, &view).await?;
    let segments = view.state.segments.len() as u64;
    let mut report =
        Report { segments_before: segments, segments_after: segments, root: view.number(), is_unfinished: false };
    // What is not worth it takes no time: else who has little would never get beyond it.
    for domain in view.domains().into_iter().filter(|domain| !chosen(&view, *domain, limits).is_empty()) {
        if budget.is_over() {
            report.is_unfinished = true;
            return Ok(report);
        }
        let done = compact_domain(host, domain, limits).await?;
        report.segments_after = done.segments_after;
        report.root = done.root;
    }
    Ok(report)
}

/// How many segments there may be, and how large.
struct Limits {
    /// Segments that may cover one id.
    cover: usize,
    /// Entries that are merged at once, and so about those of one segment that is written.
    entries: u64,
    /// Segments that follow each other and have so many entries together are copied again only if they must.
    grown: u64,
}

impl Limits {
    /// What fits into memory, and surely into the largest object that the store takes.
    fn of(store: &dyn Store) -> Self {
        let entries = store.largest().map_or(ENTRIES, |bytes| ENTRIES.min(bytes / ENTRY_BYTES));
        Self { cover: windows().cover, entries, grown: GROWN }
    }
}

async fn compact_domain(host: &Host<'_>, domain: DomainId, limits: &Limits) -> Result<Report, JobError> {
    let mut made: Option<Merged> = None;
    for _ in 0..ATTEMPTS {
        let view = view::read_parts(host.store, &NAMES).await?;
        let (before, root) = (view.state.segments.len() as u64, view.number());
        let report =
            |root, after| Report { segments_before: before, segments_after: after, root, is_unfinished: false };
        let merged = match made.take() {
            Some(merged) if merged.still_counts(host, &view, domain).await? => merged,
            _ => {
                let chosen = chosen(&view, domain, limits);
                if chosen.is_empty() {
                    return Ok(report(root, before));
                }
                match merge::merge(host, domain, chosen, limits.entries).await? {
                    Some(merged) => merged,
                    // Another writer has superseded one, or it is lost; whoever reads the state again learns which.
                    None => continue,
                }
            }
        };
        if let Some((root, _)) = commit(host, &view, merged.proposal(domain, &view, host.now().await?)).await? {
            return Ok(report(root.number, before - merged.parts.len() as u64 + merged.made.len() as u64));
        }
        // Whoever was faster may have merged or removed the same segments: what was merged is looked at again.
        made = Some(merged);
    }
    Err(JobError::Contended { attempts: ATTEMPTS })
}

/// Segments of one domain of which no two cover the same id, in their order.
struct Chain {
    entries: u64,
    last: ChunkId,
    /// Whether its last segment is full, about.
    is_full: bool,
    parts: Vec<Part>,
}

/// The segments of a domain as chains, the smallest first. Full ones are followed; those that are not are better merged.
fn chains(view: &View, domain: DomainId, limits: &Limits) -> Vec<Chain> {
    let of_domain = view.state.segments.iter().filter(|((of, _), _)| *of == domain);
    let mut parts: Vec<Part> = of_domain.map(|((_, hash), record)| (*hash, record.clone())).collect();
    parts.sort_by_key(|(hash, record)| (record.first, record.last, *hash));
    let mut chains: Vec<Chain> = Vec::new();
    for part in parts {
        let (entries, first, last) = (part.1.entries, part.1.first, part.1.last);
        // That one goes on which ends nearest before it: most likely both were written by one merge.
        let is_full = entries >= limits.entries / 2;
        match chains.iter_mut().filter(|chain| chain.is_full && chain.last < first).max_by_key(|chain| chain.last) {
            Some(chain) => {
                (chain.entries, chain.last, chain.is_full) = (chain.entries + entries, last, is_full);
                chain.parts.push(part);
            }
            None => chains.push(Chain { entries, last, is_full, parts: vec![part] }),
        }
    }
    chains.sort_by_key(|chain| chain.entries);
    chains
}

/// The segments that are merged: those of chains that are no larger than all smaller ones together, so that an entry is
/// copied a logarithmic number of times; and then of as many as it takes that few enough cover any one id. A chain that has
/// grown is copied again only if it must. If what has to be held of all these is too much, the largest stay.
fn chosen(view: &View, domain: DomainId, limits: &Limits) -> Vec<Vec<Part>> {
    let chains = chains(view, domain, limits);
    let mut total = 0;
    let mut count = 0;
    while let Some(chain) = chains.get(count)
        && (count == 0 || chain.entries <= total)
        && chain.entries < limits.grown
    {
        total += chain.entries;
        count += 1;
    }
    if count < 2 {
        count = 0;
    }
    if chains.len() - count + usize::from(count > 0) > limits.cover {
        count = (chains.len() + 1 - limits.cover).clamp(2, chains.len());
    }
    let mut held = 0;
    let fits = chains.iter().take_while(|chain| {
        let dictionary = |at: usize| chain.parts.get(at).map_or(0, |(_, record)| Sequence::dictionary_bytes(record));
        // At most two of a chain are read at a time.
        held += (0..chain.parts.len()).map(|at| dictionary(at) + dictionary(at + 1)).max().unwrap_or(0);
        held <= DICTIONARIES
    });
    match count.min(fits.count()) {
        0 | 1 => Vec::new(),
        count => chains.into_iter().take(count).map(|chain| chain.parts).collect(),
    }
}

/// Which segments there are.
const NAMES: Parts =
    Parts { kinds: &[RunKind::Segments, RunKind::Doomed, RunKind::OverlayRuns], domains: Some(BTreeSet::new()) };
/// More than an entry ever takes: its own 32 bytes, and those of a block and a pack that it has to itself.
const ENTRY_BYTES: u64 = 96;
/// Entries that are merged at once: a hundred bytes for each, and as much for its block, are held.
pub(crate) const ENTRIES: u64 = 1 << 20;
/// Entries of a chain that is copied again only if it must.
const GROWN: u64 = SEGMENT_ENTRIES / 2;
/// Bytes of what is held of all segments that are read at once: 12 for each block, 48 for each pack.
const DICTIONARIES: u64 = 192 << 20;
/// So often a compaction is begun again after another writer won.
const ATTEMPTS: u32 = 16;

#[cfg(test)]
mod tests;
