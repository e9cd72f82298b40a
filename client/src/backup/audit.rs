//! Audit: hashes the index segments that a backup looks chunks up in. Segments are memory-mapped and read in part, so a
//! flipped bit could make a lookup find a chunk that is not there.

use std::sync::atomic::{AtomicBool, Ordering};

use copal_format::id::{DomainId, ObjectHash};
use copal_format::layout;
use copal_jobs::view::View;

/// The names of a domain's damaged segments. Stops when `is_over` is set.
pub(super) fn damaged_segments(view: &View, domain: DomainId, is_over: &AtomicBool) -> Vec<String> {
    let segments = view.segments_of(domain).take_while(|_| !is_over.load(Ordering::Relaxed));
    let damaged = segments.filter(|(hash, segment)| ObjectHash::of(segment.bytes()) != *hash);
    damaged.map(|(hash, _)| layout::segment(hash)).collect()
}
