//! Accepted: the last manifest of a client that was accepted. However many rejected manifests lie behind it, the search
//! reads a bounded number of receipts.

use copal_format::id::{ClientId, ObjectHash};
use copal_format::layout;
use copal_format::receipt::{Outcome, Receipt};
use copal_format::time::Time;
use copal_jobs::objects;
use copal_jobs::view::View;
use copal_store::{Store, StoreError};

use crate::wait::wait;

/// What is known of a client's last accepted manifest.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum LastAccepted {
    /// Every manifest of the client was rejected, or it has none.
    Never,
    /// Nobody can tell within [`LOOK_BACK`] receipts. The client has no snapshot or checkpoint.
    Unknown,
    /// The last accepted manifest. If [`LOOK_BACK`] or more were rejected since, the newest one with a snapshot or
    /// checkpoint.
    Known {
        /// Its number.
        number: u64,
        /// Its hash; none if only the snapshot's record in the state tells of it.
        hash: Option<ObjectHash>,
        /// The store's time of the decision.
        time: Time,
    },
}

impl LastAccepted {
    /// Searches the decisions in a view, then the newest receipts, then the snapshots in the view.
    pub fn find(store: &dyn Store, view: &View, client: ClientId) -> Result<Self, StoreError> {
        let Some(head) = view.state.heads.get(&client) else { return Ok(Self::Never) };
        let last = head.decisions.iter().rfind(|decision| decision.outcome == Outcome::Accepted);
        if let Some(last) = last {
            return Ok(Self::Known { number: last.number, hash: Some(last.hash), time: head.time });
        }
        let mut rejected = 0;
        for number in (1..=head.number).rev().take(LOOK_BACK) {
            let bytes = wait(objects::read(store, &layout::receipt(client, number)))?;
            let receipt = bytes.and_then(|bytes| Receipt::decode(client, number, &bytes).ok());
            match receipt {
                Some(Receipt { outcome: Outcome::Accepted, manifest, time, .. }) => {
                    return Ok(Self::Known { number, hash: Some(manifest), time });
                }
                Some(_) => rejected += 1,
                None => {}
            }
        }
        // Whoever has the client's request key alone can add rejected manifests without end, and no snapshot.
        let newest = view.state.snapshots.range((client, 0)..=(client, u64::MAX)).next_back();
        Ok(match newest {
            Some(((_, number), record)) => Self::Known { number: *number, hash: None, time: record.accepted },
            None if rejected == head.number => Self::Never,
            None => Self::Unknown,
        })
    }
}

/// The most manifests of one client whose receipts are read, the newest first.
pub const LOOK_BACK: usize = 64;

#[cfg(test)]
mod tests {
    use std::iter::{once, repeat_n};

    use copal_format::id::{ChunkId, DomainId, SourceId};
    use copal_format::receipt::IngestBy;
    use copal_format::state::{ClientHead, SnapshotRecord};
    use copal_store::Op;
    use copal_store::memory::MemoryStore;
    use copal_store::record::Record;

    use super::*;

    const CLIENT: ClientId = ClientId([1; 16]);
    const MANIFEST: ObjectHash = ObjectHash([7; 32]);

    /// A store with these answers to a client's manifests, and a state that tells of none of them.
    fn answered(outcomes: impl Iterator<Item = Outcome>) -> (Record<MemoryStore>, View) {
        let store = MemoryStore::new();
        let mut head = ClientHead { number: 0, hash: MANIFEST, time: Time(9), decisions: Vec::new() };
        for outcome in outcomes {
            head.number += 1;
            let receipt = Receipt {
                client: CLIENT,
                number: head.number,
                manifest: MANIFEST,
                outcome,
                root: 1,
                time: Time(5),
                by: IngestBy::Service,
                reasons: Vec::new(),
                missing: Vec::new(),
                packs: Vec::new(),
            };
            let name = objects::key(layout::receipt(CLIENT, head.number));
            wait(store.create(&name, receipt.encode().into())).unwrap();
        }
        let mut view = View::default();
        view.state.heads.insert(CLIENT, head);
        (Record::new(store), view)
    }

    /// One manifest that was accepted, and so many behind it that were rejected.
    fn accepted_before(rejected: usize) -> (Record<MemoryStore>, View) {
        answered(once(Outcome::Accepted).chain(repeat_n(Outcome::Rejected, rejected)))
    }

    /// What is found, and how many objects were read.
    fn found((store, view): &(Record<MemoryStore>, View)) -> (LastAccepted, usize) {
        let last = LastAccepted::find(store, view, CLIENT).unwrap();
        (last, store.events().iter().filter(|event| event.op == Op::Read).count())
    }

    #[test]
    fn behind_any_number_of_rejected_manifests_the_newest_snapshot_is_found_with_few_reads() {
        let mut flooded = accepted_before(1_000);
        let (domain, root, source) = (DomainId([2; 16]), ChunkId([3; 24]), SourceId([4; 16]));
        for (client, number) in [(CLIENT, 1), (ClientId([0; 16]), 7), (ClientId([2; 16]), 8)] {
            let record = SnapshotRecord::new(MANIFEST.snapshot(), domain, root, source, Time(6));
            flooded.1.state.snapshots.insert((client, number), record);
        }
        let known = LastAccepted::Known { number: 1, hash: None, time: Time(6) };
        assert_eq!(found(&flooded), (known, LOOK_BACK));
    }

    #[test]
    fn of_a_client_without_a_snapshot_it_is_unknown_behind_many_rejected_manifests() {
        assert_eq!(found(&accepted_before(1_000)), (LastAccepted::Unknown, LOOK_BACK));
    }

    #[test]
    fn a_few_rejected_manifests_hide_no_accepted_one() {
        let known = LastAccepted::Known { number: 1, hash: Some(MANIFEST), time: Time(5) };
        assert_eq!(found(&accepted_before(10)), (known, 11));
        assert_eq!(found(&answered(repeat_n(Outcome::Rejected, 10))), (LastAccepted::Never, 10));
    }
}
