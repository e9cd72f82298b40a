//! What a large repository costs, by made-up metadata: `scale [CHUNKS [merged]]`, a hundred million by default, in segments
//! as large as the format allows, or merged into such as a service writes, which takes twice the memory. Prints how fast the
//! index opens and answers, and what mark and the plan of a prune take in time and memory beside it.
mod counting;
mod metadata;

use std::time::{Duration, Instant};

use copal_engine::id::{ChunkId, DomainId};
use copal_engine::index::{Index, Overlay, Segment};
use copal_engine::mark::{Graph, InventoryBuilder, Marks};
use copal_engine::plan::{Rules, plan};
use copal_engine::time::Time;
use metadata::Metadata;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let chunks = std::env::args().nth(1).map_or(Ok(100_000_000), |text| text.parse())?;
    let metadata = Metadata { chunks };
    let mut segments = metadata.segments(1 << 25);
    if std::env::args().nth(2).is_some_and(|word| word == "merged") {
        segments = metadata::merged(&segments)?;
    }
    let entries: usize = segments.iter().map(Segment::len).sum();
    let bytes: usize = segments.iter().map(|segment| segment.bytes().len()).sum();
    println!("{chunks} chunks, {} pages, {} segments of {} MB in all", metadata.pages(), segments.len(), bytes >> 20);
    println!("| act | seconds | processor seconds | memory beside the segments, MB | bytes per entry |");
    println!("|---|---|---|---|---|");
    let view = || -> Vec<Segment<&[u8]>> {
        segments.iter().map(|segment| Segment::parse(segment.bytes()).expect("it was parsed before")).collect()
    };
    let index = measured("index opened", entries, || {
        Index::new(DomainId([4; 16]), view(), Overlay::default()).expect("one domain")
    });
    let mut ids: Vec<ChunkId> = (0..LOOKUPS).map(|at| metadata.chunk(at * 7919 % (2 * chunks))).collect();
    ids.sort_unstable();
    ids.dedup();
    let (started, used) = (Instant::now(), processor_seconds());
    let statuses = measured("a million ids looked up", entries, || index.statuses(&ids));
    let per_second = |seconds: f64| statuses.len() as f64 / seconds / 1e6;
    let (all, own) = (per_second(started.elapsed().as_secs_f64()), per_second(processor_seconds() - used));
    println!("{all:.2} million ids a second, {own:.2} million in a second of the processor");
    drop(statuses);
    measured("mark", entries, || {
        let mut graph = Graph::new(view()).expect("few enough");
        for pack in metadata.packs() {
            graph.add_table(&pack.table).expect("few enough");
        }
        graph.finish();
        let reach = graph.reach([metadata.root()]);
        assert_eq!((reach.reached.count(), reach.unresolved.len()), (u64::from(graph.count()), 0));
        reach
    });
    let inventory = measured("inventory of a prune", entries, || {
        let mut inventory = InventoryBuilder::new(view()).expect("few enough");
        metadata.fill(&mut inventory).expect("few enough");
        inventory.finish()
    });
    let rules = Rules {
        grace: Duration::from_secs(24 * 3600),
        now: Time(1 << 60),
        dead_most: 2,
        trapped_most: 5,
        pack_target: [32 << 20, 8 << 20],
        rewrite_most: 0,
    };
    let marks = Marks::new(inventory.entries());
    let planned =
        measured("plan of a prune", entries, || plan(&inventory, &[metadata.root()], &marks, |_| false, &rules));
    assert_eq!(planned.removed.count(), 0);
    Ok(())
}

fn measured<T>(act: &str, entries: usize, run: impl FnOnce() -> T) -> T {
    let (started, used) = (Instant::now(), processor_seconds());
    let (result, peak) = counting::measured(run);
    let (seconds, used) = (started.elapsed().as_secs_f64(), processor_seconds() - used);
    println!("| {act} | {seconds:.3} | {used:.3} | {:.1} | {:.1} |", peak as f64 / 1e6, peak as f64 / entries as f64);
    result
}

/// What this thread has had of a processor, which others on the machine do not lengthen; not known but on Linux.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: Option<f64> = stat.split(' ').next().and_then(|text| text.parse().ok());
    nanoseconds.map_or(f64::NAN, |nanoseconds| nanoseconds / 1e9)
}

const LOOKUPS: u64 = 1_000_000;
