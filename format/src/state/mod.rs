//! State: what a root names besides the index: segments, snapshots, client heads, packs, doomed names and overlay runs.
//! It is kept in sorted runs that are folded like the levels of a log-structured merge tree (`docs/format.md` §9).

mod record;
pub(crate) mod run;
mod snapshot;

use core::ops::RangeInclusive;
use std::collections::BTreeMap;

pub use record::{
    ClientHead, Decision, DoomedRecord, DoomedState, OverlayRecord, PackClaim, PackRecord, SegmentRecord,
};
pub use run::{Older, RUNS_MOST, Run, RunKind, RunReader, RunRef, runs_to_fold, write_run};
pub use snapshot::{SnapshotRecord, SnapshotState};

use crate::id::{ClientId, DomainId, ObjectHash, PackId};
use crate::layout::Prunable;
use crate::order;
use crate::wire::DecodeError;

/// The state that a root names, without the content of index and overlays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Index segments by domain and name.
    pub segments: BTreeMap<(DomainId, ObjectHash), SegmentRecord>,
    /// Snapshots and checkpoints by the manifest that claims them.
    pub snapshots: BTreeMap<(ClientId, u64), SnapshotRecord>,
    /// The last decided manifest of each client.
    pub heads: BTreeMap<ClientId, ClientHead>,
    /// The packs with chunks or pages in the index.
    pub packs: BTreeMap<PackId, PackRecord>,
    /// Names of objects that are about to be deleted, or are deleted.
    pub doomed: BTreeMap<Prunable, DoomedRecord>,
    /// Runs of the overlays by domain and name.
    pub overlays: BTreeMap<(DomainId, ObjectHash), OverlayRecord>,
}

/// Changes to a state; the value `None` removes a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateDelta {
    /// Changed segments.
    pub segments: BTreeMap<(DomainId, ObjectHash), Option<SegmentRecord>>,
    /// Changed snapshots.
    pub snapshots: BTreeMap<(ClientId, u64), Option<SnapshotRecord>>,
    /// Changed heads.
    pub heads: BTreeMap<ClientId, Option<ClientHead>>,
    /// Changed packs.
    pub packs: BTreeMap<PackId, Option<PackRecord>>,
    /// Changed names.
    pub doomed: BTreeMap<Prunable, Option<DoomedRecord>>,
    /// Changed runs of overlays.
    pub overlays: BTreeMap<(DomainId, ObjectHash), Option<OverlayRecord>>,
}

/// The records of a run by key; the value `None` removes an older record.
pub type Records = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

impl StateDelta {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The changes of one kind, encoded as records of a run.
    pub fn records(&self, kind: RunKind) -> Records {
        fn encoded<K, V>(
            changes: &BTreeMap<K, Option<V>>,
            key: impl Fn(&K) -> Vec<u8>,
            encode: impl Fn(&V) -> Vec<u8>,
        ) -> Records {
            changes.iter().map(|(k, value)| (key(k), value.as_ref().map(&encode))).collect()
        }
        match kind {
            RunKind::Segments => encoded(&self.segments, record::part_key, SegmentRecord::encode),
            RunKind::Snapshots => encoded(&self.snapshots, record::snapshot_key, SnapshotRecord::encode),
            RunKind::Heads => encoded(&self.heads, |id| id.0.to_vec(), ClientHead::encode),
            RunKind::Packs => encoded(&self.packs, |id| id.0.to_vec(), PackRecord::encode),
            RunKind::Doomed => encoded(&self.doomed, |name| name.to_string().into_bytes(), DoomedRecord::encode),
            RunKind::OverlayRuns => encoded(&self.overlays, record::part_key, OverlayRecord::encode),
            RunKind::Overlay => Records::new(),
        }
    }
}

impl State {
    /// A domain's segments, ascending by name.
    pub fn segments_of(&self, domain: DomainId) -> impl Iterator<Item = (ObjectHash, &SegmentRecord)> {
        self.segments.range(all_of(domain)).map(|((_, hash), record)| (*hash, record))
    }

    /// A domain's overlay runs, the newest first.
    pub fn overlays_of(&self, domain: DomainId) -> Vec<(ObjectHash, &OverlayRecord)> {
        let mut runs: Vec<_> = self.overlays.range(all_of(domain)).map(|((_, hash), record)| (*hash, record)).collect();
        order::sort_by(&mut runs, |a, b| b.1.root.cmp(&a.1.root).then(a.0.cmp(&b.0)));
        runs
    }
}

fn all_of(domain: DomainId) -> RangeInclusive<(DomainId, ObjectHash)> {
    (domain, ObjectHash([0; ObjectHash::LEN]))..=(domain, ObjectHash([0xff; ObjectHash::LEN]))
}

/// Folds runs into a state. Of each kind, the newest run must come first.
#[derive(Debug, Default)]
pub struct StateFold {
    state: StateDelta,
}

impl StateFold {
    /// Adds a run. Keys that newer runs already set are not changed.
    pub fn add(&mut self, run: &RunReader<'_>) -> Result<(), DecodeError> {
        for (key, value) in run.records() {
            match run.kind() {
                RunKind::Segments => {
                    let value = value.map(SegmentRecord::decode).transpose()?;
                    self.state.segments.entry(record::part_of(key).ok_or_else(bad_key)?).or_insert(value);
                }
                RunKind::Snapshots => add_snapshot(&mut self.state.snapshots, key, value)?,
                RunKind::Heads => {
                    let value = value.map(ClientHead::decode).transpose()?;
                    let key = ClientId::from_slice(key).ok_or_else(bad_key)?;
                    self.state.heads.entry(key).or_insert(value);
                }
                RunKind::Packs => {
                    let value = value.map(PackRecord::decode).transpose()?;
                    let key = PackId::from_slice(key).ok_or_else(bad_key)?;
                    self.state.packs.entry(key).or_insert(value);
                }
                RunKind::Doomed => {
                    let value = value.map(DoomedRecord::decode).transpose()?;
                    let foreign = DecodeError::new(0, "a doomed name is of an object that no prune may delete");
                    let key = core::str::from_utf8(key).ok().and_then(Prunable::parse).ok_or(foreign)?;
                    self.state.doomed.entry(key).or_insert(value);
                }
                RunKind::OverlayRuns => {
                    let value = value.map(OverlayRecord::decode).transpose()?;
                    self.state.overlays.entry(record::part_of(key).ok_or_else(bad_key)?).or_insert(value);
                }
                RunKind::Overlay => {}
            }
        }
        Ok(())
    }

    /// The folded state, without removed keys.
    pub fn finish(self) -> State {
        let StateDelta { segments, snapshots, heads, packs, doomed, overlays } = self.state;
        State {
            segments: present(segments),
            snapshots: present(snapshots),
            heads: present(heads),
            packs: present(packs),
            doomed: present(doomed),
            overlays: present(overlays),
        }
    }
}

/// The snapshots alone, from runs of [`RunKind::Snapshots`], the newest first; other runs are passed over.
pub fn fold_snapshots<'a>(
    runs: impl IntoIterator<Item = RunReader<'a>>,
) -> Result<BTreeMap<(ClientId, u64), SnapshotRecord>, DecodeError> {
    let mut fold = BTreeMap::new();
    for run in runs.into_iter().filter(|run| run.kind() == RunKind::Snapshots) {
        for (key, value) in run.records() {
            add_snapshot(&mut fold, key, value)?;
        }
    }
    Ok(present(fold))
}

fn add_snapshot(
    fold: &mut BTreeMap<(ClientId, u64), Option<SnapshotRecord>>,
    key: &[u8],
    value: Option<&[u8]>,
) -> Result<(), DecodeError> {
    let value = value.map(SnapshotRecord::decode).transpose()?;
    fold.entry(record::snapshot_of(key).ok_or_else(bad_key)?).or_insert(value);
    Ok(())
}

fn bad_key() -> DecodeError {
    DecodeError::new(0, "a run's key has the wrong form")
}

/// Leaves out removed keys.
fn present<K: Ord, V>(records: BTreeMap<K, Option<V>>) -> BTreeMap<K, V> {
    // `collect` would sort, and its code for six types would make the browser's module larger.
    let mut found = BTreeMap::new();
    found.extend(records.into_iter().filter_map(|(key, value)| Some((key, value?))));
    found
}

#[cfg(test)]
mod tests;
