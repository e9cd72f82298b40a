//! Memory: what a prune and a check of a whole domain need of the program's own memory, counted by the allocator. What is as
//! large as the domain is counted apart: a host may have it in files.
#[path = "../../engine/examples/scale/apart.rs"]
mod apart;
#[path = "../../engine/examples/scale/metadata.rs"]
#[allow(dead_code)] // Reason: the measurement uses more of it.
mod metadata;

use std::path::Path;
use std::time::Duration;

use crate::counting::{self, measured};
use apart::Apart;
use copal_format::layout;
use copal_format::state::PackRecord;
use copal_jobs::check::{self, Depth};
use copal_jobs::commit::{Proposal, commit, put};
use copal_jobs::context::JobContext;
use copal_jobs::prune::{self, Options};
use copal_jobs::view::{self, Parts};
use copal_store::fs::FsStore;
use copal_tests::kit::{Repository, SeededEntropy};
use futures::executor::block_on;
use metadata::{DOMAIN, Metadata};

/// One test, so that nothing else allocates meanwhile.
#[test]
fn a_prune_and_a_check_need_the_same_memory_however_large_the_domain_is() {
    let _alone = crate::counting::alone();
    let [half, whole] = [600_000, 1_200_000].map(needed);
    println!("of 600,000 chunks: {half:?}; of 1.2 million: {whole:?}");
    // 25 for the inventory and the plan, and 48 for each mark: a new one as it is made, as it is written, and room to grow.
    assert!(whole.room < 180 * 1_200_000, "{} bytes of room", whole.room);
    // Of each pack, here 300 chunks, the state knows its record, and the store its name. Copying merges segments of up to a
    // million entries, which the half has not.
    let jobs = [
        ("prune", half.prune, whole.prune, 4.0),
        ("check", half.check, whole.check, 4.0),
        ("copying", half.copying, whole.copying, 16.0),
    ];
    for (job, half, whole, most) in jobs {
        let more = whole.saturating_sub(half) as f64 / 6e5;
        assert!(more < most, "{job}: {more:.2} bytes of memory for each chunk more");
        assert!(whole < 100_000_000, "{job}: {whole} bytes of memory");
    }
}

/// Bytes of the program's own memory.
#[derive(Copy, Clone, Debug)]
struct Needed {
    /// That flags everything.
    prune: usize,
    /// That also merges small packs, of so many entries at a time.
    copying: usize,
    check: usize,
    /// Room that a host may have in files, the most that any of them needed.
    room: usize,
}

/// Of a repository of which no snapshot is kept.
fn needed(chunks: u64) -> Needed {
    // What is written is as good as gone: where there is a file system in memory, nobody has to wait for a disk.
    let shared = Path::new("/dev/shm");
    let directory = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    let directory = directory.expect("there is a place for temporary files");
    let store = FsStore::create(directory.path()).expect("an empty directory");
    let (repository, entropy, scratch) = (Repository::new(), SeededEntropy::new(1), Apart::default());
    let job = JobContext { scratch: &scratch, ..repository.job(&store, &entropy) };
    block_on(async {
        repository.create(&store).await.expect("there is room");
        let metadata = Metadata { chunks };
        let mut proposal = Proposal::default();
        for pack in metadata.packs() {
            let record = PackRecord::new(DOMAIN, pack.item.kind, pack.item.length, pack.item.accepted);
            let record = PackRecord { place: pack.item.place, is_proven: true, ..record };
            proposal.delta.packs.insert(pack.item.id, Some(record));
            put(&store, layout::pack(pack.item.place, pack.item.id), pack.bytes).await.expect("there is room");
        }
        for segment in metadata.new_segments(1 << 18) {
            proposal.delta.segments.insert((DOMAIN, segment.hash), Some(segment.record));
            put(&store, layout::segment(segment.hash), segment.bytes).await.expect("there is room");
        }
        proposal.is_baseline = true;
        let empty = view::read_parts(&store, &Parts::RECORDS).await.expect("there is nothing yet");
        commit(&job, &empty, proposal).await.expect("there is room").expect("nobody else writes");
    });
    let (report, check) = measured(|| block_on(check::check(&job, Depth::Structure)).expect("everything is readable"));
    assert_eq!(report.findings, []);
    let grace = Duration::from_secs(24 * 3600);
    // No pack is small beside these.
    let options = Options { grace, ..Options::new([4_096, 4_096]) };
    let (report, prune) = measured(|| block_on(prune::prune(&job, &options)).expect("everything is readable"));
    assert_eq!(report.entries_flagged, chunks + Metadata { chunks }.pages());
    assert_eq!(report.packs_rewritten, 0);
    // All are small beside these: one step is copied.
    let options = Options { grace, repack_entries: 100_000, repack_most: 1 << 20, ..Options::new([1 << 20, 1 << 20]) };
    let (report, copying) = measured(|| block_on(prune::prune(&job, &options)).expect("everything is readable"));
    assert!(report.packs_rewritten > 300, "{report:?}");
    Needed { prune, copying, check, room: scratch.most() }
}
