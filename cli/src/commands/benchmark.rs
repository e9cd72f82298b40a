//! `benchmark`: how fast one core of this machine cuts, names, compresses and seals, and how fast the store answers.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use copal_client::entropy::secret;
use copal_client::wait::wait;
use copal_format::chunk::{ChunkSizes, Chunker};
use copal_format::compress::{Compress, Compressor, Decompressor, Parameters};
use copal_format::id::{RepositoryId, SessionId};
use copal_format::keys::domain::{DomainKey, DomainKeys};
use copal_format::keys::session::SessionKey;
use copal_format::repository;
use copal_format::seal::{BlockKind, Counters, SessionCipher};
use copal_jobs::objects;
use copal_store::{Store, StoreError};

use super::context::Context;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::rows::Speed;

pub(super) fn run(context: &Context<'_>) -> Result<Exit, Failure> {
    let mut speeds = machine();
    if context.location().is_ok() {
        let backend = context.backend()?;
        match backend.is_behind_gateway() {
            true => context.report.note("through a gateway nothing can be stored for a test: the store is left out"),
            false => speeds.extend(store(backend.store().as_ref())?),
        }
    }
    context.report.list(&speeds)?;
    Ok(Exit::Done)
}

fn machine() -> Vec<Speed> {
    let parameters = repository::Parameters::default();
    let keys = DomainKeys::new(&DomainKey::from_secret(secret()));
    let sizes =
        ChunkSizes::new(parameters.chunk_min.into(), parameters.chunk_average.into(), parameters.chunk_max.into());
    let chunker = Chunker::new(sizes.expect("the defaults are chunk sizes"), keys.cuts());
    let cipher = SessionCipher::new(&SessionKey::new(secret()), RepositoryId([0; 16]), SessionId([0; 16]));
    let mut compressor = Compressor::new(Parameters::of_level(parameters.zstd_level));
    let (data, mut counters) = (sample(), Counters::new());
    let block = &data[..BLOCK];
    let (mut packed, mut raw) = (Vec::new(), Vec::new());
    let cut = speed("cut", data.len(), || chunker.cuts(&data).count());
    let name = speed("name", BLOCK, || keys.chunk_id(block));
    let compress = speed("compress", BLOCK, || {
        packed.clear();
        compressor.compress(block, &mut packed)
    });
    let mut decompressor = Decompressor::new();
    let decompress = speed("decompress", BLOCK, || decompressor.decompress(&packed, BLOCK, &mut raw));
    let mut next = || counters.next().expect("a benchmark seals far fewer blocks than there are numbers");
    let seal = speed("encrypt", BLOCK, || cipher.seal(BlockKind::Data, next(), block));
    let last = next();
    let number = last.get();
    let sealed = cipher.seal(BlockKind::Data, last, block);
    let open = speed("decrypt", BLOCK, || cipher.open(BlockKind::Data, number, &sealed, &mut raw));
    vec![cut, name, compress, decompress, seal, open]
}

/// Stores objects below `tmp/`, reads them and deletes them.
fn store(store: &dyn Store) -> Result<Vec<Speed>, StoreError> {
    let bytes = Bytes::from(sample());
    let run: String = secret().expose()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let names: Vec<_> = (0..OBJECTS).map(|at| objects::key(format!("tmp/benchmark-{run}-{at}"))).collect();
    let timed = |what, act: &dyn Fn(&copal_store::Key) -> Result<(), StoreError>| {
        let started = Instant::now();
        names.iter().try_for_each(act)?;
        Ok::<Speed, StoreError>(Speed::of(what, names.len() * bytes.len(), started.elapsed()))
    };
    let written = timed("store: write", &|name| wait(store.create(name, bytes.clone())).map(|_| ()));
    let read =
        written.is_ok().then(|| timed("store: read", &|name| wait(store.read(name)).map(|read| drop(black_box(read)))));
    let deleted = wait(store.delete_all(&names));
    let mut speeds = vec![written?];
    speeds.extend(read.transpose()?);
    deleted?;
    Ok(speeds)
}

fn speed<T>(what: &'static str, bytes: usize, mut act: impl FnMut() -> T) -> Speed {
    let started = Instant::now();
    let mut done = 0;
    while done == 0 || started.elapsed() < LONG_ENOUGH {
        black_box(act());
        done += bytes;
    }
    Speed::of(what, done, started.elapsed())
}

/// Half noise, half text, in turns of 64 KiB.
fn sample() -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..SAMPLE).map(|at| if at >> 16 & 1 == 0 { next() } else { b'a' + next() % 8 }).collect()
}

const LONG_ENOUGH: Duration = Duration::from_millis(300);
const SAMPLE: usize = 8 << 20;
const BLOCK: usize = 1 << 20;
const OBJECTS: usize = 4;
