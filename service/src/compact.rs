//! Compact: merges index segments by size, so that few have to be searched for any one id. Ingest folds small segments
//! by itself; what outgrew that is merged here.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use copal_engine::id::{ChunkId, DomainId, ObjectHash};
use copal_engine::index::{NewSegment, Segment, merge};
use copal_engine::layout;
use copal_engine::limits::SEGMENT_ENTRIES;
use copal_engine::state::{DoomedRecord, DoomedState, RunKind, SegmentRecord};
use copal_engine::time::Time;
use copal_store::Store;

use crate::budget::Budget;
use crate::commit::{Proposal, commit};
use crate::error::JobError;
use crate::faults::windows;
use crate::host::Host;
use crate::objects;
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
    let limits = Limits { cover: windows().cover, entries: entries_most(host.store) };
    compact_within(host, &limits, budget).await
}

async fn compact_within(host: &Host<'_>, limits: &Limits, budget: &Budget) -> Result<Report, JobError> {
    let view = view::read_parts(host.store, &NAMES).await?;
    let segments = view.state.segments.len() as u64;
    let mut report =
        Report { segments_before: segments, segments_after: segments, root: view.number(), is_unfinished: false };
    // What is not worth it takes no time: else who has little would never get beyond it.
    let mut spans: BTreeMap<DomainId, Vec<Span>> = BTreeMap::new();
    for ((domain, _), SegmentRecord { entries, first, last, .. }) in &view.state.segments {
        spans.entry(*domain).or_default().push(Span { entries: *entries, first: *first, last: *last });
    }
    spans.values_mut().for_each(|spans| spans.sort_by_key(|span| span.entries));
    for (domain, _) in spans.into_iter().filter(|(_, spans)| worth_merging(spans, limits) > 0) {
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
    /// Entries of one segment.
    entries: u64,
}

/// As many entries as the format allows in a segment, or as surely fit into the largest object that the store takes.
fn entries_most(store: &dyn Store) -> u64 {
    store.largest().map_or(SEGMENT_ENTRIES, |bytes| SEGMENT_ENTRIES.min(bytes / ENTRY_BYTES))
}

async fn compact_domain(host: &Host<'_>, domain: DomainId, limits: &Limits) -> Result<Report, JobError> {
    for _ in 0..ATTEMPTS {
        let parts = Parts { domains: Some([domain].into()), ..NAMES };
        let view = view::read_parts(host.store, &parts).await?;
        let now = host.now().await?;
        let mut proposal = Proposal::default();
        if !propose(host, &view, domain, now, limits, &mut proposal).await? {
            continue;
        }
        let segments = view.state.segments.len() as u64;
        if proposal.delta.is_empty() {
            let root = view.number();
            return Ok(Report { segments_before: segments, segments_after: segments, root, is_unfinished: false });
        }
        let added = proposal.segments.len() as u64;
        let gone = proposal.delta.segments.values().filter(|record| record.is_none()).count() as u64;
        if let Some((root, _)) = commit(host, &view, proposal).await? {
            let segments_after = segments - gone + added;
            let root = root.number;
            return Ok(Report { segments_before: segments, segments_after, root, is_unfinished: false });
        }
        // Whoever was faster may have merged or removed the same segments: everything is decided again.
    }
    Err(JobError::Contended { attempts: ATTEMPTS })
}

/// Adds one domain's merge to the proposal. False if a segment is gone: another writer has superseded it, or it is lost,
/// and whoever reads the state again learns which.
async fn propose(
    host: &Host<'_>,
    view: &View,
    domain: DomainId,
    now: Time,
    limits: &Limits,
    proposal: &mut Proposal,
) -> Result<bool, JobError> {
    let segments = view.segments_by_size(domain);
    let spans: Vec<Span> = segments.iter().map(|(_, segment)| Span::of(segment)).collect();
    let mut parts = Vec::new();
    for (hash, _) in &segments[..worth_merging(&spans, limits)] {
        let Some(part) = read_whole(host, *hash).await? else { return Ok(false) };
        parts.push(part);
        proposal.delta.segments.insert((domain, *hash), None);
        let doomed = DoomedRecord { state: DoomedState::Doomed, time: now, root: view.number() + 1 };
        proposal.delta.doomed.insert(layout::segment(*hash), Some(doomed));
    }
    for NewSegment { hash, record, bytes } in merge_split(host, domain, &parts, limits.entries)? {
        proposal.delta.segments.insert((domain, hash), Some(record));
        proposal.segments.push((hash, bytes));
    }
    Ok(true)
}

/// Reads a segment and checks that it is what was written: damage must not get into a new segment, where its hash would
/// no longer tell. None if it is gone.
async fn read_whole(host: &Host<'_>, hash: ObjectHash) -> Result<Option<Segment<Bytes>>, JobError> {
    let name = layout::segment(hash);
    let Some(bytes) = objects::read_hashed(host.store, &name, hash).await? else { return Ok(None) };
    Segment::parse(bytes).map(Some).map_err(|error| JobError::damaged(&name, error))
}

/// How much a segment holds, and which ids it covers.
#[derive(Copy, Clone, Debug)]
struct Span {
    entries: u64,
    first: ChunkId,
    last: ChunkId,
}

impl Span {
    fn of<B: AsRef<[u8]>>(segment: &Segment<B>) -> Self {
        // One without entries covers nothing: it ends before it begins.
        let (first, last) = segment.bounds().unwrap_or((ChunkId([0xff; ChunkId::LEN]), ChunkId([0; ChunkId::LEN])));
        Self { entries: segment.len() as u64, first, last }
    }
}

/// How many of the segments, which are listed by size, are merged: those that are no larger than all smaller ones
/// together, so that an entry is copied a logarithmic number of times; and then as many as it takes that few enough
/// cover any one id. A segment of half the largest size only grows if it must.
fn worth_merging(spans: &[Span], limits: &Limits) -> usize {
    let mut total = 0;
    let mut count = 0;
    while let Some(span) = spans.get(count)
        && (count == 0 || span.entries <= total)
        && span.entries < limits.entries.div_ceil(2)
    {
        total += span.entries;
        count += 1;
    }
    if count < 2 {
        count = 0;
    }
    while count < spans.len() && cover(&spans[count..]) + usize::from(count > 0) > limits.cover {
        count += 1;
    }
    if count < 2 { 0 } else { count }
}

/// The most segments that cover any one id. That is reached where one of them begins.
fn cover(spans: &[Span]) -> usize {
    let at = |id: ChunkId| spans.iter().filter(|span| span.first <= id && id <= span.last).count();
    spans.iter().map(|span| at(span.first)).max().unwrap_or(0)
}

/// Merges segments into as few as hold the entries, each with the ids behind those of the one before.
fn merge_split(
    host: &Host<'_>,
    domain: DomainId,
    parts: &[Segment<Bytes>],
    most: u64,
) -> Result<Vec<NewSegment>, JobError> {
    let parts: Vec<&Segment<Bytes>> = parts.iter().collect();
    let total: u64 = parts.iter().map(|part| part.len() as u64).sum();
    let mut merged = Vec::new();
    let mut start = None;
    let mut is_more = total > 0;
    while is_more {
        let mut cut = Cut { start, most, kept: 0, last: None, next: None };
        merged.extend(merge(domain, host.random(), &parts, |entry| cut.keeps(entry.id))?);
        (start, is_more) = (cut.next, cut.next.is_some());
    }
    Ok(merged)
}

/// Chooses the entries of one of several segments. Copies of an id stay together.
struct Cut {
    start: Option<ChunkId>,
    most: u64,
    kept: u64,
    last: Option<ChunkId>,
    next: Option<ChunkId>,
}

impl Cut {
    fn keeps(&mut self, id: ChunkId) -> bool {
        if self.next.is_some() || Some(id) < self.start {
            return false;
        }
        // Room is left for further copies of the last id.
        if self.kept >= self.most - self.most / 64 && self.last != Some(id) {
            self.next = Some(id);
            return false;
        }
        self.kept += 1;
        self.last = Some(id);
        true
    }
}

/// Which segments there are.
const NAMES: Parts =
    Parts { kinds: &[RunKind::Segments, RunKind::Doomed, RunKind::OverlayRuns], domains: Some(BTreeSet::new()) };
/// More than an entry ever takes: its own 32 bytes, and those of a block and a pack that it has to itself.
const ENTRY_BYTES: u64 = 96;
/// So often a compaction is begun again after another writer won.
const ATTEMPTS: u32 = 16;

#[cfg(test)]
mod tests;
