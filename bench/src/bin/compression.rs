//! Compresses the blocks that a series of directories or files makes, with several sets of Zstandard's parameters, and
//! prints size and processor time: `compression PATH... [--runs N] -- [NAME=VALUE[,NAME=VALUE...]]...`.
//!
//! Nothing but compression is measured: content is cut, deduplicated and gathered into blocks as the engine does it, in
//! memory and before the clock runs. Only noise gets no blocks of its own. Time is that of one thread, the median of the
//! runs, whose order is by turns, so that what else the machine does falls on all sets alike. Sets are known by
//! Zstandard's names (`level`, `window_log`, `hash_log`, `chain_log`, `search_log`, `min_match`, `target_length`,
//! `strategy`), by `block`, the block target, `fresh=1`, a context for each block, and `sample=N`, which stores a block
//! raw, without trying to compress it, if N pieces of it, 4 KiB each, do not get smaller by a sixteenth at level 1.
#![forbid(unsafe_code)]

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

use copal_format::chunk::{ChunkSizes, Chunker};
use copal_format::keys::cuts::CutKeys;
use copal_format::keys::secret::Secret;
use copal_format::repository::Parameters;
use rustix::time::{ClockId, Timespec, clock_gettime};
use zstd::zstd_safe::{CCtx, CParameter, DCtx, Strategy, compress_bound};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let split = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let mut paths: Vec<&str> = arguments[..split].iter().map(String::as_str).collect();
    let mut runs = 3;
    if let Some(at) = paths.iter().position(|&path| path == "--runs") {
        runs = paths.get(at + 1).ok_or("--runs takes a number")?.parse()?;
        paths.drain(at..at + 2);
    }
    let mut sets = Vec::new();
    for set in arguments.iter().skip(split + 1) {
        sets.push(Set::parse(set)?);
    }
    if paths.is_empty() || sets.is_empty() {
        return Err("usage: compression PATH... [--runs N] -- NAME=VALUE[,NAME=VALUE...]...".into());
    }
    let mut blocks = BTreeMap::new();
    for set in &sets {
        if let Entry::Vacant(missing) = blocks.entry(set.block) {
            missing.insert(gather(&paths, set.block)?);
        }
    }
    for run in 0..runs {
        for set in &mut sets {
            set.measure(&blocks[&set.block])?;
        }
        eprintln!("run {} of {runs}", run + 1);
    }
    println!("| parameters | raw MB | MB | of the first % | compress CPU s | decompress CPU s | stored raw MB |");
    println!("|---|---|---|---|---|---|---|");
    let first = sets[0].stored as f64;
    for set in &mut sets {
        let raw = blocks[&set.block].iter().map(Vec::len).sum::<usize>() as f64;
        println!(
            "| {} | {:.1} | {:.2} | {:.2} | {:.2} | {:.2} | {:.1} |",
            set.text,
            raw / 1e6,
            set.stored as f64 / 1e6,
            set.stored as f64 / first * 100.0,
            median(&mut set.compress).as_secs_f64(),
            median(&mut set.decompress).as_secs_f64(),
            set.left as f64 / 1e6,
        );
    }
    Ok(())
}

/// A set of parameters, and what it came to.
#[derive(Default)]
struct Set {
    text: String,
    block: usize,
    is_fresh: bool,
    sample: usize,
    chosen: Vec<CParameter>,
    stored: usize,
    left: usize,
    compress: Vec<Duration>,
    decompress: Vec<Duration>,
}

impl Set {
    fn parse(text: &str) -> Result<Self, Failure> {
        let mut set = Self { text: text.into(), block: Parameters::default().block_target as usize, ..Self::default() };
        for pair in text.split(',').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or("a parameter is NAME=VALUE")?;
            let number = || value.parse::<u32>();
            set.chosen.push(match name {
                "block" => {
                    set.block = value.parse::<copal_cli::Size>()?.0 as usize;
                    continue;
                }
                "fresh" => {
                    set.is_fresh = value == "1";
                    continue;
                }
                "sample" => {
                    set.sample = value.parse()?;
                    continue;
                }
                "level" => CParameter::CompressionLevel(value.parse()?),
                "window_log" => CParameter::WindowLog(number()?),
                "hash_log" => CParameter::HashLog(number()?),
                "chain_log" => CParameter::ChainLog(number()?),
                "search_log" => CParameter::SearchLog(number()?),
                "min_match" => CParameter::MinMatch(number()?),
                "target_length" => CParameter::TargetLength(number()?),
                "strategy" => CParameter::Strategy(match value {
                    "fast" => Strategy::ZSTD_fast,
                    "dfast" => Strategy::ZSTD_dfast,
                    "greedy" => Strategy::ZSTD_greedy,
                    "lazy" => Strategy::ZSTD_lazy,
                    other => return Err(format!("there is no strategy {other}").into()),
                }),
                other => return Err(format!("there is no parameter {other}").into()),
            });
        }
        Ok(set)
    }

    fn context(&self) -> CCtx<'static> {
        let mut context = CCtx::create();
        for &parameter in self.chosen.iter().chain(&[CParameter::ContentSizeFlag(false)]) {
            context.set_parameter(parameter).expect("Zstandard takes the parameter");
        }
        context
    }

    fn measure(&mut self, blocks: &[Vec<u8>]) -> Result<(), Failure> {
        (self.stored, self.left) = (0, 0);
        let (mut compressing, mut decompressing) = (Duration::ZERO, Duration::ZERO);
        let mut context = self.context();
        let (mut sampler, mut opener) = (CCtx::create(), DCtx::create());
        let (mut out, mut back) = (Vec::new(), Vec::new());
        for block in blocks {
            out.resize(compress_bound(block.len()), 0);
            back.resize(block.len(), 0);
            let start = clock_gettime(ClockId::ThreadCPUTime);
            let length = if self.sample > 0 && is_noise(block, self.sample, &mut sampler, &mut out) {
                block.len()
            } else {
                if self.is_fresh {
                    context = self.context();
                }
                context.compress2(&mut out[..], block).map_err(zstd::zstd_safe::get_error_name)?
            };
            let middle = clock_gettime(ClockId::ThreadCPUTime);
            if length < block.len() {
                opener.decompress(&mut back[..], &out[..length]).map_err(zstd::zstd_safe::get_error_name)?;
            }
            let end = clock_gettime(ClockId::ThreadCPUTime);
            if length < block.len() && back != *block {
                return Err("a block does not read back".into());
            }
            let difference = |from: Timespec, to: Timespec| Duration::try_from(to - from).expect("the clock ascends");
            compressing += difference(start, middle);
            decompressing += difference(middle, end);
            self.stored += length.min(block.len());
            self.left += if length < block.len() { 0 } else { block.len() };
        }
        self.compress.push(compressing);
        self.decompress.push(decompressing);
        Ok(())
    }
}

/// Whether none of the pieces gets smaller by a sixteenth.
fn is_noise(block: &[u8], pieces: usize, sampler: &mut CCtx<'_>, out: &mut [u8]) -> bool {
    const PIECE: usize = 4 << 10;
    if block.len() < pieces * PIECE {
        return false;
    }
    let step = (block.len() - PIECE) / pieces.max(2);
    (0..pieces).all(|piece| {
        let from = &block[piece * step..][..PIECE];
        sampler.compress(out, from, 1).is_ok_and(|length| length > PIECE - PIECE / 16)
    })
}

/// The blocks of the plaintext that is new, in the order of the paths.
fn gather(paths: &[&str], target: usize) -> Result<Vec<Vec<u8>>, Failure> {
    let parameters = Parameters::default();
    let sizes = [parameters.chunk_min, parameters.chunk_average, parameters.chunk_max].map(u64::from);
    let keys = CutKeys::new(&Secret::new([1; 32]), Secret::new([2; 32]));
    let chunker = Chunker::new(ChunkSizes::new(sizes[0], sizes[1], sizes[2])?, &keys);
    let mut known = HashSet::new();
    let mut blocks = Vec::new();
    let mut raw: Vec<u8> = Vec::new();
    let mut found = Vec::new();
    for path in paths {
        files(Path::new(path), &mut found)?;
    }
    for file in found {
        let content = std::fs::read(&file)?;
        if content.len() <= parameters.inline_max as usize {
            continue;
        }
        for range in chunker.cuts(&content) {
            let chunk = &content[range];
            let mut hasher = DefaultHasher::new();
            chunk.hash(&mut hasher);
            if !known.insert((hasher.finish(), chunk.len())) {
                continue;
            }
            // The rules of the engine's BlockBuilder.
            if !raw.is_empty() && 2 * chunk.len() >= target && raw.len() + chunk.len() > target {
                blocks.push(std::mem::take(&mut raw));
            }
            raw.extend_from_slice(chunk);
            if raw.len() >= target {
                blocks.push(std::mem::take(&mut raw));
            }
        }
    }
    blocks.extend((!raw.is_empty()).then_some(raw));
    Ok(blocks)
}

/// Appends the regular files at and below the path, in order.
fn files(path: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let metadata = std::fs::symlink_metadata(path)?;
    if metadata.is_dir() {
        let mut below = std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
        below.sort();
        for entry in below {
            files(&entry, found)?;
        }
    } else if metadata.is_file() {
        found.push(path.into());
    }
    Ok(())
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}
