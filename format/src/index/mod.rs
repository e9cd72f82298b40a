//! Index: where each chunk and page of a domain is stored, and whether clients may rely on the copies.
//!
//! Immutable sorted segments hold the locations; an overlay holds later marks. Both are searched in borrowed bytes: a
//! mapped file, a `Vec` or a browser's buffer.

mod fold;
mod lost;
mod overlay;
pub mod ranged;
mod rows;
mod search;
mod segment;
mod sequence;
mod verify;
mod write;

pub use fold::{FoldedRun, NewMarks};
pub use lost::{LostCopies, RunFold};
pub use overlay::{Bits, Copied, Mark, Overlay, OverlayRun, write_overlay};
pub use rows::{Location, SegmentBlock, SegmentPack};
pub use segment::{Copies, Entry, Segment, SegmentEntry, SegmentError};
pub use sequence::Sequence;
pub use write::{NewSegment, SegmentLimit, SegmentWriter, merge};

use crate::id::{ChunkId, DomainId, PackTag};
use crate::order;

/// The index of one domain.
#[derive(Clone, Debug)]
pub struct Index<B> {
    segments: Vec<Segment<B>>,
    overlay: Overlay<B>,
}

/// What a client may do about a chunk or page, according to its best copy.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// There is a usable copy: no upload is needed.
    Present,
    /// There is a copy, but the repository asks for another upload.
    Wanted,
    /// All copies may be removed at any time: upload it again to refer to it.
    Flagged,
    /// All copies are lost.
    Lost,
    /// The index has no copy of it.
    Absent,
}

impl Status {
    /// Whether a client may refer to the repository's copy instead of uploading the bytes.
    pub fn may_deduplicate(self) -> bool {
        self == Status::Present
    }

    /// The status of a copy with these bits.
    pub fn of_copy(bits: Bits) -> Self {
        if bits.contains(Bits::LOST) {
            Status::Lost
        } else if bits.contains(Bits::FLAGGED) {
            Status::Flagged
        } else if bits.is_empty() {
            Status::Present
        } else {
            Status::Wanted
        }
    }
}

/// A segment or overlay run is of another domain than the index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a part of the index is of domain {found}, not of {expected}")]
pub struct MixedDomains {
    /// The domain of the index.
    pub expected: DomainId,
    /// The domain of the part.
    pub found: DomainId,
}

impl<B: AsRef<[u8]>> Index<B> {
    /// Joins the segments and overlay of a domain. Among equally good copies, lookups prefer the segment listed first.
    pub fn new(domain: DomainId, segments: Vec<Segment<B>>, overlay: Overlay<B>) -> Result<Self, MixedDomains> {
        let parts = segments.iter().map(Segment::domain).chain(overlay.runs().iter().map(OverlayRun::domain));
        match parts.into_iter().find(|part| *part != domain) {
            Some(found) => Err(MixedDomains { expected: domain, found }),
            None => Ok(Self { segments, overlay }),
        }
    }

    /// The segments.
    pub fn segments(&self) -> &[Segment<B>] {
        &self.segments
    }

    /// The overlay.
    pub fn overlay(&self) -> &Overlay<B> {
        &self.overlay
    }

    /// All copies of a chunk or page, with their marks.
    pub fn copies(&self, id: &ChunkId) -> impl Iterator<Item = (Location, Mark)> + '_ {
        let id = *id;
        let places = self.segments.iter().flat_map(move |segment| segment.find(&id));
        places.map(move |place| (place, self.overlay.mark(&id, place.pack.tag())))
    }

    /// The copies in the order in which to try them: usable ones first, lost ones last.
    pub fn best_copies(&self, id: &ChunkId) -> Vec<Location> {
        let mut copies: Vec<_> = self.copies(id).collect();
        order::sort_by(&mut copies, |a, b| Status::of_copy(a.1.bits).cmp(&Status::of_copy(b.1.bits)));
        copies.into_iter().map(|(location, _)| location).collect()
    }

    /// Looks up all copies of many ids, in ascending order. Calls `found` with each id's position in `ids`.
    pub fn copies_of_many(&self, ids: &[ChunkId], mut found: impl FnMut(usize, Location, Mark)) {
        for segment in &self.segments {
            segment.find_many(ids, |at, place| found(at, place, self.overlay.mark(&ids[at], place.pack.tag())));
        }
    }

    /// The copy to read: a usable one if possible, a lost one only if there is no other.
    pub fn lookup(&self, id: &ChunkId) -> Option<Location> {
        self.copies(id).min_by_key(|(_, mark)| Status::of_copy(mark.bits)).map(|(place, _)| place)
    }

    /// The status of a chunk or page.
    pub fn status(&self, id: &ChunkId) -> Status {
        let best = self.copies(id).map(|(_, mark)| Status::of_copy(mark.bits)).min();
        best.unwrap_or_else(|| self.status_without_copy(id))
    }

    /// The statuses of many ids, which ascend; in the same order.
    pub fn statuses(&self, ids: &[ChunkId]) -> Vec<Status> {
        let mut statuses = vec![Status::Absent; ids.len()];
        self.copies_of_many(ids, |at, _, mark| statuses[at] = statuses[at].min(Status::of_copy(mark.bits)));
        for (id, status) in ids.iter().zip(&mut statuses).filter(|(_, status)| **status == Status::Absent) {
            *status = self.status_without_copy(id);
        }
        statuses
    }

    fn status_without_copy(&self, id: &ChunkId) -> Status {
        if self.overlay.bits(id, PackTag::NONE).is_empty() { Status::Absent } else { Status::Lost }
    }
}

#[cfg(test)]
mod ranged_tests;
#[cfg(test)]
mod tests;
