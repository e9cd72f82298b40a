//! Added: the ids that a pass has accepted so far. Later manifests of the pass may refer to them.

use copal_format::id::ChunkId;

/// Ids with heights, in sorted runs, each more than twice as long as the next. Takes 25 bytes for each id.
#[derive(Default)]
pub(super) struct Added {
    runs: Vec<Vec<(ChunkId, u8)>>,
}

impl Added {
    /// Adds the ids of a manifest.
    pub(super) fn add(&mut self, ids: Vec<(ChunkId, u8)>) {
        let mut run = sorted(ids);
        while let Some(before) = self.runs.pop_if(|before| before.len() <= 2 * run.len()) {
            run.extend(before);
            run = sorted(run);
        }
        self.runs.push(run);
    }

    /// The height of an id, if it was added.
    pub(super) fn height(&self, id: &ChunkId) -> Option<u8> {
        self.runs.iter().filter_map(|run| height_in(run, id)).max()
    }
}

/// Sorts ids. If an id is claimed with several heights, the greatest counts.
pub(super) fn sorted(mut ids: Vec<(ChunkId, u8)>) -> Vec<(ChunkId, u8)> {
    ids.sort_unstable_by_key(|(id, height)| (*id, core::cmp::Reverse(*height)));
    ids.dedup_by_key(|(id, _)| *id);
    ids
}

/// The height of an id in a sorted run.
pub(super) fn height_in(run: &[(ChunkId, u8)], id: &ChunkId) -> Option<u8> {
    run.binary_search_by_key(id, |(of, _)| *of).ok().map(|at| run[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_found_with_its_greatest_height() {
        let id = |byte: u8| ChunkId([byte; 24]);
        let mut added = Added::default();
        for byte in 0..100 {
            added.add(vec![(id(byte), byte % 5), (id(byte / 2), 7)]);
        }
        assert_eq!((added.height(&id(49)), added.height(&id(50)), added.height(&id(100))), (Some(7), Some(0), None));
        assert!(added.runs.len() < 8, "{}", added.runs.len());
        assert!(added.runs.iter().all(|run| run.is_sorted()));
    }
}
