//! What a prune needs of a large repository where memory is short: `limited make CHUNKS DIR` makes an index of made-up
//! metadata, `limited run CHUNKS DIR` takes the inventory of it and plans a prune of everything, with what is large in files
//! of that directory. Run the second within a limit of the operating system's: it prints how long it took, and how much
//! memory of its own the process had at most.
#![forbid(unsafe_code)]

#[path = "../../../engine/examples/scale/metadata.rs"]
#[allow(dead_code)] // Reason: other measurements use more of it.
mod metadata;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::Bytes;
use copal_engine::mark::{InventoryBuilder, Marks};
use copal_engine::plan::plan;
use copal_format::id::ObjectHash;
use copal_format::index::Segment;
use copal_format::layout;
use copal_jobs::objects;
use copal_jobs::scratch::Files;
use copal_store::Store;
use copal_store::fs::FsStore;
use futures::executor::block_on;
use metadata::Metadata;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [act, chunks, directory] = arguments.as_slice() else { return Err(USAGE.into()) };
    let (metadata, directory) = (Metadata { chunks: chunks.parse()? }, Path::new(directory));
    match act.as_str() {
        "make" => make(&metadata, directory),
        "run" => run(&metadata, directory),
        _ => Err(USAGE.into()),
    }
}

fn make(metadata: &Metadata, directory: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(directory)?;
    let store = FsStore::open(directory)?;
    for segment in metadata.segments(SEGMENT) {
        let name = layout::segment(ObjectHash::of(segment.bytes()));
        block_on(store.create(&objects::key(name), Bytes::copy_from_slice(segment.bytes())))?;
    }
    Ok(())
}

fn run(metadata: &Metadata, directory: &Path) -> Result<(), Error> {
    let store = FsStore::open(directory)?;
    let mut segments: Vec<Segment<Bytes>> = Vec::new();
    for listed in block_on(objects::list(&store, "index/"))? {
        segments.push(Segment::parse(block_on(store.map(&listed.key))?)?);
    }
    let entries: usize = segments.iter().map(Segment::len).sum();
    println!("{entries} entries in {} segments", segments.len());
    let (scratch, most, is_done) = (Files::new(directory), AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| -> Result<(), Error> {
        scope.spawn(|| {
            while !is_done.load(Relaxed) {
                most.fetch_max(own_memory(), Relaxed);
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let started = Instant::now();
        let mut builder = InventoryBuilder::new(segments, &scratch)?;
        metadata.fill(&mut builder)?;
        let inventory = builder.finish()?;
        println!("inventory: {:.1} s", started.elapsed().as_secs_f64());
        let started = Instant::now();
        let planned = plan(&inventory, &[], &Marks::new(&scratch, inventory.entries()), |_| false, &metadata::rules());
        println!("plan: {:.1} s, {} flagged", started.elapsed().as_secs_f64(), planned.marks.iter().count());
        is_done.store(true, Relaxed);
        Ok(())
    })?;
    println!("memory of its own: {} MB at most", most.into_inner() >> 20);
    Ok(())
}

/// Bytes of memory of this process that lie in no file, as the kernel knows it.
fn own_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) << 10
}

const USAGE: &str = "usage: limited make|run CHUNKS DIR";
/// Entries of a segment: at most twelve or so cover an id of a hundred million.
const SEGMENT: u64 = 1 << 23;
