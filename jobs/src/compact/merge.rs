//! Merge: writes the segments of a domain as new ones with ascending ids. It reads all segments from their first to
//! their last byte, one range of ids at a time, and writes each new segment as soon as it is full.

use std::collections::VecDeque;

use bytes::Bytes;
use copal_format::id::{ChunkId, DomainId, ObjectHash};
use copal_format::index::ranged::SegmentHead;
use copal_format::index::{NewSegment, Segment, Sequence};
use copal_format::layout::{self, Prunable};
use copal_format::state::SegmentRecord;
use copal_format::time::Time;
use copal_store::StoreError;

use crate::commit::{Proposal, put};
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;
use crate::view::View;

/// A segment as the state names it.
pub(super) type Part = (ObjectHash, SegmentRecord);

/// The segments that were merged, and the new ones.
pub(super) struct Merged {
    pub(super) parts: Vec<Part>,
    /// New segments, which are stored and which no root names yet.
    pub(super) made: Vec<Part>,
}

impl Merged {
    /// Whether this merge is still valid on the view's root. The content of a segment does not depend on the root, but
    /// another writer may have superseded a part, or deleted the new segments during a long sleep.
    pub(super) async fn still_counts(
        &self,
        job: &JobContext<'_>,
        view: &View,
        domain: DomainId,
    ) -> Result<bool, JobError> {
        let names_all = self.parts.iter().all(|(hash, _)| view.state.segments.contains_key(&(domain, *hash)));
        let is_doomed = |(hash, _): &Part| view.state.doomed.contains_key(&Prunable::Segment(*hash));
        if !names_all || self.made.iter().any(is_doomed) {
            return Ok(false);
        }
        let calls = self.made.iter().map(|(hash, _)| {
            let name = objects::key(layout::segment(*hash));
            async move { Ok(job.store.stat(&name).await?.is_some()) }
        });
        Ok(objects::join(calls).await?.into_iter().all(|is_there| is_there))
    }

    /// The changes for the next root.
    pub(super) fn proposal(&self, domain: DomainId, view: &View, now: Time) -> Proposal {
        let mut proposal = Proposal::default();
        for (hash, _) in &self.parts {
            proposal.delta.segments.insert((domain, *hash), None);
            proposal.doom(view, Prunable::Segment(*hash), now);
        }
        for (hash, record) in &self.made {
            proposal.delta.segments.insert((domain, *hash), Some(record.clone()));
        }
        proposal
    }
}

/// Merges chains of segments, about `entries` entries at once, and writes the new segments. None if a segment is gone.
pub(super) async fn merge(
    job: &JobContext<'_>,
    domain: DomainId,
    chains: Vec<Vec<Part>>,
    entries: u64,
) -> Result<Option<Merged>, JobError> {
    let parts = chains.concat();
    // A new segment would hide damage behind its own hash. A merge in one step verifies hashes before it writes. A
    // longer one verifies all hashes first, so that it does not write much in vain again and again.
    if parts.iter().map(|(_, record)| record.entries).sum::<u64>() > entries {
        for (hash, record) in &parts {
            let name = layout::segment(*hash);
            match objects::hash(job.store, &name, record.length).await? {
                None => return Ok(None),
                Some(found) if found == *hash => {}
                Some(_) => return Err(is_other(name)),
            }
        }
    }
    let mut readers: Vec<ChainReader> = chains.into_iter().map(|parts| ChainReader::new(domain, parts)).collect();
    let mut made = Vec::new();
    loop {
        let left: u64 = readers.iter().map(ChainReader::left).sum();
        if left == 0 {
            break;
        }
        for reader in &mut readers {
            // Ids are spread evenly, so these shares end at about the same id.
            let share = u128::from(entries) * u128::from(reader.left()) / u128::from(left);
            if !reader.read(job, (share as u64).max(1)).await? {
                return Ok(None);
            }
        }
        let random = job.random();
        if let Some(NewSegment { hash, record, bytes }) = merge_held(domain, random, &mut readers)? {
            put(job.store, layout::segment(hash), bytes).await?;
            made.push((hash, record));
        }
    }
    Ok(Some(Merged { parts, made }))
}

/// Merges the held entries, up to the first id that an unread entry may precede.
fn merge_held(domain: DomainId, random: [u8; 16], readers: &mut [ChainReader]) -> Result<Option<NewSegment>, JobError> {
    let unread = readers.iter().filter(|reader| !reader.is_read());
    let end = unread.filter_map(ChainReader::last).min();
    let mut taken = Vec::new();
    for reader in &mut *readers {
        // Copies of one id stay together.
        reader.take(|id| end.is_none_or(|end| *id < end), &mut taken)?;
    }
    if taken.is_empty()
        && let Some(end) = end
    {
        // One id has more copies than are merged at once. Takes all held copies of the chain that has so many.
        for reader in &mut *readers {
            let is_whole = !reader.is_read() && reader.last() == Some(end);
            reader.take(|id| is_whole || *id <= end, &mut taken)?;
        }
    }
    let taken: Vec<&Segment<Vec<u8>>> = taken.iter().collect();
    Ok(copal_format::index::merge(domain, random, &taken, |_| true)?)
}

/// Segments of one chain, read one after the other.
struct ChainReader {
    domain: DomainId,
    later: VecDeque<Part>,
    open: VecDeque<Open>,
}

/// A segment that is being read.
struct Open {
    name: String,
    hash: ObjectHash,
    sequence: Sequence,
}

impl ChainReader {
    fn new(domain: DomainId, parts: Vec<Part>) -> Self {
        Self { domain, later: parts.into(), open: VecDeque::new() }
    }

    /// Entries that were not taken yet.
    fn left(&self) -> u64 {
        let later = self.later.iter().map(|(_, record)| record.entries);
        later.chain(self.open.iter().map(|open| open.sequence.left())).sum()
    }

    fn is_read(&self) -> bool {
        self.later.is_empty() && self.open.iter().all(|open| open.sequence.is_read())
    }

    /// The id of the last held entry.
    fn last(&self) -> Option<ChunkId> {
        self.open.iter().rev().find_map(|open| open.sequence.last())
    }

    /// Reads on until this many entries are held. False if a segment is gone.
    async fn read(&mut self, job: &JobContext<'_>, entries: u64) -> Result<bool, JobError> {
        let mut missing = entries;
        for open in &mut self.open {
            if !open.read(job, missing).await? {
                return Ok(false);
            }
            missing = missing.saturating_sub(open.sequence.held());
        }
        while missing > 0
            && let Some((hash, record)) = self.later.pop_front()
        {
            let Some(mut open) = Open::new(job, self.domain, hash, &record).await? else { return Ok(false) };
            if !open.read(job, missing).await? {
                return Ok(false);
            }
            missing = missing.saturating_sub(open.sequence.held());
            self.open.push_back(open);
        }
        Ok(true)
    }

    /// Takes the held entries, up to the first entry whose id is not `within`.
    fn take(&mut self, within: impl Fn(&ChunkId) -> bool, taken: &mut Vec<Segment<Vec<u8>>>) -> Result<(), JobError> {
        while let Some(open) = self.open.front_mut() {
            let some = open.sequence.take(&within).map_err(|error| JobError::damaged(&open.name, error))?;
            taken.extend(some);
            if open.sequence.left() > 0 {
                break;
            }
            self.open.pop_front();
        }
        Ok(())
    }
}

impl Open {
    /// Reads everything before the entries. None if the segment is gone.
    async fn new(
        job: &JobContext<'_>,
        domain: DomainId,
        hash: ObjectHash,
        record: &SegmentRecord,
    ) -> Result<Option<Self>, JobError> {
        let name = layout::segment(hash);
        let Some(bytes) = read_part(job, &name, SegmentHead::BYTES).await? else { return Ok(None) };
        let head = SegmentHead::parse(&bytes, record).map_err(|error| JobError::damaged(&name, error))?;
        if head.domain() != domain {
            return Err(JobError::damaged(name, "it is of another domain than the state says"));
        }
        let mut open = Self { name, hash, sequence: Sequence::new(&head) };
        Ok(open.read(job, 0).await?.then_some(open))
    }

    /// Reads on until this many entries are held. False if the segment is gone. Verifies the hash at the end.
    async fn read(&mut self, job: &JobContext<'_>, entries: u64) -> Result<bool, JobError> {
        loop {
            let wanted = self.sequence.wanted(entries);
            let piece = wanted.start..wanted.end.min(wanted.start + PIECE);
            if piece.is_empty() {
                let is_sound = !self.sequence.is_read() || self.sequence.hash() == self.hash;
                return if is_sound { Ok(true) } else { Err(is_other(self.name.clone())) };
            }
            let Some(bytes) = read_part(job, &self.name, piece).await? else { return Ok(false) };
            self.sequence.feed(&bytes);
        }
    }
}

fn is_other(name: String) -> JobError {
    JobError::damaged(name, "its bytes do not have the hash it is named by")
}

async fn read_part(job: &JobContext<'_>, name: &str, range: core::ops::Range<u64>) -> Result<Option<Bytes>, JobError> {
    match job.store.read_range(&objects::key(name), range).await {
        Ok(bytes) => Ok(Some(bytes)),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error @ StoreError::OutOfRange { .. }) => Err(JobError::damaged(name, error)),
        Err(error) => Err(error.into()),
    }
}

/// Bytes read at once.
const PIECE: u64 = 8 << 20;
