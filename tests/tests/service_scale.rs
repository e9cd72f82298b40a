//! Scale: what a decision writes depends on what it decides, not on how many domains and clients there are.

use copal_format::client::Role;
use copal_format::id::{ChunkId, ClientId, DomainId, ObjectHash, PackTag, SnapshotId, SourceId};
use copal_format::index::{Bits, Mark, SegmentWriter};
use copal_format::layout::Place;
use copal_format::limits::ROOT_BYTES;
use copal_format::receipt::Outcome;
use copal_format::root::Root;
use copal_format::state::{ClientHead, Decision, PackRecord, RUNS_MOST, SnapshotRecord, SnapshotState};
use copal_format::time::Time;
use copal_jobs::commit::{Proposal, commit};
use copal_store::list_all;
use copal_tests::kit::{World, craft, tree};
use futures::executor::block_on;

#[test]
fn a_root_stays_small_and_a_manifest_writes_little_with_ten_thousand_domains() {
    let world = crowded(10_000);
    let whole = stored(&world);
    let client = world.register(1, Role::WriteOnly);
    let costs: Vec<u64> = (0..BACKUPS)
        .map(|round| {
            let before = stored(&world);
            world.back_up(&client, &tree([("a", &[round as u8; 3000][..])]));
            stored(&world) - before
        })
        .collect();
    let (mean, most) = (costs.iter().sum::<u64>() / BACKUPS, costs.iter().max().copied().unwrap_or(0));
    println!("the state is {whole} bytes; a manifest writes {mean} on average, {most} at most");
    assert!(mean < 24 << 10 && most < 64 << 10, "{costs:?}");
    let view = world.view();
    assert_eq!((view.state.heads.len(), view.state.overlays.len()), (10_001, 10_000));
    assert_small(&view.root.expect("there is a root").0);
}

#[test]
fn marks_in_one_domain_rewrite_none_of_the_others() {
    let world = crowded(10_000);
    let costs: Vec<u64> = (0..BACKUPS)
        .map(|round| {
            let before = stored(&world);
            let marks = [((ChunkId([round as u8; 24]), PackTag::NONE), mark())];
            let overlay = [(domain(7), marks.into())].into();
            let written = commit_to(&world, Proposal { overlay, ..Proposal::default() });
            assert_small(&written);
            stored(&world) - before
        })
        .collect();
    let (mean, most) = (costs.iter().sum::<u64>() / BACKUPS, costs.iter().max().copied().unwrap_or(0));
    println!("a mark writes {mean} bytes on average, {most} at most");
    assert!(mean < 8 << 10 && most < 32 << 10, "{costs:?}");
    let view = world.view();
    assert!(view.state.overlays_of(domain(7)).len() <= RUNS_MOST);
    let overlay = view.index(domain(7)).expect("it has marks").overlay();
    assert_eq!(overlay.marks().count() as u64, BACKUPS + 1);
}

/// A repository in which so many clients have backed up once, each into a domain of its own, and something of each is
/// marked.
fn crowded(domains: u32) -> World {
    let world = World::new();
    let mut proposal = Proposal::default();
    for number in 0..domains {
        let (domain, now) = (domain(number), Time(1));
        let id = ChunkId([1; 24]);
        let pack = craft::data_pack(domain, 1, &[id]);
        let mut writer = SegmentWriter::new(domain, [number as u8; 16]);
        writer.add_pack(pack.id, Place::Packs, &pack.table).expect("one entry fits");
        let segment = writer.finish().expect("there is an entry");
        proposal.delta.segments.insert((domain, segment.hash), Some(segment.record));
        proposal.segments.push((segment.hash, segment.bytes));
        let record = PackRecord {
            domain,
            kind: pack.table.kind,
            length: pack.bytes.len() as u64,
            place: Place::Packs,
            is_missing: false,
            is_damaged: false,
            read: Time(0),
            accepted: now,
            is_proven: true,
            claim: None,
        };
        proposal.delta.packs.insert(pack.id, Some(record));
        let (client, hash) = (ClientId(domain.0), ObjectHash(pack.id.0));
        let snapshot = SnapshotRecord {
            id: SnapshotId(domain.0),
            domain,
            root: id,
            partial: false,
            client_time: now,
            accepted: now,
            source: SourceId(domain.0),
            tags: Vec::new(),
            state: SnapshotState::Kept,
            pinned: false,
            state_time: now,
            by_full_client: false,
            extent: None,
            released: false,
        };
        proposal.delta.snapshots.insert((client, 1), Some(snapshot));
        let accepted = Decision {
            number: 1,
            hash,
            outcome: Outcome::Accepted,
            reasons: Vec::new(),
            missing: Vec::new(),
            packs: Vec::new(),
        };
        let head = ClientHead { number: 1, hash, time: now, decisions: vec![accepted] };
        proposal.delta.heads.insert(client, Some(head));
        proposal.overlay.insert(domain, [((id, pack.id.tag()), mark())].into());
    }
    assert_small(&commit_to(&world, proposal));
    world
}

fn commit_to(world: &World, proposal: Proposal) -> Root {
    let won = block_on(commit(&world.job(), &world.view(), proposal));
    won.expect("memory does not fail").expect("nobody else writes").0
}

fn assert_small(root: &Root) {
    let bytes = root.encode().expect("it was written");
    assert!(bytes.len() < ROOT_BYTES / 2, "{} bytes", bytes.len());
    assert_eq!(Root::decode(root.number, &bytes).as_ref(), Ok(root));
}

/// The bytes of the state: roots, runs, segments.
fn stored(world: &World) -> u64 {
    let prefixes = ["roots/", "state/", "index/"];
    let listed = prefixes.map(|prefix| block_on(list_all(&world.store, prefix)).expect("memory does not fail"));
    listed.iter().flatten().map(|listed| listed.stat.length).sum()
}

fn domain(number: u32) -> DomainId {
    // Spread as random ids are.
    let mixed = u64::from(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    DomainId([mixed.to_be_bytes(), (!mixed).to_be_bytes()].concat().try_into().expect("twice 8 bytes"))
}

fn mark() -> Mark {
    Mark { bits: Bits::FLAGGED, time: Time(1) }
}

const BACKUPS: u64 = 16;
