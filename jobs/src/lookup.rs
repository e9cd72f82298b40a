//! Lookup: searches a domain's index for some ids on a remote store. It reads only the pieces in which the ids
//! are expected. If the store maps objects, [`View`](crate::view::View) is used instead.

use core::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use copal_format::id::{ChunkId, DomainId, ObjectHash, PackId, PackTag};
use copal_format::index::ranged::{EntrySearch, FoundEntry, SegmentHead, Wanted};
use copal_format::index::{LostCopies, Mark, Segment};
use copal_format::layout;
use copal_format::state::{SegmentRecord, State};
use copal_store::{Key, Store, StoreError};
use futures::{StreamExt, stream};

use crate::error::JobError;
use crate::objects::{self, Call};

/// The index of one domain: the heads of its segments (small segments whole), and the lost marks of its overlay.
pub(crate) struct FarIndex {
    segments: Vec<Entries>,
    /// The names and lengths of the segments.
    named: Vec<(ObjectHash, u64)>,
    /// Ascending by id and tag.
    lost: Vec<LostMark>,
}

enum Entries {
    Whole(Segment<Bytes>),
    Far(Key, SegmentHead),
}

/// Which copies of an id count.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// All copies.
    Any,
    /// Copies that are not lost.
    NotLost,
}

/// A mark that says: this copy is lost; or, with [`PackTag::NONE`], this id has no copy.
pub(crate) type LostMark = (ChunkId, PackTag, Mark);

impl FarIndex {
    /// Reads the heads of the segments that a state names, and the whole overlay.
    pub(crate) async fn open(store: &dyn Store, state: &State, domain: DomainId) -> Result<Self, JobError> {
        let segments = segments_of(state, domain).map(|(hash, record)| open_entries(store, domain, hash, record));
        let (segments, lost) = futures::try_join!(objects::join(segments), read_lost(store, state, domain))?;
        let named = segments_of(state, domain).map(|(hash, record)| (hash, record.length)).collect();
        Ok(Self { segments, named, lost })
    }

    /// The height of each id's first copy that counts; none without such a copy. The ids ascend.
    pub(crate) async fn heights(
        &self,
        store: &dyn Store,
        ids: &[ChunkId],
        counted: Counted,
    ) -> Result<Vec<Option<u8>>, JobError> {
        let mut heights = Vec::with_capacity(ids.len());
        for some in ids.chunks(IDS) {
            let lost = if counted == Counted::NotLost { self.lost(some) } else { Vec::new() };
            let is_marked = |id: &ChunkId| lost.binary_search_by_key(id, |(of, ..)| *of).is_ok();
            let (marked, plain): (Vec<ChunkId>, Vec<ChunkId>) = some.iter().copied().partition(is_marked);
            let mut of_plain = self.first_heights(store, &plain).await?.into_iter();
            let mut of_marked = self.heights_of_marked(store, &marked, &lost).await?.into_iter();
            heights.extend(
                some.iter().map(|id| if is_marked(id) { &mut of_marked } else { &mut of_plain }.next().flatten()),
            );
        }
        Ok(heights)
    }

    /// The heights of ids whose copies all count.
    async fn first_heights(&self, store: &dyn Store, ids: &[ChunkId]) -> Result<Vec<Option<u8>>, JobError> {
        let calls = self.segments.iter().map(|part| async move {
            let (key, head) = match part {
                Entries::Far(key, head) => (key, head),
                Entries::Whole(segment) => {
                    let found = |(at, id)| Some((at, segment.find(id).next()?.height));
                    return Ok(ids.iter().enumerate().filter_map(found).collect());
                }
            };
            let mut search = EntrySearch::new(head, ids, Wanted::First);
            read_rounds(store, key, &mut search).await?;
            Ok(search.finish().into_iter().map(|(at, entry)| (at, entry.height)).collect())
        });
        let mut heights = vec![None; ids.len()];
        let found: Vec<Vec<(usize, u8)>> = objects::join_few(PARTS, calls).await?;
        for (at, height) in found.into_iter().flatten() {
            heights[at] = heights[at].or(Some(height));
        }
        Ok(heights)
    }

    /// The heights of ids with lost copies. A copy's block and pack tell whether it is a lost one.
    async fn heights_of_marked(
        &self,
        store: &dyn Store,
        ids: &[ChunkId],
        lost: &[LostMark],
    ) -> Result<Vec<Option<u8>>, JobError> {
        let mut heights = vec![None; ids.len()];
        if ids.is_empty() {
            return Ok(heights);
        }
        let is_lost =
            |at: usize, tag: PackTag| lost.binary_search_by_key(&(ids[at], tag), |(id, tag, _)| (*id, *tag)).is_ok();
        let mut found: BTreeSet<(ChunkId, PackTag)> = BTreeSet::new();
        for part in &self.segments {
            let copies: Vec<(usize, u8, PackTag)> = match part {
                Entries::Whole(segment) => {
                    let of = |(at, id)| segment.find(id).map(move |place| (at, place.height, place.pack.tag()));
                    ids.iter().enumerate().flat_map(of).collect()
                }
                Entries::Far(key, head) => {
                    let mut search = EntrySearch::new(head, ids, Wanted::All);
                    read_rounds(store, key, &mut search).await?;
                    let found = search.finish();
                    let tags = tags_of(store, key, head, &found).await?;
                    found.iter().filter_map(|(at, entry)| Some((*at, entry.height, *tags.get(&entry.block)?))).collect()
                }
            };
            found.extend(copies.iter().map(|(at, _, tag)| (ids[*at], *tag)));
            for (at, height, _) in copies.into_iter().filter(|(at, _, tag)| !is_lost(*at, *tag)) {
                heights[at] = heights[at].or(Some(height));
            }
        }
        // A lost copy without an entry is suspicious: a flipped bit may make its entry look like a copy that is not
        // lost.
        if lost.iter().any(|(id, tag, _)| *tag != PackTag::NONE && !found.contains(&(*id, *tag))) {
            verify(store, self.named.iter().copied()).await?;
        }
        Ok(heights)
    }

    /// Whether a segment may name one of these packs, which ascend. Reads rows of packs and no entries: prune may have
    /// removed most entries of a pack.
    pub(crate) async fn may_name(&self, store: &dyn Store, packs: &[PackId]) -> Result<bool, JobError> {
        let is_named = |part: &Entries| match part {
            Entries::Whole(segment) => packs.iter().any(|pack| may_name(segment, pack)),
            Entries::Far(..) => false,
        };
        if self.segments.iter().any(is_named) {
            return Ok(true);
        }
        let far = self.segments.iter().filter_map(|part| match part {
            Entries::Whole(_) => None,
            Entries::Far(key, head) => Some(rows_may_name(store, key, head, packs)),
        });
        Ok(objects::join_few(PARTS, far).await?.contains(&true))
    }

    /// The marks by which these ids or copies of them are lost. Both the ids and the result ascend.
    pub(crate) fn lost(&self, ids: &[ChunkId]) -> Vec<LostMark> {
        let marks_of = |id: &ChunkId| {
            let start = self.lost.partition_point(|(of, ..)| of < id);
            let end = start + self.lost[start..].partition_point(|(of, ..)| of == id);
            &self.lost[start..end]
        };
        ids.iter().flat_map(marks_of).copied().collect()
    }
}

/// Whether a segment may name a pack. Its packs ascend; one of unknown kind or place may be any pack.
pub(crate) fn may_name<B: AsRef<[u8]>>(segment: &Segment<B>, pack: &PackId) -> bool {
    let (mut low, mut high) = (0, segment.pack_count());
    while low < high {
        let middle = low.midpoint(high);
        let Some(row) = segment.pack(middle) else { return true };
        match row.id.cmp(pack) {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return true,
            Ordering::Greater => high = middle,
        }
    }
    false
}

/// Like [`may_name`], for several packs, which ascend, and a segment of which ranges are read.
async fn rows_may_name(store: &dyn Store, key: &Key, head: &SegmentHead, packs: &[PackId]) -> Result<bool, JobError> {
    // The rows that were read last, and the position of the first of them.
    let (mut start, mut rows): (u32, Vec<PackId>) = (0, Vec::new());
    for pack in packs {
        let (mut low, mut high) = (0, head.pack_count());
        // Ids are hashes, so nearly every row is where the first guess expects it. Otherwise the range is halved.
        let mut guess = Some(expected(pack, high));
        loop {
            if let (Some(first), Some(last)) = (rows.first(), rows.last()) {
                if pack < first {
                    high = high.min(start);
                } else if pack > last {
                    low = low.max(start + rows.len() as u32);
                } else if rows.binary_search(pack).is_ok() {
                    return Ok(true);
                } else {
                    break;
                }
            }
            if low >= high {
                break;
            }
            let middle = guess.take().unwrap_or(low.midpoint(high)).clamp(low, high - 1);
            start = middle.saturating_sub(ROWS / 2).max(low);
            let end = high.min(start + ROWS);
            let (Some(first), Some(last)) = (head.pack_range(start), head.pack_range(end - 1)) else { return Ok(true) };
            let bytes = read_part(store, key, first.start..last.end).await?;
            rows = SegmentHead::packs(&bytes).map(|row| row.id).collect();
            if rows.len() as u32 != end - start {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The position at which a pack is expected among so many, if their ids are evenly spread.
fn expected(pack: &PackId, count: u32) -> u32 {
    let [a, b, c, d, ..] = pack.0;
    ((u64::from(u32::from_be_bytes([a, b, c, d])) * u64::from(count)) >> 32) as u32
}

/// Reads all segments of a domain and verifies their hashes, before an id that was not found counts as absent for good.
pub(crate) async fn verify_segments(store: &dyn Store, state: &State, domain: DomainId) -> Result<(), JobError> {
    verify(store, segments_of(state, domain).map(|(hash, record)| (hash, record.length))).await
}

async fn verify(store: &dyn Store, segments: impl Iterator<Item = (ObjectHash, u64)>) -> Result<(), JobError> {
    for (hash, length) in segments {
        let name = layout::segment(hash);
        if !objects::pass_hashed(store, &name, (hash, length), |_| Ok(())).await? {
            return Err(gone(&objects::key(name)));
        }
    }
    Ok(())
}

fn segments_of(state: &State, domain: DomainId) -> impl Iterator<Item = (ObjectHash, &SegmentRecord)> {
    let of_domain = (domain, ObjectHash([0; ObjectHash::LEN]))..=(domain, ObjectHash([0xff; ObjectHash::LEN]));
    state.segments.range(of_domain).map(|((_, hash), record)| (*hash, record))
}

/// Reads the overlay of a domain and keeps the lost marks. A single bit decides whether a page may refer to a copy, so
/// a run counts only after its hash was verified.
async fn read_lost(store: &dyn Store, state: &State, domain: DomainId) -> Result<Vec<LostMark>, JobError> {
    let runs = state.overlays_of(domain);
    let small = runs.iter().map(|(hash, record)| {
        let (hash, is_small) = (*hash, record.length <= WHOLE);
        async move {
            let name = layout::state(hash);
            let read = if is_small { objects::read_hashed(store, &name, hash).await? } else { return Ok(None) };
            read.map(Some).ok_or_else(|| gone(&objects::key(name)))
        }
    });
    let small = objects::join(small).await?;
    let mut lost = LostCopies::default();
    // The newest run comes first, and must be folded in last.
    for ((hash, record), bytes) in runs.iter().zip(small).rev() {
        let name = layout::state(*hash);
        let damaged = |error| JobError::damaged(&name, error);
        let mut fold = lost.begin(domain, record);
        match bytes {
            Some(bytes) => fold.push(&bytes).map_err(damaged)?,
            None => {
                let take = |piece: &[u8]| fold.push(piece).map_err(damaged);
                if !objects::pass_hashed(store, &name, (*hash, record.length), take).await? {
                    return Err(gone(&objects::key(name.as_str())));
                }
            }
        }
        fold.finish().map_err(damaged)?;
    }
    Ok(lost.finish().into_iter().map(|((id, tag), mark)| (id, tag, mark)).collect())
}

async fn open_entries(
    store: &dyn Store,
    domain: DomainId,
    hash: ObjectHash,
    record: &SegmentRecord,
) -> Result<Entries, JobError> {
    let name = layout::segment(hash);
    let other = || JobError::damaged(&name, "it is of another domain than the state says");
    let key = objects::key(&name);
    if record.length <= WHOLE {
        let bytes = objects::read_hashed(store, &name, hash).await?.ok_or_else(|| gone(&key))?;
        let segment = Segment::parse(bytes).map_err(|error| JobError::damaged(&name, error))?;
        return if segment.domain() == domain { Ok(Entries::Whole(segment)) } else { Err(other()) };
    }
    let bytes = read_part(store, &key, SegmentHead::BYTES).await?;
    let head = SegmentHead::parse(&bytes, record).map_err(|error| JobError::damaged(&name, error))?;
    if head.domain() == domain { Ok(Entries::Far(key, head)) } else { Err(other()) }
}

/// Reads the ranges that a search wants, until it wants no more.
async fn read_rounds(store: &dyn Store, key: &Key, search: &mut EntrySearch<'_>) -> Result<(), JobError> {
    loop {
        let ranges = search.next_round();
        let Some(longest) = ranges.iter().map(|range| range.end - range.start).max() else { return Ok(()) };
        let at_once = (HELD / longest.max(1)).clamp(4, AT_ONCE) as usize;
        let calls = ranges.into_iter().enumerate().map(|(at, range)| -> Call<'_, (usize, Bytes)> {
            Box::pin(async move { Ok((at, read_part(store, key, range).await?)) })
        });
        let calls: Vec<Call<'_, (usize, Bytes)>> = calls.collect();
        let mut reads = stream::iter(calls).buffer_unordered(at_once);
        while let Some(read) = reads.next().await {
            let (at, bytes) = read?;
            search.take(at, &bytes).map_err(|error| JobError::damaged(key.as_str(), error))?;
        }
    }
}

/// Tags of packs by the entries' block numbers. Entries in packs of unknown kind or place do not count.
async fn tags_of(
    store: &dyn Store,
    key: &Key,
    head: &SegmentHead,
    entries: &[(usize, FoundEntry)],
) -> Result<BTreeMap<u32, PackTag>, JobError> {
    let missing = |what| JobError::damaged(key.as_str(), what);
    let mut blocks: Vec<u32> = entries.iter().map(|(_, entry)| entry.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let rows = blocks.iter().map(|block| async move {
        let range = head.block_range(*block).ok_or_else(|| missing("an entry's block does not exist"))?;
        let row = read_part(store, key, range).await?;
        SegmentHead::block(&row).map(|block| block.pack).ok_or_else(|| missing("a block is cut"))
    });
    let packs = objects::join(rows).await?;
    let mut numbers = packs.clone();
    numbers.sort_unstable();
    numbers.dedup();
    let rows = numbers.iter().map(|pack| async move {
        let range = head.pack_range(*pack).ok_or_else(|| missing("a block's pack does not exist"))?;
        Ok(SegmentHead::pack(&read_part(store, key, range).await?).map(|row| (*pack, row.id.tag())))
    });
    let tags: BTreeMap<u32, PackTag> = objects::join(rows).await?.into_iter().flatten().collect();
    Ok(blocks.into_iter().zip(packs).filter_map(|(block, pack)| Some((block, *tags.get(&pack)?))).collect())
}

async fn read_part(store: &dyn Store, key: &Key, range: core::ops::Range<u64>) -> Result<Bytes, JobError> {
    match store.read_range(key, range).await {
        Ok(bytes) => Ok(bytes),
        Err(StoreError::NotFound { .. }) => Err(gone(key)),
        Err(error @ StoreError::OutOfRange { .. }) => Err(JobError::damaged(key.as_str(), error)),
        Err(error) => Err(error.into()),
    }
}

fn gone(key: &Key) -> JobError {
    JobError::StateLost { evidence: format!("{key}, which the newest root names, is gone") }
}

/// Objects up to this length are read whole, which takes no longer than reading two pieces.
const WHOLE: u64 = 256 << 10;
/// Ids searched at the same time.
const IDS: usize = 1 << 16;
/// Rows of packs read at once, about 400 KiB: packs are sought one after another, and find their rows read already.
const ROWS: u32 = 8_192;
/// Segments searched at the same time.
const PARTS: usize = 16;
/// Pieces of one segment read at the same time: a number of requests, and a number of bytes.
const AT_ONCE: u64 = 64;
const HELD: u64 = 4 << 20;
