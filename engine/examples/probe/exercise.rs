//! The exercise: the engine's public functions on fixed input. Every build of the engine must give the same digests.
//!
//! A step appends everything it computed; a new part of the engine is one more line in [`STEPS`] and one more function.

use copal_format::id::{ChunkId, DomainId, ObjectHash, RepositoryId};
use copal_format::keys::domain::{DomainKey, DomainKeys};
use copal_format::keys::secret::Secret;
use copal_format::time::Time;
use copal_format::wire::cbor::{Reader, Writer};
use copal_format::wire::record::{self, Kind};
use copal_format::wire::varint;

/// A name, and what computes its bytes.
type Step = (&'static str, fn(&mut Vec<u8>));

/// What is run, in this order.
const STEPS: &[Step] = &[
    ("chunk-ids", chunk_ids),
    ("page-ids", page_ids),
    ("gear-and-boundaries", gear_and_boundaries),
    ("sources-and-tags", sources_and_tags),
    ("cbor", cbor),
    ("varints", varints),
    ("plain-records", plain_records),
];

/// Runs every step; one line each: name and digest.
pub(crate) fn report() -> String {
    let line = |(name, step): &Step| {
        let mut out = Vec::new();
        step(&mut out);
        format!("{name} {}\n", ObjectHash::of(&out))
    };
    STEPS.iter().map(line).collect()
}

/// Lengths around the boundaries of BLAKE3's blocks, chunks and widest vectors.
const LENGTHS: [usize; 12] = [0, 1, 63, 64, 65, 1_023, 1_024, 1_025, 4_097, 16_384, 65_537, 1_000_003];

fn chunk_ids(out: &mut Vec<u8>) {
    let keys = keys();
    for (seed, length) in LENGTHS.into_iter().enumerate() {
        out.extend(keys.chunk_id(&stream(seed as u64, length)).0);
    }
}

fn page_ids(out: &mut Vec<u8>) {
    let keys = keys();
    for count in [0, 1, 2, 100] {
        let references: Vec<ChunkId> = (0..count).map(|i| keys.chunk_id(&stream(i, 100))).collect();
        out.extend(keys.page_id(1 + count as u8, &references, &stream(count, 5_000)).0);
    }
}

fn gear_and_boundaries(out: &mut Vec<u8>) {
    let keys = keys();
    keys.cuts().gear().iter().for_each(|word| out.extend(word.to_le_bytes()));
    for level in 0..4 {
        out.extend(keys.boundary(level, b"home/ann/letter.txt").to_le_bytes());
    }
}

fn sources_and_tags(out: &mut Vec<u8>) {
    let keys = keys();
    out.extend(keys.source_id("host", &[b"/srv".to_vec(), b"/etc".to_vec()], "nightly").0);
    out.extend(keys.tag_id("before the move").0);
}

fn cbor(out: &mut Vec<u8>) {
    let body = body();
    let read = Reader::new(&body).and_then(|mut reader| {
        let mut fields = reader.map()?;
        let number = fields.required(0)?.uint()?;
        let time = fields.required(1)?.time()?;
        let bytes = fields.required(24)?.bytes(300)?.len();
        Ok((number, time, bytes))
    });
    out.extend(format!("{read:?}").bytes());
    for cut in 0..body.len() {
        out.extend(format!("{:?}", Reader::new(&body[..cut]).map(|_| ())).bytes());
    }
}

fn varints(out: &mut Vec<u8>) {
    for shift in 0..64 {
        varint::put(out, u64::MAX >> shift);
        varint::put_signed(out, i64::MIN >> shift);
    }
}

fn plain_records(out: &mut Vec<u8>) {
    let bytes = record::close(Kind::Root, &body());
    out.extend(format!("{:?}", record::open(Kind::Root, &bytes)).bytes());
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        out.extend(format!("{:?}", record::open(Kind::Root, &flipped)).bytes());
    }
    out.extend(bytes);
}

fn keys() -> DomainKeys {
    let root = Secret::new(core::array::from_fn(|i| i as u8));
    DomainKeys::new(&DomainKey::derive(&root, RepositoryId([0x11; 16]), DomainId([0x22; 16])))
}

fn body() -> Vec<u8> {
    let mut writer = Writer::new();
    writer.map(4).key(0).uint(1 << 40).key(1).time(Time::from_unix(-1, 999_999_999));
    writer.key(24).bytes(&stream(24, 300)).key(25).array(2).text("Grüße").bool(true);
    writer.finish()
}

/// Pseudo-random bytes (SplitMix64).
fn stream(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend((word ^ (word >> 31)).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}
