//! Chunks: counts the distinct chunks of an index.

use copal_format::id::ChunkId;
use copal_format::index::Index;

/// Counts the chunks, each once, however many copies it has. Merges the sorted segments as it reads them.
pub fn count_chunks<B: AsRef<[u8]>>(index: &Index<B>) -> u64 {
    let ids = |segment| chunk_ids(segment).peekable();
    let mut segments: Vec<_> = index.segments().iter().map(ids).collect();
    let mut count = 0;
    while let Some(least) = segments.iter_mut().filter_map(|ids| ids.peek().copied()).min() {
        count += 1;
        for ids in &mut segments {
            while ids.next_if_eq(&least).is_some() {}
        }
    }
    count
}

fn chunk_ids<B: AsRef<[u8]>>(segment: &copal_format::index::Segment<B>) -> impl Iterator<Item = ChunkId> + '_ {
    segment.entries().filter(|entry| !entry.location.is_page).map(|entry| entry.id)
}
