//! What a large repository costs, by made-up metadata: `scale [CHUNKS [merged]]`, a hundred million by default, in segments
//! as large as the format allows, or merged into such as a service writes. Prints how fast the index opens and answers, and
//! what mark and the plan of a prune take in time, in memory, and in room that a host may have in files.
mod apart;
mod counting;
#[allow(dead_code)] // Reason: tests use more of it.
mod metadata;

use std::time::Instant;

use apart::Apart;
use copal_engine::mark::{Graph, InventoryBuilder, Marks};
use copal_engine::plan::plan;
use copal_format::id::{ChunkId, DomainId};
use copal_format::index::{Index, Overlay, Segment};
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
    println!("| act | seconds | processor seconds | memory beside the segments, MB | room, MB | bytes per entry |");
    println!("|---|---|---|---|---|---|");
    let scratch = Apart::default();
    let measured = |act: &str, run: &mut dyn FnMut()| measured(act, entries, &scratch, run);
    let view = || -> Vec<Segment<&[u8]>> {
        segments.iter().map(|segment| Segment::parse(segment.bytes()).expect("it was parsed before")).collect()
    };
    let mut index = None;
    measured("index opened", &mut || index = Index::new(DomainId([4; 16]), view(), Overlay::default()).ok());
    let index = index.ok_or("one domain")?;
    let mut ids: Vec<ChunkId> = (0..LOOKUPS).map(|at| metadata.chunk(at * 7919 % (2 * chunks))).collect();
    ids.sort_unstable();
    ids.dedup();
    let (started, used) = (Instant::now(), processor_seconds());
    measured("a million ids looked up", &mut || drop(std::hint::black_box(index.statuses(&ids))));
    let per_second = |seconds: f64| ids.len() as f64 / seconds / 1e6;
    let (all, own) = (per_second(started.elapsed().as_secs_f64()), per_second(processor_seconds() - used));
    println!("{all:.2} million ids a second, {own:.2} million in a second of the processor");
    // Tables are made up again each time; that is not what is measured.
    measured("tables made up", &mut || metadata.packs().for_each(|pack| drop(std::hint::black_box(pack.table))));
    measured("mark", &mut || {
        let mut graph = Graph::new(view(), &scratch).expect("few enough");
        for pack in metadata.packs() {
            graph.add_table(0, &pack.table).expect("few enough");
        }
        graph.finish().expect("few enough");
        let reach = graph.reach([metadata.root()]);
        assert_eq!((reach.reached.count(), reach.unresolved.len()), (u64::from(graph.count()), 0));
    });
    let mut inventory = None;
    measured("inventory of a prune", &mut || {
        let mut builder = InventoryBuilder::new(view(), &scratch).expect("few enough");
        metadata.fill(&mut builder).expect("few enough");
        inventory = builder.finish().ok();
    });
    let inventory = inventory.ok_or("few enough")?;
    let marks = Marks::new(&scratch, inventory.entries());
    measured("plan of a prune", &mut || {
        let planned = plan(&inventory, &[metadata.root()], &marks, |_| false, &metadata::rules());
        assert_eq!(planned.removed.count(), 0);
    });
    Ok(())
}

fn measured(act: &str, entries: usize, scratch: &Apart, run: &mut dyn FnMut()) {
    scratch.most();
    let (started, used) = (Instant::now(), processor_seconds());
    let ((), own) = counting::measured(run);
    let (seconds, used, room) = (started.elapsed().as_secs_f64(), processor_seconds() - used, scratch.most());
    let (own, room, each) = (own as f64 / 1e6, room as f64 / 1e6, room as f64 / entries as f64);
    println!("| {act} | {seconds:.3} | {used:.3} | {own:.1} | {room:.1} | {each:.1} |");
}

/// What this thread has had of a processor, which others on the machine do not lengthen; not known but on Linux.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: Option<f64> = stat.split(' ').next().and_then(|text| text.parse().ok());
    nanoseconds.map_or(f64::NAN, |nanoseconds| nanoseconds / 1e9)
}

const LOOKUPS: u64 = 1_000_000;
