//! Memory: what a function holds of a large index that it reads from a real S3 server.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use copal_format::id::{ChunkId, DomainId};
use copal_format::index::SegmentWriter;
use copal_format::layout::Place;
use copal_format::pack::{PackKind, PackWriter};
use copal_jobs::commit::{Proposal, commit};
use copal_jobs::view;
use copal_tests::kit::SeededEntropy;
use copal_tests::kit::craft::spread_id;
use copal_tests::kit::lambda::{Cloud, Outcome, World};
use futures::executor::block_on;

#[test]
fn a_check_maps_the_index_and_holds_little_of_it_in_memory() {
    let world = World::start();
    let segments: u64 = (0..4).map(|number| add_segment(&world, number)).sum();
    assert!(segments > 60 << 20, "{segments} bytes");
    let place = tempfile::tempdir().expect("a temporary directory");
    let at = |directory: &Path| {
        let temporary = ("TMPDIR".to_owned(), directory.display().to_string());
        let cloud = world.cloud(|deployment| {
            deployment.variables.push(temporary);
            deployment.timeout = Duration::from_secs(600);
        });
        most_held(&cloud)
    };
    let without = at(Path::new("/proc/no/such/place"));
    let with = at(place.path());
    println!("{segments} bytes of index: {with} bytes held with copies, {without} without");
    assert!(with + segments / 2 < without, "{with} of {segments} bytes are held, {without} without copies");
    assert_eq!(fs::read_dir(place.path()).expect("it is there").count(), 0, "nothing is left behind");
}

/// Runs a check; the most memory of its own that the process held meanwhile, mapped files aside.
fn most_held(cloud: &Cloud) -> u64 {
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut most = 0;
            while !has_ended.load(Ordering::Relaxed) {
                most = most.max(held_by_functions());
                thread::sleep(Duration::from_millis(5));
            }
            most
        });
        let report = cloud.run("check");
        has_ended.store(true, Ordering::Relaxed);
        assert!(matches!(report, Outcome::Response(_)), "{report:?}");
        watching.join().expect("it only watches")
    })
}

/// Memory of the functions' processes that this one has started and that no file stands behind.
fn held_by_functions() -> u64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let held = processes.filter_map(|entry| {
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        if field("Name:")? != "copal-lambda" || field("PPid:")? != std::process::id().to_string() {
            return None;
        }
        field("RssAnon:")?.split_whitespace().next()?.parse::<u64>().ok()
    });
    held.max().unwrap_or(0) << 10
}

/// Adds a segment, of whose pack nobody knows; gives its length.
fn add_segment(world: &World, number: u8) -> u64 {
    let domain = DomainId([7; 16]);
    let mut writer = PackWriter::new(PackKind::Data, domain, [number; 16], vec![vec![1]]).expect("a pack");
    let ids: Vec<ChunkId> = (0..ENTRIES).map(|at| spread_id(number, at)).collect();
    for block in ids.chunks(60_000) {
        writer.add_block(&[0; 9], 0, 0, block.iter().copied(), []).expect("it fits");
    }
    let pack = writer.finish();
    let mut segment = SegmentWriter::new(domain, [number; 16]);
    segment.add_pack(pack.id, Place::Packs, &pack.table).expect("they fit");
    let segment = segment.finish().expect("there are entries");
    let length = segment.bytes.len() as u64;
    let mut proposal = Proposal { is_baseline: true, ..Proposal::default() };
    proposal.delta.segments.insert((domain, segment.hash), Some(segment.record));
    proposal.segments.push((segment.hash, segment.bytes));
    let entropy = SeededEntropy::new(u64::from(number) + 50);
    let job = world.repository.job(world.store.as_ref(), &entropy);
    let before = block_on(view::read(world.store.as_ref())).expect("the state can be read");
    assert!(block_on(commit(&job, &before, proposal)).expect("the store takes it").is_some());
    length
}

/// Entries of a segment.
const ENTRIES: usize = 700_000;
