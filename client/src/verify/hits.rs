//! Hits: which snapshots and paths the damage affects.

use std::collections::{BTreeMap, BTreeSet};

use copal_format::id::{ChunkId, DomainId, PackId, SnapshotId};
use copal_format::path::TreePath;

/// Why something cannot be read.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hit {
    /// Its pack is missing or damaged.
    Pack(PackId),
    /// No pack holds this chunk or page.
    Id(ChunkId),
    /// This page does not fit the tree it is in.
    Forged(ChunkId),
}

/// The snapshots and paths that one hit affects.
#[derive(Clone, Debug, Default)]
pub struct Impact {
    /// The snapshots that need it.
    pub snapshots: Vec<SnapshotId>,
    /// The first paths that need it; for a page, the directory of its entries.
    pub paths: BTreeSet<TreePath>,
    /// How many more there are.
    pub more: u64,
    /// The damage, if only the walk through the trees found it.
    pub why: Option<String>,
}

/// All hits and what they affect.
#[derive(Clone, Debug, Default)]
pub struct Hits {
    /// The impact of each hit.
    pub impacts: BTreeMap<Hit, Impact>,
    /// The chunks and pages that cannot be read.
    pub lost: BTreeSet<ChunkId>,
    /// Domains with a page that cannot be read: what its subtree needs is unknown.
    pub blind: BTreeSet<DomainId>,
}

impl Hits {
    /// The snapshots that cannot be restored completely.
    pub fn snapshots(&self) -> BTreeSet<SnapshotId> {
        self.impacts.values().flat_map(|impact| impact.snapshots.iter().copied()).collect()
    }

    /// The first paths that cannot be restored.
    pub fn paths(&self) -> BTreeSet<&TreePath> {
        self.impacts.values().flat_map(|impact| &impact.paths).take(PATHS).collect()
    }

    pub(super) fn add_path(&mut self, hits: &BTreeSet<Hit>, path: &TreePath) {
        for hit in hits {
            let impact = self.impacts.entry(*hit).or_default();
            if impact.paths.len() < PATHS {
                impact.paths.insert(path.clone());
            } else if !impact.paths.contains(path) {
                impact.more += 1;
            }
        }
    }

    pub(super) fn add_snapshot(&mut self, hits: &BTreeSet<Hit>, snapshot: SnapshotId) {
        for hit in hits {
            self.impacts.entry(*hit).or_default().snapshots.push(snapshot);
        }
    }

    pub(super) fn explain(&mut self, hit: Hit, why: String) {
        self.impacts.entry(hit).or_default().why.get_or_insert(why);
    }
}

/// Paths named per hit.
const PATHS: usize = 100;
