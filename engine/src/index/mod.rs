//! Index: where the copies of every chunk and page of a domain lie, and whether clients may rely on them.
//!
//! Immutable sorted segments hold the places; an overlay of marks says what was found out since. Both are searched in
//! borrowed bytes: a mapped file, a `Vec` and a buffer of the browser serve alike.

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
pub use segment::{Copies, Entry, Location, Segment, SegmentBlock, SegmentEntry, SegmentError, SegmentPack};
pub use sequence::Sequence;
pub use write::{NewSegment, SegmentLimit, SegmentWriter, merge};

use crate::id::{ChunkId, DomainId, PackTag};

/// The index of one domain.
#[derive(Clone, Debug)]
pub struct Index<B> {
    segments: Vec<Segment<B>>,
    overlay: Overlay<B>,
}

/// What a client may do about a chunk or page, as its best copy allows.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// The repository has a copy that can be relied on: nothing is uploaded.
    Present,
    /// The repository has a copy, but would rather have another one.
    Wanted,
    /// The copy may be removed at any time: it must be uploaded again to be referred to.
    Flagged,
    /// The bytes of every copy are gone.
    Lost,
    /// The repository knows nothing of it.
    Absent,
}

impl Status {
    /// Whether a client may refer to the repository's copy instead of uploading its own.
    pub fn may_deduplicate(self) -> bool {
        self == Status::Present
    }

    /// What a copy with these bits allows.
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

/// Segments or marks of several domains that were to be searched together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a part of the index is of domain {found}, not of {expected}")]
pub struct MixedDomains {
    /// The index's domain.
    pub expected: DomainId,
    /// The part's.
    pub found: DomainId,
}

impl<B: AsRef<[u8]>> Index<B> {
    /// Joins the parts of a domain's index. Of equally good copies, that of the segment listed first is preferred.
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

    /// The marks.
    pub fn overlay(&self) -> &Overlay<B> {
        &self.overlay
    }

    /// All copies of a chunk or page, and what holds of each.
    pub fn copies(&self, id: &ChunkId) -> impl Iterator<Item = (Location, Mark)> + '_ {
        let id = *id;
        let places = self.segments.iter().flat_map(move |segment| segment.find(&id));
        places.map(move |place| (place, self.overlay.mark(&id, place.pack.tag())))
    }

    /// All copies of many chunks or pages, whose ids ascend; `found` gets each with the id's position in `ids`.
    pub fn copies_of_many(&self, ids: &[ChunkId], mut found: impl FnMut(usize, Location, Mark)) {
        for segment in &self.segments {
            segment.find_many(ids, |at, place| found(at, place, self.overlay.mark(&ids[at], place.pack.tag())));
        }
    }

    /// The copy to read: one that can be relied on if there is one; a lost one only if there is no other.
    pub fn lookup(&self, id: &ChunkId) -> Option<Location> {
        self.copies(id).min_by_key(|(_, mark)| Status::of_copy(mark.bits)).map(|(place, _)| place)
    }

    /// Whether a client may deduplicate against a chunk or page.
    pub fn status(&self, id: &ChunkId) -> Status {
        let best = self.copies(id).map(|(_, mark)| Status::of_copy(mark.bits)).min();
        best.unwrap_or_else(|| self.status_without_copy(id))
    }

    /// The same for many ids, which ascend; in their order.
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
