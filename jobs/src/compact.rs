//! Compact: merges index segments that ingest leaves alone, so that a search for an id touches few of them.

mod merge;

use std::collections::BTreeSet;

use copal_format::id::{ChunkId, DomainId};
use copal_format::index::Sequence;
use copal_format::limits::SEGMENT_ENTRIES;
use copal_format::state::RunKind;
use copal_store::Store;

use self::merge::{Merged, Part};
use crate::budget::Budget;
use crate::commit::commit;
use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::windows;
use crate::objects::Call;
use crate::view::{self, Parts, View};

/// What a compaction did.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Segments before.
    pub segments_before: u64,
    /// Segments after.
    pub segments_after: u64,
    /// The number of the newest root.
    pub root: u64,
    /// Whether the budget was over before every domain was examined. What was merged counts.
    pub is_unfinished: bool,
}

/// Merges each domain's segments if that is worth it, with one root per domain. May write no root at all.
pub async fn compact(job: &JobContext<'_>) -> Result<Report, JobError> {
    compact_until(job, &Budget::unlimited()).await
}

/// Like [`compact`], until the budget is over. A merged domain needs nothing more, so the next run continues by itself.
pub fn compact_until<'a>(job: &'a JobContext<'_>, budget: &'a Budget) -> Call<'a, Report> {
    Box::pin(async move { compact_within(job, &Limits::of(job.store), budget).await })
}

async fn compact_within(job: &JobContext<'_>, limits: &Limits, budget: &Budget) -> Result<Report, JobError> {
    let view = view::read_parts(job.store, &NAMES).await?;
    view::refuse_rootless(job, &view).await?;
    let segments = view.state.segments.len() as u64;
    let mut report =
        Report { segments_before: segments, segments_after: segments, root: view.number(), is_unfinished: false };
    // Skips domains not worth it before asking the budget: a small budget would never get beyond them.
    for domain in view.domains().into_iter().filter(|domain| !chosen(&view, *domain, limits).is_empty()) {
        if budget.is_over() {
            report.is_unfinished = true;
            return Ok(report);
        }
        let done = compact_domain(job, domain, limits).await?;
        report.segments_after = done.segments_after;
        report.root = done.root;
    }
    Ok(report)
}

/// How many segments there may be, and how large.
struct Limits {
    /// How many segments may cover one id.
    cover: usize,
    /// Entries merged at once, which is about the size of a new segment.
    entries: u64,
    /// A chain with this many entries or more is copied again only if the cover limit requires it.
    grown: u64,
}

impl Limits {
    /// Limits by memory, and by the largest object that the store takes.
    fn of(store: &dyn Store) -> Self {
        Self { cover: windows().cover, entries: entries_most(store, ENTRIES), grown: GROWN }
    }
}

/// How many entries a segment may have: `most`, or fewer if the store takes no object of that size.
pub(crate) fn entries_most(store: &dyn Store, most: u64) -> u64 {
    store.largest().map_or(most, |bytes| most.min(bytes / ENTRY_BYTES))
}

async fn compact_domain(job: &JobContext<'_>, domain: DomainId, limits: &Limits) -> Result<Report, JobError> {
    let mut made: Option<Merged> = None;
    for _ in 0..ATTEMPTS {
        let view = view::read_parts(job.store, &NAMES).await?;
        let (before, root) = (view.state.segments.len() as u64, view.number());
        let report =
            |root, after| Report { segments_before: before, segments_after: after, root, is_unfinished: false };
        let merged = match made.take() {
            Some(merged) if merged.still_counts(job, &view, domain).await? => merged,
            _ => {
                let chosen = chosen(&view, domain, limits);
                if chosen.is_empty() {
                    return Ok(report(root, before));
                }
                match merge::merge(job, domain, chosen, limits.entries).await? {
                    Some(merged) => merged,
                    // Another writer has superseded a segment, or it is lost. The next read of the state tells which.
                    None => continue,
                }
            }
        };
        if let Some((root, _)) = commit(job, &view, merged.proposal(domain, &view, job.now().await?)).await? {
            return Ok(report(root.number, before - merged.parts.len() as u64 + merged.made.len() as u64));
        }
        // The faster writer may have changed these segments, so the next attempt examines the merged ones again.
        made = Some(merged);
    }
    Err(JobError::Contended { attempts: ATTEMPTS })
}

/// Segments of one domain that cover disjoint ranges of ids, in order.
struct Chain {
    entries: u64,
    last: ChunkId,
    /// Whether its last segment is about full.
    is_full: bool,
    parts: Vec<Part>,
}

/// The chains of a domain, the smallest first. Only a full segment gets a successor: a small one is better merged.
fn chains(view: &View, domain: DomainId, limits: &Limits) -> Vec<Chain> {
    let of_domain = view.state.segments_of(domain);
    let mut parts: Vec<Part> = of_domain.map(|(hash, record)| (hash, record.clone())).collect();
    parts.sort_by_key(|(hash, record)| (record.first, record.last, *hash));
    let mut chains: Vec<Chain> = Vec::new();
    for part in parts {
        let (entries, first, last) = (part.1.entries, part.1.first, part.1.last);
        // Appends to the chain that ends nearest before this segment: most likely one merge wrote both.
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

/// The chains to merge. First come chains no larger than the sum of all smaller ones, so that each entry is copied only
/// a logarithmic number of times. Then come as many as the cover limit requires; a grown chain is merged only for this
/// reason. If their dictionaries do not fit into memory, the largest chains are left out.
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
        // At most two segments of a chain are read at the same time.
        held += (0..chain.parts.len()).map(|at| dictionary(at) + dictionary(at + 1)).max().unwrap_or(0);
        held <= DICTIONARIES
    });
    match count.min(fits.count()) {
        0 | 1 => Vec::new(),
        count => chains.into_iter().take(count).map(|chain| chain.parts).collect(),
    }
}

/// Only the names of segments and overlay runs, no indexes.
const NAMES: Parts =
    Parts { kinds: &[RunKind::Segments, RunKind::Doomed, RunKind::OverlayRuns], domains: Some(BTreeSet::new()) };
/// Upper bound of the bytes per entry: 32 of its own, and those of a block and a pack that hold nothing else.
const ENTRY_BYTES: u64 = 96;
/// Entries merged at once. Each needs about 100 bytes of memory, and as much for its block.
pub(crate) const ENTRIES: u64 = 1 << 20;
/// A chain with this many entries is copied again only if the cover limit requires it.
const GROWN: u64 = SEGMENT_ENTRIES / 2;
/// Memory for the dictionaries of all segments read at once: 12 bytes for each block, 48 for each pack.
const DICTIONARIES: u64 = 192 << 20;
/// How often a compaction is begun again after another writer won.
const ATTEMPTS: u32 = 16;

#[cfg(test)]
mod tests;
