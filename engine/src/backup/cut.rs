//! Cut: cuts a file into chunks and names them, with an earlier snapshot's chunks as a hint.

use core::ops::Range;

use copal_format::chunk::Chunker;
use copal_format::id::ChunkId;
use copal_format::keys::domain::DomainKeys;
use copal_format::tree::Piece;

/// The chunks of a whole file, in order. `before` are the file's pieces in an earlier snapshot, or none. Unchanged
/// pieces are only hashed, not searched for. The result is the same with every hint from the same chunker.
pub fn cut(bytes: &[u8], before: &[Piece], chunker: &Chunker, keys: &DomainKeys) -> Vec<(ChunkId, Range<usize>)> {
    let mut chunks = Vec::with_capacity(before.len());
    let mut start = 0;
    for piece in before {
        let end = start + piece.length as usize;
        match bytes.get(start..end) {
            Some(chunk) if keys.chunk_id(chunk) == piece.id => chunks.push((piece.id, start..end)),
            _ => break,
        }
        start = end;
    }
    if chunks.len() < before.len() || start < bytes.len() {
        // A chunk's end depends on its bytes, on the next chunk, and on the distance to the end of the content. So the
        // last matching chunk, and all chunks near the end of either content, are cut again.
        let length_before: usize = before.iter().map(|piece| piece.length as usize).sum();
        let shorter = length_before.min(bytes.len());
        chunks.pop();
        while chunks.pop_if(|(_, range)| range.start + chunker.sizes().max() >= shorter).is_some() {}
        start = chunks.last().map_or(0, |(_, range)| range.end);
    }
    while let Some(length) = chunker.next_cut(&bytes[start..], true) {
        let range = start..start + length;
        chunks.push((keys.chunk_id(&bytes[range.clone()]), range));
        start += length;
    }
    chunks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use copal_format::chunk::ChunkSizes;
    use copal_format::keys::domain::DomainKey;
    use copal_format::keys::secret::Secret;

    fn keys() -> DomainKeys {
        DomainKeys::new(&DomainKey::from_secret(Secret::new([2; 32])))
    }

    fn pieces(chunks: &[(ChunkId, Range<usize>)]) -> Vec<Piece> {
        chunks.iter().map(|(id, range)| Piece { id: *id, length: range.len() as u32 }).collect()
    }

    proptest! {
        #[test]
        fn no_hint_changes_where_chunks_end(
            old in prop::collection::vec(0u8..4, 0..12_000),
            at in any::<prop::sample::Index>(),
            removed in 0usize..300,
            added in prop::collection::vec(0u8..4, 0..300),
        ) {
            let keys = keys();
            let chunker = Chunker::new(ChunkSizes::new(256, 512, 2048).unwrap(), keys.cuts());
            let before = pieces(&cut(&old, &[], &chunker, &keys));
            let at = at.index(old.len() + 1);
            let end = (at + removed).min(old.len());
            let new = [&old[..at], &added, &old[end..]].concat();
            for content in [&old, &new, &old[..at].to_vec()] {
                let plain: Vec<_> = chunker.cuts(content).map(|range| (keys.chunk_id(&content[range.clone()]), range)).collect();
                prop_assert_eq!(cut(content, &before, &chunker, &keys), plain);
            }
        }
    }
}
