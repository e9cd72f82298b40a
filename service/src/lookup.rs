//! Lookup: what a domain's index says of some ids, where every request takes a round trip: only the pieces are read in
//! which the ids are expected. Where the store maps objects, [`View`](crate::view::View) answers.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use copal_engine::id::{ChunkId, DomainId, ObjectHash, PackTag};
use copal_engine::index::ranged::{EntrySearch, FoundEntry, SegmentHead, Wanted};
use copal_engine::index::{LostCopies, Mark, Segment};
use copal_engine::layout;
use copal_engine::state::{SegmentRecord, State};
use copal_store::{Key, Store, StoreError};
use futures::{StreamExt, stream};

use crate::error::JobError;
use crate::objects::{self, Call};

/// The index of one domain: of its segments the heads, or all of small ones; of its overlay what is lost.
pub(crate) struct FarIndex {
    segments: Vec<Entries>,
    /// The segments' names and lengths.
    named: Vec<(ObjectHash, u64)>,
    /// Ascending.
    lost: Vec<LostMark>,
}

enum Entries {
    Whole(Segment<Bytes>),
    Far(Key, SegmentHead),
}

/// Which copies of an id count.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// All.
    Any,
    /// Those that are not lost.
    NotLost,
}

/// A mark by which a copy is lost, or, without a pack, what has no copy.
pub(crate) type LostMark = (ChunkId, PackTag, Mark);

impl FarIndex {
    /// Reads the heads of the segments that a state names, and the whole overlay.
    pub(crate) async fn open(store: &dyn Store, state: &State, domain: DomainId) -> Result<Self, JobError> {
        let segments = segments_of(state, domain)
            .map(|(hash, record)| -> Call<'_, _> { Box::pin(open_entries(store, domain, hash, record)) });
        let (segments, lost) = futures::try_join!(objects::together(segments), read_lost(store, state, domain))?;
        let named = segments_of(state, domain).map(|(hash, record)| (hash, record.length)).collect();
        Ok(Self { segments, named, lost })
    }

    /// The height of each of the ids, which ascend: that of its first copy that counts; none if there is none.
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

    /// The heights of ids of which every copy counts.
    async fn first_heights(&self, store: &dyn Store, ids: &[ChunkId]) -> Result<Vec<Option<u8>>, JobError> {
        let calls = self.segments.iter().map(|part| -> Call<'_, Vec<(usize, u8)>> {
            Box::pin(async move {
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
            })
        });
        let mut heights = vec![None; ids.len()];
        for (at, height) in objects::few_together(PARTS, calls).await?.into_iter().flatten() {
            heights[at] = heights[at].or(Some(height));
        }
        Ok(heights)
    }

    /// The heights of ids of which a copy is marked as lost: which one that is, its block and pack tell.
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
        // Of each copy that is lost there is an entry, unless a bit of it makes it seem another copy, which is not lost.
        if lost.iter().any(|(id, tag, _)| *tag != PackTag::NONE && !found.contains(&(*id, *tag))) {
            verify(store, self.named.iter().copied()).await?;
        }
        Ok(heights)
    }

    /// The marks of these ids, which ascend, by which something is lost; ascending.
    pub(crate) fn lost(&self, ids: &[ChunkId]) -> Vec<LostMark> {
        let marks_of = |id: &ChunkId| {
            let start = self.lost.partition_point(|(of, ..)| of < id);
            let end = start + self.lost[start..].partition_point(|(of, ..)| of == id);
            &self.lost[start..end]
        };
        ids.iter().flat_map(marks_of).copied().collect()
    }
}

/// Reads all of a domain's segments and checks that they have the hashes they are named by: before what is not found in
/// them counts as absent for good.
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

/// Reads the overlay of a domain and keeps what is lost. A bit of a mark decides whether a lost copy may be referred to:
/// nothing of a run counts before its hash was seen to be that of its name.
async fn read_lost(store: &dyn Store, state: &State, domain: DomainId) -> Result<Vec<LostMark>, JobError> {
    let runs = state.overlays_of(domain);
    let small = runs.iter().map(|(hash, record)| -> Call<'_, Option<Bytes>> {
        let (hash, is_small) = (*hash, record.length <= WHOLE);
        Box::pin(async move {
            let name = layout::state(hash);
            let read = if is_small { objects::read_hashed(store, &name, hash).await? } else { return Ok(None) };
            read.map(Some).ok_or_else(|| gone(&objects::key(name)))
        })
    });
    let small = objects::together(small).await?;
    let mut lost = LostCopies::default();
    // The newest comes first, and is folded in last.
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

/// Reads what a search wants until it wants nothing more.
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

/// The tags of the packs of entries, by their blocks. A pack of no known kind or place has none: its entries do not count.
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
    let rows = blocks.iter().map(|block| -> Call<'_, u32> {
        Box::pin(async move {
            let range = head.block_range(*block).ok_or_else(|| missing("an entry's block does not exist"))?;
            let row = read_part(store, key, range).await?;
            SegmentHead::block(&row).map(|block| block.pack).ok_or_else(|| missing("a block is cut"))
        })
    });
    let packs = objects::together(rows).await?;
    let mut numbers = packs.clone();
    numbers.sort_unstable();
    numbers.dedup();
    let rows = numbers.iter().map(|pack| -> Call<'_, Option<(u32, PackTag)>> {
        Box::pin(async move {
            let range = head.pack_range(*pack).ok_or_else(|| missing("a block's pack does not exist"))?;
            Ok(SegmentHead::pack(&read_part(store, key, range).await?).map(|row| (*pack, row.id.tag())))
        })
    });
    let tags: BTreeMap<u32, PackTag> = objects::together(rows).await?.into_iter().flatten().collect();
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

/// Parts of no more bytes are read whole: that takes no longer than two pieces.
const WHOLE: u64 = 256 << 10;
/// Ids that are sought at once.
const IDS: usize = 1 << 16;
/// Parts that are searched at the same time.
const PARTS: usize = 16;
/// Pieces of one part that are read at the same time: so many, or so many bytes.
const AT_ONCE: u64 = 64;
const HELD: u64 = 4 << 20;
