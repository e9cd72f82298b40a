//! Contradicted: who may create roots and states can write any. On one that does not follow from what clients have signed
//! nothing is removed, however it lies.

use std::time::Duration;

use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::id::{ChunkId, ObjectHash, SnapshotId};
use copal_format::index::{Segment, SegmentWriter, merge};
use copal_format::layout::{self, Place};
use copal_format::pack;
use copal_format::policy::Floor;
use copal_format::receipt::Outcome;
use copal_format::repository::IngestBy;
use copal_format::root::Root;
use copal_format::state::{ClientHead, PackRecord, SnapshotRecord, SnapshotState};
use copal_format::time::Time;
use copal_jobs::commit::{Proposal, commit};
use copal_jobs::error::JobError;
use copal_jobs::expire;
use copal_jobs::prune::Options;
use copal_jobs::view::View;
use copal_tests::kit::craft::{data_pack, id};
use copal_tests::kit::{Client, DAY, Tree, World, guarded, keep_last, noise as files};
use futures::executor::block_on;

use super::flag_all;

/// A repository with a policy, a kept snapshot and one that its client has forgotten, which no prune has removed.
pub(super) struct Begun {
    pub(super) world: World,
    pub(super) client: Client,
    pub(super) tree: Tree,
    pub(super) kept: SnapshotId,
    pub(super) forgotten: SnapshotId,
}

pub(super) fn begin(is_pruned: bool) -> Begun {
    let (world, client) = World::with_client();
    world.change(&client, vec![guarded(9, Floor { last: 1, age: 3 * DAY }, None)]);
    let early = world.back_up(&client, &files(9, 2, 2000));
    if is_pruned {
        world.prune(DAY);
    }
    let tree = files(1, 4, 3000);
    let kept = world.back_up(&client, &tree);
    world.change(&client, vec![Operation::Forget(vec![early])]);
    Begun { world, client, tree, kept, forgotten: early }
}

/// Writes the next root as ingest, compact or check can.
pub(super) fn write(begun: &Begun, lie: &dyn Fn(&Begun, &View, &mut Proposal)) {
    let (view, mut proposal) = (begun.world.view(), Proposal::default());
    lie(begun, &view, &mut proposal);
    assert!(block_on(commit(&begun.world.job(), &view, proposal)).unwrap().is_some());
}

/// The same, with something else in the root itself.
pub(super) fn write_root(begun: &Begun, lie: &dyn Fn(&Begun, Root) -> Root) {
    let (root, hash) = begun.world.view().root.unwrap();
    let next = Root { number: root.number + 1, base: Some((root.number, hash)), random: [8; 16], ..root };
    let forged = lie(begun, next);
    begun.world.put(&layout::root(forged.number), forged.encode().unwrap());
}

/// Prunes again and again with no grace: nothing that was there is gone, and check tells why.
pub(super) fn assert_refused(begun: &Begun, lie: &str) {
    let world = &begun.world;
    let stored = [world.names("packs/"), world.names("index/")].concat();
    for _ in 0..3 {
        let pruned = world.try_prune(&at_once());
        assert!(matches!(pruned, Err(JobError::Contradicted { .. })), "{lie}: {pruned:?}");
        world.wait(5 * DAY);
    }
    let lost: Vec<&String> = stored.iter().filter(|name| !world.has(name)).collect();
    assert!(lost.is_empty(), "{lie}: {lost:?}");
    let found = world.check().findings;
    assert!(found.iter().any(|of| of.why.contains("does not follow")), "{lie}: {found:?}");
}

/// A rebuild goes back to what was signed, and then prunes go on.
pub(super) fn assert_mended(begun: &Begun, lie: &str) {
    let Begun { world, tree, kept, forgotten, .. } = begun;
    world.rebuild();
    assert_eq!(world.restore(*kept).as_ref(), Ok(tree), "{lie}");
    assert_eq!(world.snapshot(*forgotten).state, SnapshotState::Forgotten, "{lie}");
    world.try_prune(&at_once()).unwrap();
    assert_eq!(world.restore(*kept).as_ref(), Ok(tree), "{lie}");
    assert!(world.check().is_ok(), "{lie}: {:?}", world.check().findings);
}

pub(super) fn change_snapshot(id: SnapshotId, view: &View, proposal: &mut Proposal, lie: impl Fn(&mut SnapshotRecord)) {
    let (key, record) = view.state.snapshots.iter().find(|(_, record)| record.id == id).unwrap();
    let mut record = record.clone();
    lie(&mut record);
    proposal.delta.snapshots.insert(*key, Some(record));
}

pub(super) fn leave_out_kept(begun: &Begun, view: &View, proposal: &mut Proposal) {
    let key = view.state.snapshots.iter().find(|(_, record)| record.id == begun.kept).unwrap().0;
    proposal.delta.snapshots.insert(*key, None);
}

pub(super) fn change_packs(view: &View, proposal: &mut Proposal, lie: impl Fn(&mut PackRecord)) {
    for (id, record) in &view.state.packs {
        let mut record = record.clone();
        lie(&mut record);
        proposal.delta.packs.insert(*id, Some(record));
    }
}

/// Writes the newest segment of a domain anew, without some of what it holds.
pub(super) fn leave_out_entries(view: &View, proposal: &mut Proposal, leaves: impl Fn(&ChunkId) -> bool) {
    for domain in view.domains() {
        let segments: Vec<_> = view.segments_of(domain).collect();
        let parts: Vec<&Segment<_>> = segments.iter().map(|(_, segment)| *segment).collect();
        let merged = merge(domain, [5; 16], &parts, |entry| !leaves(&entry.id)).unwrap();
        for (hash, _) in segments {
            proposal.delta.segments.insert((domain, hash), None);
        }
        if let Some(merged) = merged {
            proposal.delta.segments.insert((domain, merged.hash), Some(merged.record));
            proposal.segments.push((merged.hash, merged.bytes));
        }
    }
}

type RootLie = (&'static str, fn(&Begun, Root) -> Root);
type Lie = (&'static str, fn(&Begun, &View, &mut Proposal));

const LIES: [Lie; 14] = [
    ("no snapshot, and all is flagged since long ago", |_, view, proposal| {
        proposal.delta.snapshots = view.state.snapshots.keys().map(|key| (*key, None)).collect();
        flag_all(view, proposal);
    }),
    ("a snapshot is missing", leave_out_kept),
    ("a snapshot is forgotten that nobody has forgotten", |begun, view, proposal| {
        change_snapshot(begun.kept, view, proposal, |of| of.state = SnapshotState::Forgotten);
    }),
    ("a snapshot is gone", |begun, view, proposal| {
        change_snapshot(begun.kept, view, proposal, |of| of.state = SnapshotState::Gone);
    }),
    ("a snapshot is a checkpoint", |begun, view, proposal| {
        change_snapshot(begun.kept, view, proposal, |of| of.partial = true);
    }),
    ("a snapshot has another root page", |begun, view, proposal| {
        change_snapshot(begun.kept, view, proposal, |of| of.root = id(1));
    }),
    ("a snapshot is of another source", |begun, view, proposal| {
        change_snapshot(begun.kept, view, proposal, |of| of.source.0[0] ^= 1);
    }),
    ("a snapshot that nobody has signed", |begun, view, proposal| {
        let record = begun.world.snapshot(begun.kept);
        let number = view.state.heads[&begun.client.id].number + 1;
        let newer = SnapshotRecord { id: SnapshotId([7; 16]), ..record };
        proposal.delta.snapshots.insert((begun.client.id, number), Some(newer));
    }),
    ("no pack", |_, view, proposal| {
        proposal.delta.packs = view.state.packs.keys().map(|id| (*id, None)).collect();
    }),
    ("a pack that nobody has named", |begun, view, proposal| {
        let pack = data_pack(begun.client.domain, 1, &[id(1)]);
        let record = view.state.packs.values().next().unwrap().clone();
        proposal.delta.packs.insert(pack.id, Some(record));
    }),
    ("packs lie where prunes move them", |_, view, proposal| {
        change_packs(view, proposal, |of| of.place = Place::Moved)
    }),
    ("packs are claimed by nobody", |_, view, proposal| change_packs(view, proposal, |of| of.claim = None)),
    ("an index without entries", |_, view, proposal| leave_out_entries(view, proposal, |_| true)),
    ("an index without every second entry", |_, view, proposal| {
        leave_out_entries(view, proposal, |id| id.as_bytes()[5] % 2 == 0);
    }),
];

#[test]
fn nothing_is_removed_on_a_state_that_nobody_has_signed() {
    for (lie, write_it) in LIES {
        for is_pruned in [false, true] {
            let begun = begin(is_pruned);
            write(&begun, &write_it);
            assert_refused(&begun, lie);
            assert_mended(&begun, lie);
        }
    }
}

#[test]
fn what_a_state_calls_older_is_as_old_as_its_manifest() {
    let begun = begin(false);
    write(&begun, &|begun, view, proposal| {
        change_snapshot(begun.forgotten, view, proposal, |of| of.accepted = Time(0));
        change_packs(view, proposal, |of| of.accepted = Time(0));
    });
    for _ in 0..2 {
        assert_eq!(begun.world.prune(Duration::ZERO).protected, 1, "the floor keeps it");
    }
    let view = begun.world.view();
    assert!(view.state.packs.values().all(|pack| pack.accepted > Time(0)));
    assert!(view.state.snapshots.values().all(|snapshot| snapshot.accepted > Time(0)));
    // What a prune has seen has its time.
    write(&begun, &|begun, view, proposal| {
        change_snapshot(begun.forgotten, view, proposal, |of| of.accepted = Time(0));
    });
    assert_refused(&begun, "a snapshot is older than it was");
}

#[test]
fn an_index_with_an_entry_that_its_pack_does_not_hold_is_refused() {
    for is_pruned in [false, true] {
        let begun = begin(is_pruned);
        write(&begun, &|_, view, proposal| {
            let domain = begun.client.domain;
            let packs = view.state.packs.iter().filter(|(_, of)| of.domain == domain);
            let (pack, record) = packs.min_by_key(|(_, of)| of.accepted).unwrap();
            let bytes = begun.world.read(&layout::pack(record.place, *pack));
            let mut table = pack::parse(&bytes).unwrap();
            table.ids[0] = id(77);
            let mut writer = SegmentWriter::new(domain, [6; 16]);
            writer.add_pack(*pack, record.place, &table).unwrap();
            let forged = writer.finish().unwrap();
            proposal.delta.segments.insert((domain, forged.hash), Some(forged.record));
            proposal.segments.push((forged.hash, forged.bytes));
        });
        assert_refused(&begun, "an entry too many");
        assert_mended(&begun, "an entry too many");
    }
}

#[test]
fn a_chain_that_goes_back_is_refused() {
    let lies: [fn(ClientHead) -> ClientHead; 2] = [
        |head| ClientHead { number: head.number - 1, ..head },
        |head| ClientHead { hash: ObjectHash([1; 32]), ..head },
    ];
    for lie in lies {
        let begun = begin(true);
        begun.world.prune(DAY);
        write(&begun, &|begun, view, proposal| {
            let head = view.state.heads[&begun.client.id].clone();
            proposal.delta.heads.insert(begun.client.id, Some(lie(head)));
        });
        let stored = begun.world.names("packs/");
        let pruned = begun.world.try_prune(&at_once());
        assert!(matches!(pruned, Err(JobError::StateLost { .. } | JobError::Contradicted { .. })), "{pruned:?}");
        assert_eq!(begun.world.names("packs/"), stored);
        assert_mended(&begun, "a head goes back");
    }
}

#[test]
fn a_policy_or_a_change_that_is_not_the_last_one_signed_is_refused() {
    let lies: [RootLie; 5] = [
        ("no policy", |_, root| Root { policy: None, ..root }),
        ("another policy", |_, root| Root {
            policy: root.policy.map(|(number, _)| (number, ObjectHash([1; 32]))),
            ..root
        }),
        ("no change", |_, root| Root { change_head: None, policy: None, ..root }),
        ("a change that is not there", |_, root| Root {
            change_head: root.change_head.map(|(n, hash)| (n + 1, hash)),
            ..root
        }),
        ("a change far away", |_, root| Root {
            change_head: root.change_head.map(|(_, hash)| (1 << 40, hash)),
            ..root
        }),
    ];
    for (name, lie) in lies {
        for is_pruned in [false, true] {
            let begun = begin(is_pruned);
            write_root(&begun, &lie);
            assert_refused(&begun, name);
        }
    }
}

#[test]
fn nothing_expires_on_a_state_that_nobody_has_signed() {
    let begun = begin(true);
    begun.world.change(&begun.client, vec![keep_last(1)]);
    begun.world.wait(9 * DAY);
    write(&begun, &|begun, view, proposal| {
        let record = begun.world.snapshot(begun.kept);
        let number = view.state.heads[&begun.client.id].number + 1;
        let accepted = record.accepted + DAY;
        let newer = SnapshotRecord { id: SnapshotId([7; 16]), accepted, client_time: accepted, ..record };
        proposal.delta.snapshots.insert((begun.client.id, number), Some(newer));
    });
    let expired = block_on(expire::expire(&begun.world.job(), IngestBy::Service));
    assert!(matches!(expired, Err(JobError::Contradicted { .. })), "{expired:?}");
    assert!(begun.world.names("expiries/").is_empty());
}

#[test]
fn whoever_says_that_a_grace_period_is_over_does_not_end_it() {
    for is_pruned in [false, true] {
        let begun = begin(is_pruned);
        write(&begun, &|_, view, proposal| flag_all(view, proposal));
        assert_refused(&begun, "all is flagged since long ago");
        assert_mended(&begun, "all is flagged since long ago");
    }
}

#[test]
fn packs_of_a_manifest_that_waits_for_an_ingest_stay_however_long_it_waits() {
    let world = World::new();
    let client = world.register(1, Role::WriteOnly);
    world.back_up(&client, &files(1, 2, 2000));
    let tree = files(2, 3, 3000);
    world.upload(&client, &tree);
    world.wait_and_prune(5, 8 * DAY);
    let answers = world.ingest().unwrap();
    assert!(matches!(&answers[..], [answer] if answer.outcome == Outcome::Accepted), "{answers:?}");
    let newest = world.view().state.snapshots.into_iter().max_by_key(|((_, number), _)| *number).unwrap().1;
    assert_eq!(world.restore(newest.id), Ok(tree));
    assert!(world.check().is_ok());
}

#[test]
fn a_manifest_that_is_lost_ends_prunes_until_its_clients_next_one() {
    let (world, client) = World::with_client();
    let [first, second] = [files(1, 3, 3000), files(2, 3, 3000)];
    let kept = world.back_up(&client, &first);
    world.destroy(&world.names("manifests/")[0]);
    let pruned = world.try_prune(&at_once());
    assert!(matches!(pruned, Err(JobError::Contradicted { .. })), "{pruned:?}");
    let next = world.back_up(&client, &second);
    for _ in 0..2 {
        world.try_prune(&at_once()).unwrap();
    }
    assert_eq!([kept, next].map(|id| world.restore(id)), [Ok(first), Ok(second)]);
}

#[test]
fn a_snapshot_that_was_brought_back_stays_although_the_state_calls_it_forgotten() {
    let begun = begin(false);
    let Begun { world, client, forgotten, .. } = &begun;
    world.prune(9 * DAY);
    world.change(client, vec![Operation::Undelete(vec![*forgotten])]);
    write(&begun, &|begun, view, proposal| {
        change_snapshot(begun.forgotten, view, proposal, |of| of.state = SnapshotState::Forgotten);
    });
    world.wait(9 * DAY);
    world.prune(DAY);
    world.wait(9 * DAY);
    world.prune(DAY);
    assert_eq!(world.restore(*forgotten), Ok(files(9, 2, 2000)));
}

pub(super) fn at_once() -> Options {
    Options { grace: Duration::ZERO, ..Options::new([4096, 3072]) }
}
