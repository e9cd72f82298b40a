//! Memory: what mark and the plan of a prune need beside the segments of the index, counted by the allocator.
#[path = "../examples/scale/counting.rs"]
mod counting;
#[path = "../examples/scale/metadata.rs"]
#[allow(dead_code)] // Reason: the measurement uses more of it.
mod metadata;

use std::time::Duration;

use copal_engine::index::Segment;
use copal_engine::mark::{Graph, InventoryBuilder, Marks};
use copal_engine::plan::{Rules, plan};
use copal_engine::time::Time;
use counting::measured;
use metadata::Metadata;

/// One test, so that nothing else allocates meanwhile.
#[test]
fn mark_needs_less_than_ten_bytes_for_each_chunk_and_a_prune_less_than_forty() {
    let metadata = Metadata { chunks: 1_000_000 };
    let segments = metadata.segments(1 << 18);
    let view = || -> Vec<Segment<&[u8]>> {
        segments.iter().map(|segment| Segment::parse(segment.bytes()).expect("it was parsed before")).collect()
    };
    let (reach, mark) = measured(|| {
        let mut graph = Graph::new(view()).expect("few enough");
        for pack in metadata.packs() {
            graph.add_table(&pack.table).expect("few enough");
        }
        graph.finish();
        (graph.reach([metadata.root()]), graph.count())
    });
    assert_eq!((reach.0.reached.count(), reach.0.unresolved.len()), (u64::from(reach.1), 0));
    let (planned, prune) = measured(|| {
        let mut inventory = InventoryBuilder::new(view()).expect("few enough");
        metadata.fill(&mut inventory).expect("few enough");
        let inventory = inventory.finish();
        let marks = Marks::new(inventory.entries());
        plan(&inventory, &[], &marks, |_| false, &rules())
    });
    assert_eq!(planned.marks.iter().count() as u64, u64::from(reach.1), "everything is flagged");
    let each = |bytes: usize| bytes as f64 / metadata.chunks as f64;
    println!("mark: {:.1} bytes for each chunk; inventory and plan: {:.1}", each(mark), each(prune));
    assert!(each(mark) < 10.0, "mark: {:.1}", each(mark));
    assert!(each(prune) < 40.0, "prune: {:.1}", each(prune));
}

fn rules() -> Rules {
    Rules {
        grace: Duration::from_secs(24 * 3600),
        now: Time(1 << 60),
        dead_most: 2,
        trapped_most: 5,
        pack_target: [32 << 20, 8 << 20],
        rewrite_most: 0,
    }
}
