//! Audit: whether the segments that a backup looks chunks up in are what they are named by. They are mapped and read here
//! and there; a bit that has flipped in one lets a chunk be found where it is not.

use std::sync::atomic::{AtomicBool, Ordering};

use copal_engine::id::{DomainId, ObjectHash};
use copal_engine::layout;
use copal_service::view::View;

/// The names of a domain's segments that are damaged. Nothing more is looked at once somebody says that it is over.
pub(super) fn damaged_segments(view: &View, domain: DomainId, is_over: &AtomicBool) -> Vec<String> {
    let segments = view.segments_of(domain).take_while(|_| !is_over.load(Ordering::Relaxed));
    let damaged = segments.filter(|(hash, segment)| ObjectHash::of(segment.bytes()) != *hash);
    damaged.map(|(hash, _)| layout::segment(hash)).collect()
}
