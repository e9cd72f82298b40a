use proptest::prelude::*;

use super::run::RUNS_MOST;
use super::*;
use crate::extent::Extent;
use crate::id::{ChunkId, SnapshotId, SourceId, TagId};
use crate::layout::{self, Place, Prunable};
use crate::limits::{RECEIPT_NAMES, RECEIPT_REASONS, TEXT_BYTES};
use crate::pack::PackKind;
use crate::receipt::{Outcome, Reason};
use crate::time::Time;

fn segment(byte: u8) -> SegmentRecord {
    SegmentRecord { entries: 7, length: 4096, first: ChunkId([byte; 24]), last: ChunkId([0xff; 24]) }
}

fn snapshot(byte: u8) -> SnapshotRecord {
    SnapshotRecord {
        id: SnapshotId([byte; 16]),
        domain: DomainId([2; 16]),
        root: ChunkId([3; 24]),
        partial: byte.is_multiple_of(2),
        client_time: Time(-4),
        accepted: Time(5),
        source: SourceId([6; 16]),
        tags: vec![TagId([7; 16]), TagId([8; 16])],
        state: [SnapshotState::Kept, SnapshotState::Forgotten, SnapshotState::Gone][usize::from(byte % 3)],
        pinned: byte.is_multiple_of(5),
        state_time: Time(9),
        by_full_client: byte.is_multiple_of(7),
        extent: byte.is_multiple_of(3).then(|| Extent::about(u64::from(byte), 1_000, 300)),
        released: byte.is_multiple_of(4),
    }
}

fn decision(number: u64) -> Decision {
    Decision {
        number,
        hash: ObjectHash([4; 32]),
        outcome: Outcome::Rejected,
        reasons: vec![(Reason::Unresolved, "page 3".to_owned())],
        missing: vec![ChunkId([5; 24])],
        packs: vec![PackId([6; 32])],
    }
}

fn head(byte: u8) -> ClientHead {
    let hash = ObjectHash([byte; 32]);
    ClientHead { number: u64::from(byte), hash, time: Time(3), decisions: vec![decision(1), decision(2)] }
}

fn pack(byte: u8) -> PackRecord {
    PackRecord {
        place: Place::Moved,
        is_missing: byte.is_multiple_of(2),
        is_damaged: byte.is_multiple_of(3),
        ..PackRecord::new(DomainId([byte; 16]), PackKind::Tree, 1 << 25, Time(6))
    }
}

fn doomed(byte: u8) -> DoomedRecord {
    DoomedRecord { state: DoomedState::Spent, time: Time(i64::from(byte)), root: 9 }
}

fn overlay(byte: u8) -> OverlayRecord {
    OverlayRecord { root: u64::from(byte % 3), length: 104, records: 1 }
}

/// Some changes of every kind, among few enough keys that deltas meet.
fn deltas() -> impl Strategy<Value = StateDelta> {
    let change = || prop::collection::btree_map(0u8..6, prop::option::weighted(0.7, 0u8..210), 0..4);
    (change(), change(), change(), change(), change(), change()).prop_map(
        |(segments, snapshots, heads, packs, names, runs)| StateDelta {
            segments: segments
                .into_iter()
                .map(|(key, value)| ((DomainId([key % 2; 16]), ObjectHash([key; 32])), value.map(segment)))
                .collect(),
            snapshots: snapshots
                .into_iter()
                .map(|(key, value)| ((ClientId([key % 2; 16]), u64::from(key) * 100), value.map(snapshot)))
                .collect(),
            heads: heads.into_iter().map(|(key, value)| (ClientId([key; 16]), value.map(head))).collect(),
            packs: packs.into_iter().map(|(key, value)| (PackId([key; 32]), value.map(pack))).collect(),
            doomed: names
                .into_iter()
                .map(|(key, value)| (Prunable::Pack(Place::Packs, PackId([key; 32])), value.map(doomed)))
                .collect(),
            overlays: runs
                .into_iter()
                .map(|(key, value)| ((DomainId([key % 2; 16]), ObjectHash([key; 32])), value.map(overlay)))
                .collect(),
        },
    )
}

/// What a delta does to a state.
fn apply(state: &mut State, delta: StateDelta) {
    fn merge<K: Ord, V>(state: &mut BTreeMap<K, V>, changes: BTreeMap<K, Option<V>>) {
        for (key, value) in changes {
            match value {
                Some(value) => state.insert(key, value),
                None => state.remove(&key),
            };
        }
    }
    merge(&mut state.segments, delta.segments);
    merge(&mut state.snapshots, delta.snapshots);
    merge(&mut state.heads, delta.heads);
    merge(&mut state.packs, delta.packs);
    merge(&mut state.doomed, delta.doomed);
    merge(&mut state.overlays, delta.overlays);
}

fn runs(delta: &StateDelta) -> Vec<Run> {
    let records = RunKind::RECORDS.map(|kind| (kind, delta.records(kind)));
    let touched = records.iter().filter(|(_, records)| !records.is_empty());
    touched.map(|(kind, records)| write_run(*kind, [1; 16], records)).collect()
}

fn fold(newest_first: &[Run]) -> Result<State, DecodeError> {
    let mut fold = StateFold::default();
    for run in newest_first {
        fold.add(&RunReader::parse(&run.bytes)?)?;
    }
    Ok(fold.finish())
}

proptest! {
    #[test]
    fn folding_the_runs_of_deltas_gives_what_applying_them_gives(deltas in prop::collection::vec(deltas(), 0..6)) {
        let mut state = State::default();
        deltas.iter().cloned().for_each(|delta| apply(&mut state, delta));
        let newest_first: Vec<Run> = deltas.iter().rev().flat_map(runs).collect();
        prop_assert_eq!(fold(&newest_first), Ok(state));
    }

    #[test]
    fn a_delta_is_empty_exactly_if_it_has_no_runs(delta in deltas()) {
        prop_assert_eq!(delta.is_empty(), runs(&delta).is_empty());
    }

    #[test]
    fn a_run_says_of_itself_what_a_root_says_of_it(delta in deltas()) {
        for run in runs(&delta) {
            prop_assert_eq!(run.reference.hash, ObjectHash::of(&run.bytes));
            prop_assert_eq!(run.reference.length, run.bytes.len() as u64);
            let reader = RunReader::parse(&run.bytes).unwrap();
            prop_assert_eq!(run.reference.records, reader.records().count() as u64);
            prop_assert_eq!(run.reference.kind, reader.kind());
        }
    }
}

#[test]
fn keys_that_do_not_ascend_are_refused() {
    let record = |key: u8| [1, 0, 0xff, 0xff, 0xff, 0xff, key];
    let run = |keys: [u8; 2]| {
        let mut bytes = Vec::new();
        run::put_head(&mut bytes, RunKind::Doomed, DomainId([0; 16]), [0; 16], 2);
        bytes.extend(keys.map(record).concat());
        RunReader::parse(&bytes).map(|run| run.records().count()).map_err(|error| error.offset)
    };
    assert_eq!(run([1, 2]), Ok(2));
    assert_eq!(run([2, 2]), Err(run::HEAD + 7));
    assert_eq!(run([2, 1]), Err(run::HEAD + 7));
}

#[test]
fn a_run_of_the_overlay_or_with_a_domain_is_none_of_the_state() {
    for (kind, domain) in [(RunKind::Overlay, [0; 16]), (RunKind::Packs, [1; 16])] {
        let mut bytes = Vec::new();
        run::put_head(&mut bytes, kind, DomainId(domain), [0; 16], 0);
        assert!(RunReader::parse(&bytes).is_err(), "{kind:?}");
    }
}

#[test]
fn the_newest_run_of_an_overlay_comes_first() {
    let run = |root| OverlayRecord { root, length: 104, records: 1 };
    let runs = [(1, 1, 5), (2, 7, 4), (2, 8, 9), (2, 9, 6), (3, 1, 7)];
    let overlays = runs.map(|(domain, hash, root)| ((DomainId([domain; 16]), ObjectHash([hash; 32])), run(root)));
    let state = State { overlays: overlays.into(), ..State::default() };
    let roots: Vec<u64> = state.overlays_of(DomainId([2; 16])).iter().map(|(_, record)| record.root).collect();
    assert_eq!(roots, [9, 6, 4]);
}

#[test]
fn a_head_with_more_than_a_reader_takes_is_cut_as_receipts_are() {
    let mut long = head(1);
    long.decisions = vec![decision(1); 1000];
    long.decisions[0].missing = vec![ChunkId([1; 24]); RECEIPT_NAMES + 1];
    long.decisions[0].packs = vec![PackId([1; 32]); RECEIPT_NAMES + 1];
    long.decisions[0].reasons = vec![(Reason::Height, "ü".repeat(TEXT_BYTES)); RECEIPT_REASONS + 1];
    let read = ClientHead::decode(&long.encode()).unwrap();
    let first = &read.decisions[0];
    assert_eq!(read.decisions.len(), 1000);
    assert_eq!((first.missing.len(), first.packs.len()), (RECEIPT_NAMES, RECEIPT_NAMES));
    assert_eq!((first.reasons.len(), first.reasons[0].1.len()), (RECEIPT_REASONS, TEXT_BYTES));
}

#[test]
fn a_pack_that_a_full_client_claimed_has_its_claim() {
    let mut bytes = PackRecord::new(DomainId([9; 16]), PackKind::Data, 1, Time(0)).encode();
    // The last six bytes are the keys 4 to 6 and their values.
    let bits = bytes.len() - 5;
    bytes[bits] = 7;
    assert!(PackRecord::decode(&bytes).is_ok_and(|record| record.is_proven));
    bytes[bits] = 8;
    assert!(PackRecord::decode(&bytes).is_err());
}

#[test]
fn changes_may_add_any_number_of_tags() {
    let tagged = SnapshotRecord { tags: vec![TagId([1; 16]); 10_000], ..snapshot(1) };
    assert_eq!(SnapshotRecord::decode(&tagged.encode()), Ok(tagged));
}

#[test]
fn there_are_never_more_than_eight_runs_and_records_are_rarely_rewritten() {
    let halving = (0..20).map(|i| 1 << (20 - i)).chain((0..20_000).map(|_| 1));
    let mixed = (0..20_000).map(|i| if i % 7 == 3 { 10_000 } else { 1 + i % 5 });
    let cases: [(&str, Box<dyn Iterator<Item = u64>>); 5] = [
        ("equal", Box::new((0..20_000).map(|_| 1))),
        ("one large, then small", Box::new([1_000_000].into_iter().chain((0..20_000).map(|_| 1)))),
        ("halving, then small", Box::new(halving)),
        ("mixed", Box::new(mixed)),
        ("every other one empty", Box::new((0..1_000).map(|i| i % 2))),
    ];
    for (case, sizes) in cases {
        let (mut runs, mut written, mut added) = (Vec::new(), 0, 0);
        for new in sizes {
            let folded = runs_to_fold(new, &runs);
            let sum = new + runs.drain(..folded).sum::<u64>();
            runs.insert(0, sum);
            assert!(runs.len() <= RUNS_MOST, "{case}: {runs:?}");
            (written, added) = (written + sum, added + new);
        }
        assert!(written <= 20 * added, "{case}: each record is written {} times", written / added);
    }
}

#[test]
fn what_to_fold_is_found_for_any_number_and_size_of_runs() {
    assert_eq!(runs_to_fold(1, &[]), 0);
    assert_eq!(runs_to_fold(1, &[5, 1000]), 0);
    assert_eq!(runs_to_fold(1, &[4, 20, 1000]), 2);
    assert_eq!(runs_to_fold(0, &[u64::MAX; 20]), 20);
    assert_eq!(runs_to_fold(u64::MAX, &[u64::MAX - 1; 8]), 8);
}

#[test]
fn a_run_that_dooms_anything_else_than_packs_segments_and_runs_is_refused() {
    let doom = |name: &str| {
        let record = DoomedRecord { state: DoomedState::Doomed, ..doomed(1) };
        let records = Records::from([(name.as_bytes().to_vec(), Some(record.encode()))]);
        fold(&[write_run(RunKind::Doomed, [1; 16], &records)])
    };
    let (hash, client) = (ObjectHash([7; 32]), ClientId([7; 16]));
    for name in [layout::segment(hash), layout::state(hash), layout::pack(Place::Moved, PackId([7; 32]))] {
        assert_eq!(doom(&name).unwrap().doomed.keys().map(Prunable::to_string).collect::<Vec<_>>(), [name]);
    }
    let hashed = ["keys", "copal", "roots", "reader"].map(|folder| format!("{folder}/{hash}"));
    let numbered = [layout::root(1), layout::descriptor(1), layout::manifest(client, 1), layout::client(client, 1)];
    for name in hashed.into_iter().chain(numbered).chain(["".to_owned(), "packs/x".to_owned()]) {
        assert!(doom(&name).is_err(), "{name}");
    }
}
