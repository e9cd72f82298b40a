//! Memory: what mark and the plan of a prune need beside the segments of the index: of the program's own memory, counted by
//! the allocator, and of room that a host may have in files.
#[path = "../examples/scale/apart.rs"]
mod apart;
#[path = "../examples/scale/counting.rs"]
mod counting;
mod hostile_memory;
#[path = "../examples/scale/metadata.rs"]
#[allow(dead_code)] // Reason: the measurement uses more of it.
mod metadata;

use apart::Apart;
use copal_engine::mark::{Graph, InventoryBuilder, Marks};
use copal_engine::plan::plan;
use copal_format::index::Segment;
use counting::measured;
use metadata::Metadata;

#[test]
fn mark_and_prune_need_little_room_for_each_chunk_and_the_same_memory_for_however_many() {
    let _alone = counting::alone();
    let [half, whole] = [500_000, 1_000_000].map(needed);
    println!("of 500,000 chunks: {half:?}; of a million: {whole:?}");
    for Needed { chunks, mark, prune } in [half, whole] {
        let each = |bytes: usize| bytes as f64 / chunks as f64;
        assert!(each(mark.room) < 55.0, "mark: {:.1} bytes of room a chunk", each(mark.room));
        assert!(each(prune.room) < 60.0, "prune: {:.1} bytes of room a chunk", each(prune.room));
    }
    // Of each pack, here 300 chunks, a little is known by heart.
    for (name, half, whole) in [("mark", half.mark.own, whole.mark.own), ("prune", half.prune.own, whole.prune.own)] {
        assert!(whole < 40_000_000, "{name}: {whole} bytes of memory");
        let more = whole.saturating_sub(half) as f64 / 1e6;
        assert!(more < 0.6, "{name}: {more:.2} bytes of memory for each chunk more");
    }
}

#[derive(Copy, Clone, Debug)]
struct Needed {
    chunks: u64,
    mark: Peak,
    prune: Peak,
}

#[derive(Copy, Clone, Debug)]
struct Peak {
    own: usize,
    room: usize,
}

fn needed(chunks: u64) -> Needed {
    let metadata = Metadata { chunks };
    let segments = metadata.segments(1 << 18);
    let view = || -> Vec<Segment<&[u8]>> {
        segments.iter().map(|segment| Segment::parse(segment.bytes()).expect("it was parsed before")).collect()
    };
    let scratch = Apart::default();
    let (ids, own) = measured(|| {
        let mut graph = Graph::new(view(), &scratch).expect("few enough");
        for pack in metadata.packs() {
            graph.add_table(0, &pack.table).expect("few enough");
        }
        graph.finish().expect("few enough");
        let reach = graph.reach([metadata.root()]);
        assert_eq!((reach.reached.count(), reach.unresolved.len()), (u64::from(graph.count()), 0));
        graph.count()
    });
    let mark = Peak { own, room: scratch.most() };
    let (flagged, own) = measured(|| {
        let mut inventory = InventoryBuilder::new(view(), &scratch).expect("few enough");
        metadata.fill(&mut inventory).expect("few enough");
        let inventory = inventory.finish().expect("few enough");
        let marks = Marks::new(&scratch, inventory.entries());
        plan(&inventory, &[], &marks, |_| false, &metadata::rules()).marks.iter().count()
    });
    assert_eq!(flagged as u64, u64::from(ids), "everything is flagged");
    Needed { chunks, mark, prune: Peak { own, room: scratch.most() } }
}
