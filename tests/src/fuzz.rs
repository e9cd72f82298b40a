//! Fuzzing: every decoder as a function of bytes that must return, whatever the bytes.
//!
//! A new decoder is one line in [`targets`], and one in [`seeds`] so that mutations start from something valid.
//! Beyond not panicking, a target asserts what must hold for input that it accepts. Whoever runs the targets bounds what they
//! allocate ([`room_of`]).

mod inside;

use core::time::Duration;

use copal_engine::change::Change;
use copal_engine::enrollment::Enrollment;
use copal_engine::expiry::Expiry;
use copal_engine::id::{ClientId, ObjectHash, TagId};
use copal_engine::index::{OverlayRun, Segment};
use copal_engine::keys::session::SessionRecord;
use copal_engine::keys::slot::Slot;
use copal_engine::limits::BLOCK_BYTES;
use copal_engine::path::TreePath;
use copal_engine::receipt::Receipt;
use copal_engine::repository::Descriptor;
use copal_engine::retention::{Count, Policy, SignedPolicy, Span};
use copal_engine::root::{Deletion, Root};
use copal_engine::snapshot::SnapshotInfo;
use copal_engine::state::{RunReader, StateFold};
use copal_engine::time::Time;
use copal_engine::wire::cbor::{Reader, Writer};
use copal_engine::wire::cursor::Cursor;
use copal_engine::wire::record::{self, Kind, Unverified};
use copal_engine::wire::varint;
use copal_engine::{pack, tree};

/// A decoder's name, and the decoder.
pub type Target = (&'static str, fn(&[u8]));

/// All decoders.
pub fn targets() -> Vec<Target> {
    vec![
        ("cbor", cbor),
        ("signed record", signed_record),
        ("plain record", plain_record),
        ("varint", varints),
        ("path", path),
        ("enrollment", |bytes| drop(Enrollment::decode(&String::from_utf8_lossy(bytes)))),
        ("pack", |bytes| drop(pack::parse(bytes))),
        ("segment", |bytes| drop(Segment::parse(bytes).map(|segment| segment.verify()))),
        ("overlay", |bytes| drop(OverlayRun::parse(bytes).map(|run| run.verify()))),
        ("state run", |bytes| drop(RunReader::parse(bytes).map(|run| StateFold::default().add(&run)))),
        ("slot", |bytes| drop(Slot::parse(bytes))),
        ("session record", |bytes| drop(SessionRecord::parse(bytes))),
        ("page", |bytes| drop(tree::decode(1, &[], bytes))),
        ("page with references", inside::page),
        ("block plaintext", inside::block_plaintext),
        ("manifest body", inside::manifest_body),
        ("client record body", inside::client_body),
        ("request headers", inside::request_headers),
        ("snapshot", |bytes| drop(SnapshotInfo::decode(bytes))),
        ("descriptor", |bytes| drop(Descriptor::decode(1, bytes))),
        ("root", |bytes| drop(Root::decode(1, bytes))),
        ("deletion", |bytes| drop(Deletion::decode(bytes))),
        ("receipt", |bytes| drop(Receipt::decode(ClientId([0; 16]), 1, bytes))),
        ("change", |bytes| drop(Change::claimed_client(bytes))),
        ("expiry", |bytes| drop(Expiry::decode(1, bytes))),
        ("policy", |bytes| drop(SignedPolicy::decode(bytes))),
    ]
}

/// Valid input of every kind, from which mutations start.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut body = Writer::new();
    body.map(4)
        .key(0)
        .uint(u64::MAX)
        .key(1)
        .time(Time(-1))
        .key(2)
        .bytes(&[7; 40])
        .key(300)
        .array(2)
        .text("x")
        .bool(true);
    let body = body.finish();
    let mut numbers = Vec::new();
    (0..64).for_each(|shift| varint::put(&mut numbers, u64::MAX >> shift));
    let rules = Policy {
        daily: Some(Count::All),
        within: Some(Span { days: 7, ..Span::default() }),
        tags: vec![vec![TagId([1; 16])]],
        floor: Some(Span { hours: 1, ..Span::default() }),
        ..Policy::default()
    };
    let policy = SignedPolicy::new(rules, "CET-1CEST,M3.5.0,M10.5.0/3", Duration::from_secs(86_400), 30);
    let mut seeds = golden_objects();
    seeds.extend(inside::seeds(&seeds));
    seeds.extend([
        record::close(Kind::Root, &body),
        [&b"copalrec\x03\x01"[..], &(body.len() as u32).to_le_bytes(), &body, &[9; 64]].concat(),
        body,
        numbers,
        policy.expect("a sound policy").encode(),
        b"home/ann/letter.txt".to_vec(),
        b"COPAL-JOIN-1-040G2081040G2081".to_vec(),
    ]);
    seeds
}

/// The small objects of the golden repository: something of every kind.
fn golden_objects() -> Vec<Vec<u8>> {
    let mut folders = vec![crate::golden::path("repository")];
    let mut objects = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the golden repository is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                objects.push(std::fs::read(&path).expect("its objects can be read"));
            }
        }
    }
    objects.retain(|object| object.len() <= 8 << 10);
    objects.sort();
    objects
}

/// Gets the name of a target, an input, and what gives one to the other.
pub type Around = dyn Fn(&str, &[u8], &mut dyn FnMut());

/// Gives each target `rounds` inputs: pseudo-random bytes and mutated seeds, the same for the same `seed`.
/// Prints the input before it passes on a target's panic. `around` calls what it is given, and may look what that took.
pub fn run(seed: u64, rounds: u32, around: &Around) {
    let seeds = seeds();
    let mut random = Random(seed);
    for (name, target) in targets() {
        for _ in 0..rounds {
            let input = random.input(&seeds);
            let _reported = Reported { name, input: &input };
            around(name, &input, &mut || target(&input));
        }
    }
}

/// Bytes that a target may allocate for an input. A block says how large it is unpacked, up to the limit; all else is a multiple
/// of what was read.
pub fn room_of(target: &str, input: &[u8]) -> usize {
    let fixed = if target == "block plaintext" { BLOCK_BYTES as usize + (1 << 20) } else { 1 << 20 };
    fixed + 64 * input.len()
}

fn cbor(bytes: &[u8]) {
    let Ok(mut reader) = Reader::new(bytes) else { return };
    assert!(Reader::new(&[bytes, &[0]].concat()).is_err(), "bytes after an item are refused");
    let _ = reader.map().map(|fields| fields.end());
    let _ = [reader.uint().is_ok(), reader.int().is_ok(), reader.bool().is_ok(), reader.fixed::<32>().is_ok()];
    let _ = [reader.text(1 << 16).is_ok(), reader.bytes(1 << 16).is_ok()];
    let _ = reader.list(1 << 16, Reader::uint);
}

fn signed_record(bytes: &[u8]) {
    let Ok(record) = Unverified::parse(Kind::Manifest, bytes) else { return };
    assert_eq!(record.claimed_body().len() + 14 + 64, bytes.len(), "a signed record has no bytes of no meaning");
}

fn plain_record(bytes: &[u8]) {
    if let Ok(body) = record::open(Kind::Root, bytes) {
        assert_eq!(record::close(Kind::Root, body), bytes, "a body has one form");
    }
    // The checksum would keep mutations away from what lies behind it.
    let before = &bytes[..bytes.len().saturating_sub(ObjectHash::LEN)];
    let _ = record::open(Kind::Root, &[before, ObjectHash::of(before).as_bytes()].concat());
}

fn varints(bytes: &[u8]) {
    let mut cursor = Cursor::new(bytes);
    let mut again = Vec::new();
    while let Ok(value) = varint::take(&mut cursor) {
        varint::put(&mut again, value);
    }
    assert!(bytes.starts_with(&again), "a number has one form");
    let _ = varint::take_signed(&mut Cursor::new(bytes));
}

fn path(bytes: &[u8]) {
    let Ok(path) = TreePath::new(bytes) else { return };
    if let Some(parent) = path.parent() {
        assert!(path.is_within(&parent) && parent < path);
        assert_eq!(parent.join(path.name()), Ok(path));
    }
}

/// Prints the input if it is dropped by a panic.
struct Reported<'a> {
    name: &'static str,
    input: &'a [u8],
}

impl Drop for Reported<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let hex: String = self.input.iter().map(|byte| format!("{byte:02x}")).collect();
            eprintln!("the target {:?} panicked on this input: {hex}", self.name);
        }
    }
}

/// A source of pseudo-random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn input(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        if self.below(4) == 0 {
            let length = self.below(300);
            return (0..length).map(|_| self.next() as u8).collect();
        }
        let mut input = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(3) {
            self.mutate(&mut input, seeds);
        }
        input
    }

    fn mutate(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let at = self.below(input.len());
        match self.below(6) {
            0 => input.truncate(at),
            1 => input.insert(at, self.next() as u8),
            2 => {
                let other = &seeds[self.below(seeds.len())];
                input.truncate(at);
                input.extend_from_slice(&other[self.below(other.len())..]);
            }
            3 => {
                let extreme = [0, 1, 0x7f, 0x80, 0xff, u32::MAX >> 1, u32::MAX][self.below(7)];
                input.iter_mut().skip(at).zip(extreme.to_le_bytes()).for_each(|(byte, new)| *byte = new);
            }
            4 => input.iter_mut().skip(at).take(1).for_each(|byte| *byte = self.next() as u8),
            _ => input.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << self.below(8)),
        }
    }
}
