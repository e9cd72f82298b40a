//! The bytes of state runs, roots, and deletion and baseline records, fixed for ever (`docs/format.md` §6 and §9). The
//! expected ones were written by a second implementation that follows that page.

use core::time::Duration;
use std::collections::BTreeMap;

use copal_format::extent::Extent;
use copal_format::id::{ClientId, ObjectHash, PackId, PackTag, SnapshotId, SourceId, TagId};
use copal_format::index::{Bits, Mark, write_overlay};
use copal_format::layout::{Place, Prunable};
use copal_format::pack::PackKind;
use copal_format::policy::{Floor, Hold, Lingering};
use copal_format::receipt::{Outcome, Reason};
use copal_format::root::{Deletion, Root};
use copal_format::state::{
    ClientHead, Decision, DoomedRecord, DoomedState, OverlayRecord, PackClaim, PackRecord, Run, RunKind, RunReader,
    RunRef, SegmentRecord, SnapshotRecord, SnapshotState, StateDelta, StateFold, write_run,
};
use copal_format::time::Time;

use crate::golden_packs::{DOMAIN, RANDOM, id};
use crate::samples::hex;

const NOW: i64 = 1_790_000_000_000_000_000;

fn run(kind: RunKind, delta: &StateDelta) -> Run {
    write_run(kind, RANDOM, &delta.records(kind))
}

#[test]
fn run_of_segments_is_as_it_always_was() {
    let segment = SegmentRecord { entries: 7, length: 4096, first: id(4), last: id(5) };
    let segments = [((DOMAIN, ObjectHash([3; 32])), Some(segment)), ((DOMAIN, ObjectHash([6; 32])), None)];
    let delta = StateDelta { segments: segments.into(), ..StateDelta::default() };
    assert_eq!(
        hex(&run(RunKind::Segments, &delta).bytes),
        "434f50414c52554e01000000000000000000000000000000000000000000000022222222222222222222222222222222\
         020000000000000030003d00000011111111111111111111111111111111030303030303030303030303030303030303\
         0303030303030303030303030303a4000701191000025818040404040404040404040404040404040404040404040404\
         0358180505050505050505050505050505050505050505050505053000ffffffff111111111111111111111111111111\
         110606060606060606060606060606060606060606060606060606060606060606"
    );
}

fn plain_snapshot() -> SnapshotRecord {
    let record = SnapshotRecord::new(SnapshotId([8; 16]), DOMAIN, id(9), SourceId([10; 16]), Time(NOW));
    SnapshotRecord { accepted: Time(NOW + 1), state_time: Time(NOW + 2), ..record }
}

#[test]
fn run_of_snapshots_is_as_it_always_was() {
    let tags = vec![TagId([11; 16]), TagId([12; 16])];
    let snapshot = SnapshotRecord { tags, state: SnapshotState::Forgotten, pinned: true, ..plain_snapshot() };
    let client = ClientId([7; 16]);
    let snapshots = [((client, 258), Some(snapshot)), ((client, 3), None)];
    let delta = StateDelta { snapshots: snapshots.into(), ..StateDelta::default() };
    assert_eq!(
        hex(&run(RunKind::Snapshots, &delta).bytes),
        "434f50414c52554e02000000000000000000000000000000000000000000000022222222222222222222222222222222\
         02000000000000001800ffffffff07070707070707070707070707070707000000000000000318009c00000007070707\
         0707070707070707070707070000000000000102ac005008080808080808080808080808080808015011111111111111\
         11111111111111111102581809090909090909090909090909090909090909090909090903f4041b18d75b8423f30000\
         051b18d75b8423f3000106500a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0782500b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b50\
         0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c080109f50a1b18d75b8423f300020bf5"
    );
}

#[test]
fn run_of_a_snapshot_that_was_released_is_as_it_always_was() {
    let extent = Some(Extent::about(78_611, 1_300_000_001, 207_654_321));
    let snapshot = SnapshotRecord { extent, released: true, ..plain_snapshot() };
    let snapshots = [((ClientId([7; 16]), 258), Some(snapshot))];
    let delta = StateDelta { snapshots: snapshots.into(), ..StateDelta::default() };
    assert_eq!(
        hex(&run(RunKind::Snapshots, &delta).bytes),
        "434f50414c52554e02000000000000000000000000000000000000000000000022222222222222222222222222222222\
         010000000000000018008d000000070707070707070707070707070707070000000000000102ae005008080808080808\
         080808080808080808015011111111111111111111111111111111025818090909090909090909090909090909090909\
         09090909090903f4041b18d75b8423f30000051b18d75b8423f3000106500a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0780\
         080009f40a1b18d75b8423f300020bf50c831a000138001a4e0000001a0c8000000df5"
    );
}

#[test]
fn run_of_heads_is_as_it_always_was() {
    let accepted = Decision::new(3, ObjectHash([14; 32]), Outcome::Accepted);
    let rejected = Decision {
        reasons: vec![(Reason::Unresolved, "page".to_owned())],
        missing: vec![id(15)],
        packs: vec![PackId([16; 32])],
        ..Decision::new(4, ObjectHash([13; 32]), Outcome::Rejected)
    };
    let decisions = vec![accepted, rejected];
    let head = ClientHead { number: 4, hash: ObjectHash([13; 32]), time: Time(NOW), decisions };
    let heads = [(ClientId([7; 16]), Some(head)), (ClientId([9; 16]), None)];
    let delta = StateDelta { heads: heads.into(), ..StateDelta::default() };
    assert_eq!(
        hex(&run(RunKind::Heads, &delta).bytes),
        "434f50414c52554e03000000000000000000000000000000000000000000000022222222222222222222222222222222\
         02000000000000001000c500000007070707070707070707070707070707a400040158200d0d0d0d0d0d0d0d0d0d0d0d\
         0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d021b18d75b8423f300000382860358200e0e0e0e0e0e0e0e0e0e0e0e\
         0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e00808080860458200d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d\
         0d0d0d0d0d0d0d0d0d0d0d0d0181820e64706167658158180f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f\
         81582010101010101010101010101010101010101010101010101010101010101010101000ffffffff09090909090909\
         090909090909090909"
    );
}

fn data_pack() -> PackRecord {
    PackRecord::new(DOMAIN, PackKind::Data, 300, Time(NOW))
}

#[test]
fn run_of_packs_is_as_it_always_was() {
    let tree = PackRecord::new(DOMAIN, PackKind::Tree, 1 << 25, Time(NOW - 1));
    let damaged = PackRecord { place: Place::Moved, is_damaged: true, read: Time(NOW), ..tree };
    let missing = PackRecord { is_missing: true, ..data_pack() };
    let [first, second, third] = [17, 18, 19].map(|byte| PackId([byte; 32]));
    let packs = [(first, Some(damaged)), (second, Some(missing)), (third, None)];
    let delta = StateDelta { packs: packs.into(), ..StateDelta::default() };
    assert_eq!(
        hex(&run(RunKind::Packs, &delta).bytes),
        "434f50414c52554e04000000000000000000000000000000000000000000000022222222222222222222222222222222\
         03000000000000002000330000001111111111111111111111111111111111111111111111111111111111111111a700\
         50111111111111111111111111111111110101021a0200000003010402051b18d75b8423f30000061b18d75b8423f2ff\
         ff2000290000001212121212121212121212121212121212121212121212121212121212121212a70050111111111111\
         1111111111111111111101000219012c030004010500061b18d75b8423f300002000ffffffff13131313131313131313\
         13131313131313131313131313131313131313131313"
    );
}

/// A run of this record has these bytes, and is read as the record.
fn assert_record(record: PackRecord, bytes: &str) {
    let delta = StateDelta { packs: [(PackId([17; 32]), Some(record.clone()))].into(), ..StateDelta::default() };
    let run = run(RunKind::Packs, &delta);
    assert_eq!(hex(&run.bytes), bytes);
    let mut fold = StateFold::default();
    fold.add(&RunReader::parse(&run.bytes).unwrap()).unwrap();
    assert_eq!(fold.finish().packs, [(PackId([17; 32]), record)].into());
}

#[test]
fn record_of_a_proven_pack_is_as_it_always_was() {
    let claim = PackClaim { client: ClientId([7; 16]), number: 12, by_full_client: true };
    let proven = PackRecord { is_proven: true, claim: Some(claim), ..data_pack() };
    assert_record(
        proven,
        "434f50414c52554e04000000000000000000000000000000000000000000000022222222222222222222222222222222\
         010000000000000020003d0000001111111111111111111111111111111111111111111111111111111111111111a800\
         501111111111111111111111111111111101000219012c0300040c0500061b18d75b8423f30000078250070707070707\
         070707070707070707070c",
    );
}

#[test]
fn record_of_a_forged_pack_is_as_it_always_was() {
    let forged = PackRecord { is_damaged: true, read: PackRecord::FORGED, ..data_pack() };
    assert!(forged.is_forged());
    assert_record(
        forged,
        "434f50414c52554e04000000000000000000000000000000000000000000000022222222222222222222222222222222\
         01000000000000002000290000001111111111111111111111111111111111111111111111111111111111111111a700\
         50111111111111111111111111111111110100021901\
         2c030004020520061b18d75b8423f30000",
    );
}

#[test]
fn run_of_doomed_names_is_as_it_always_was() {
    let doomed = DoomedRecord { state: DoomedState::Doomed, time: Time(NOW), root: 20 };
    let spent = DoomedRecord { state: DoomedState::Spent, time: Time(NOW), root: 19 };
    let [segment, older] = [0xaa, 0xbb].map(|byte| ObjectHash([byte; 32]));
    let names = [Prunable::Pack(Place::Moved, PackId([0x11; 32])), Prunable::Segment(segment), Prunable::Run(older)];
    let doomed = names.into_iter().zip([Some(doomed), Some(spent), None]).collect();
    let delta = StateDelta { doomed, ..StateDelta::default() };
    assert_eq!(
        hex(&run(RunKind::Doomed, &delta).bytes),
        "434f50414c52554e05000000000000000000000000000000000000000000000022222222222222222222222222222222\
         030000000000000046000f000000696e6465782f61616161616161616161616161616161616161616161616161616161\
         616161616161616161616161616161616161616161616161616161616161616161616161a30002011b18d75b8423f300\
         00021349000f0000006d6f7665642f31312f313131313131313131313131313131313131313131313131313131313131\
         31313131313131313131313131313131313131313131313131313131313131313131a30001011b18d75b8423f3000002\
         144600ffffffff73746174652f6262626262626262626262626262626262626262626262626262626262626262626262\
         6262626262626262626262626262626262626262626262626262626262"
    );
}

#[test]
fn run_of_the_overlay_is_as_it_always_was() {
    let mark = |bits, time| Mark { bits, time: Time(time) };
    let marks = BTreeMap::from([
        ((id(1), PackTag([0xaa; 8])), mark(Bits::FLAGGED, NOW)),
        ((id(1), PackTag::NONE), mark(Bits::WANTED | Bits::LOST, -1)),
        ((id(2), PackTag([0xbb; 8])), mark(Bits::NONE, 0)),
    ]);
    assert_eq!(
        hex(&write_overlay(DOMAIN, RANDOM, &marks).bytes),
        "434f50414c52554e06000000000000001111111111111111111111111111111122222222222222222222222222222222\
         03000000000000000101010101010101010101010101010101010101010101010000000000000000ffffffffffffffff\
         0600000000000000010101010101010101010101010101010101010101010101aaaaaaaaaaaaaaaa0000f323845bd718\
         0100000000000000020202020202020202020202020202020202020202020202bbbbbbbbbbbbbbbb0000000000000000\
         0000000000000000"
    );
}

#[test]
fn run_of_runs_of_the_overlay_is_as_it_always_was() {
    let record = OverlayRecord { root: 258, length: 104, records: 1 };
    let runs = [((DOMAIN, ObjectHash([3; 32])), Some(record)), ((DOMAIN, ObjectHash([6; 32])), None)];
    let delta = StateDelta { overlays: runs.into(), ..StateDelta::default() };
    assert_eq!(
        hex(&run(RunKind::OverlayRuns, &delta).bytes),
        "434f50414c52554e07000000000000000000000000000000000000000000000022222222222222222222222222222222\
         020000000000000030000a00000011111111111111111111111111111111030303030303030303030303030303030303\
         0303030303030303030303030303a30019010201186802013000ffffffff111111111111111111111111111111110606\
         060606060606060606060606060606060606060606060606060606060606"
    );
}

#[test]
fn roots_are_as_they_always_were() {
    let run = |kind, hash, length, records| RunRef { kind, hash: ObjectHash([hash; 32]), length, records };
    let root = Root {
        number: 7,
        random: RANDOM,
        base: Some((6, ObjectHash([1; 32]))),
        time: Time(NOW),
        rebuilt: false,
        runs: vec![run(RunKind::Packs, 2, 300, 3), run(RunKind::OverlayRuns, 3, 200, 2)],
        change_head: Some((12, ObjectHash([4; 32]))),
        policy: Some((9, ObjectHash([5; 32]))),
        expiry_head: Some((2, ObjectHash([6; 32]))),
        lingering: None,
    };
    assert_eq!(
        hex(&root.encode().unwrap()),
        "636f70616c726563110106010000a9000701502222222222222222222222222222222202820658200101010101010101\
         010101010101010101010101010101010101010101010101031b18d75b8423f3000004f4058284045820020202020202\
         020202020202020202020202020202020202020202020202020219012c03840758200303030303030303030303030303\
         03030303030303030303030303030303030318c80206820c582004040404040404040404040404040404040404040404\
         040404040404040404040782095820050505050505050505050505050505050505050505050505050505050505050508\
         820258200606060606060606060606060606060606060606060606060606060606060606d4501c9f47966cb55196c887\
         e715ebe149263343978da57ec9248ca3ba4df3f5"
    );
    let lingering = Lingering {
        until: Time(NOW),
        floor: Floor { last: 3, age: Duration::from_secs(2_592_000) },
        hold: Some(Hold { share: 50, least: 67_108_864 }),
    };
    assert_eq!(
        hex(&Root { lingering: Some(lingering), ..root.clone() }.encode().unwrap()),
        "636f70616c726563110123010000aa000701502222222222222222222222222222222202820658200101010101010101\
         010101010101010101010101010101010101010101010101031b18d75b8423f3000004f4058284045820020202020202\
         020202020202020202020202020202020202020202020202020219012c03840758200303030303030303030303030303\
         03030303030303030303030303030303030318c80206820c582004040404040404040404040404040404040404040404\
         040404040404040404040782095820050505050505050505050505050505050505050505050505050505050505050508\
         82025820060606060606060606060606060606060606060606060606060606060606060609a3001b18d75b8423f30000\
         0182031a00278d00028218321a0400000057b42b331ba6921374003bd5f0a2d177e36d24929bf3102ba26f846bb5a4cf\
         cb"
    );
    let links = Root { change_head: None, policy: None, expiry_head: None, ..root };
    let first = Root { number: 1, base: None, rebuilt: true, runs: Vec::new(), ..links };
    assert_eq!(
        hex(&first.encode().unwrap()),
        "636f70616c726563110123000000a50001015022222222222222222222222222222222031b18d75b8423f3000004f505\
         809b43d958c32fc9260833e1e93516d1a3f0e16b6dace52d3c0b5f40179fc3408e"
    );
}

#[test]
fn deletion_record_is_as_it_always_was() {
    let names = vec![Prunable::Pack(Place::Packs, PackId([0x11; 32])), Prunable::Run(ObjectHash([0xbb; 32]))];
    let deletion = Deletion { root_number: 7, random: RANDOM, time: Time(NOW), names, baseline: None };
    assert_eq!(
        hex(&deletion.encode()),
        "636f70616c7265631301b4000000a40007015022222222222222222222222222222222021b18d75b8423f30000038278\
         497061636b732f31312f3131313131313131313131313131313131313131313131313131313131313131313131313131\
         3131313131313131313131313131313131313131313131313131784673746174652f6262626262626262626262626262\
         626262626262626262626262626262626262626262626262626262626262626262626262626262626262626262626262\
         6262eea3204fa261b083b17bc1937fd0b1994b6c267e277c2dbf04e0ef9fcc7e7534"
    );
}

#[test]
fn baseline_record_is_as_it_always_was() {
    let root = Some((8, ObjectHash([0x33; 32])));
    let baseline = Deletion { root_number: 7, random: RANDOM, time: Time(NOW), names: Vec::new(), baseline: root };
    assert_eq!(
        hex(&baseline.encode()),
        "636f70616c726563130146000000a50007015022222222222222222222222222222222021b18d75b8423f30000038004\
         82085820333333333333333333333333333333333333333333333333333333333333333332652601c05a265a0bb935b3\
         c6b14e10028012584521680accce9ceeb4a21402"
    );
}
