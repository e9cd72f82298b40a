//! Domains: where the tags of a policy have ids. A tag has another id in each domain.

use std::collections::BTreeSet;

use copal_format::id::DomainId;
use copal_format::state::SnapshotRecord;

/// The domains in which a policy needs the ids of its tags: the shared one, those of all snapshots, and those of the
/// clients whose records can be read. Snapshots count for themselves: without an id in the domain of a client whose
/// record is damaged, its tagged snapshots would expire.
pub fn tag_domains<'a>(
    snapshots: impl Iterator<Item = &'a SnapshotRecord>,
    shared: Option<DomainId>,
    clients: impl IntoIterator<Item = DomainId>,
) -> BTreeSet<DomainId> {
    snapshots.map(|record| record.domain).chain(shared).chain(clients).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use copal_format::id::{ChunkId, SnapshotId, SourceId};
    use copal_format::time::Time;

    #[test]
    fn a_domain_counts_for_its_snapshots_for_its_clients_or_as_the_shared_one_and_once() {
        let [of_snapshot, shared, of_client] = [1, 2, 3].map(|byte| DomainId([byte; 16]));
        let (id, root, source) = (SnapshotId([4; 16]), ChunkId([5; 24]), SourceId([6; 16]));
        let record = SnapshotRecord::new(id, of_snapshot, root, source, Time(0));
        let domains = tag_domains([&record, &record].into_iter(), Some(shared), [of_client, shared]);
        assert_eq!(domains, BTreeSet::from([of_snapshot, shared, of_client]));
    }
}
