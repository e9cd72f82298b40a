//! Speed: what a browser's workers and their coordinator do, natively, on one core. `bench/browser/` has the same in
//! WebAssembly. `speed worker FOLDER LEVEL [RUNS]` prints, as JSON, bytes and the processor seconds of cutting and of preparing
//! the files of a folder for the cipher; `speed unchanged SESSION [RUNS]` those of a run that finds every entry as it was, of a client of the
//! repository that the golden session begins with. The best of five runs counts, unless told otherwise.
#![forbid(unsafe_code)]

mod unchanged;

use std::path::{Path, PathBuf};

use copal_format::keys::domain::DomainKey;
use copal_format::keys::secret::Secret;
use copal_format::repository::Parameters;
use copal_wasm::chunker::Chunker;
use copal_wasm::sealer::{BlockFacts, Sealer};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["worker", folder, level, runs @ ..] => {
            worker(folder, level.parse().expect("a level is a number"), count(runs))
        }
        ["unchanged", session, runs @ ..] => unchanged::run(session, count(runs)),
        _ => panic!("usage: speed worker FOLDER LEVEL [RUNS] | speed unchanged SESSION [RUNS]"),
    }
}

fn count(runs: &[&str]) -> usize {
    runs.first().map_or(5, |runs| runs.parse().expect("runs are a number"))
}

fn worker(folder: &str, level: i32, runs: usize) {
    let files = read(Path::new(folder));
    let bytes: usize = files.iter().flatten().map(Vec::len).sum();
    let best = (0..runs).map(|_| seconds(&files, level)).min_by(|a, b| (a.0 + a.1).total_cmp(&(b.0 + b.1)));
    let (cut, compress) = best.expect("there are runs");
    println!("{{\"bytes\":{bytes},\"cut\":{cut:.4},\"compress\":{compress:.4}}}");
}

/// Processor seconds of cutting and naming, and of preparing for the cipher and comparing with what that reads back.
fn seconds(files: &[Vec<Vec<u8>>], level: i32) -> (f64, f64) {
    let key = DomainKey::from_secret(Secret::new([7; 32]));
    let p = Parameters::default();
    let [min, average, max] = [p.chunk_min, p.chunk_average, p.chunk_max].map(u64::from);
    let chunker = Chunker::new(&key, min, average, max).expect("the sizes are sound");
    let mut sealer = Sealer::new(chunker.keys().clone(), &[7; Sealer::KEY], level);
    let (mut cut, mut compress) = (0.0, 0.0);
    for (counter, files) in files.iter().enumerate() {
        let begun = processor_seconds();
        let cuts: Vec<_> = files.iter().map(|file| chunker.cut(file, true)).collect();
        cut += processor_seconds() - begun;
        let ids = cuts.iter().flat_map(|cut| cut.ids.clone()).collect();
        let lengths = cuts.iter().flat_map(|cut| cut.lengths.clone()).collect();
        let block = BlockFacts { counter: counter as u64, is_tree: false, ids, lengths };
        let raw = files.concat();
        let begun = processor_seconds();
        let plaintext = sealer.prepare(&block, &raw).expect("it is a block").0.to_vec();
        sealer.opened(block.counter, &plaintext).expect("it is the plaintext");
        compress += processor_seconds() - begun;
    }
    (cut, compress)
}

/// The time this thread was on a processor. `/proc` tells it in ticks of the scheduler, longer than a block is cut.
fn processor_seconds() -> f64 {
    // Valgrind, which counts instructions, hides the vDSO, and rustix finds the clock nowhere else.
    if std::env::var_os("COPAL_COUNTED").is_some() {
        return 0.0;
    }
    let told = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    told.tv_sec as f64 + told.tv_nsec as f64 / 1e9
}

/// The first files of a folder, in order, up to a size, as blocks hold them.
fn read(folder: &Path) -> Vec<Vec<Vec<u8>>> {
    let (mut blocks, mut left, mut total) = (vec![Vec::new()], vec![folder.to_owned()], 0);
    let mut room = BLOCK;
    while let Some(path) = left.pop() {
        let found = path.symlink_metadata().expect("what was listed is there");
        if found.is_dir() {
            let mut below: Vec<PathBuf> =
                path.read_dir().expect("it is a folder").map(|entry| entry.expect("it can be listed").path()).collect();
            below.sort();
            left.extend(below.into_iter().rev());
        } else if found.is_file() && (1..WINDOW).contains(&found.len()) {
            if room == 0 {
                blocks.push(Vec::new());
                room = BLOCK;
            }
            let block = blocks.last_mut().expect("there is one");
            block.push(std::fs::read(&path).expect("it can be read"));
            room = room.saturating_sub(found.len());
            total += found.len();
            if total >= MOST {
                break;
            }
        }
    }
    blocks
}

const BLOCK: u64 = 1 << 20;
const WINDOW: u64 = 4 << 20;
const MOST: u64 = 96 << 20;
