//! Seeds: valid input of every kind, from which libFuzzer starts the corpus of a new target.

use core::time::Duration;

use copal_format::block::SealTools;
use copal_format::client::{ClientPublic, ClientRecord, EnrollmentPublic, Role};
use copal_format::compress::Parameters;
use copal_format::id::{ChunkId, ClientId, DomainId, ObjectHash, TagId};
use copal_format::keys::secret::Secret;
use copal_format::keys::slot::Slot;
use copal_format::keys::text::{encode_key_file, encode_recovery};
use copal_format::layout;
use copal_format::path::TreePath;
use copal_format::policy::{Count, Period, Policy, SignedPolicy, Span};
use copal_format::receipt::IngestBy;
use copal_format::repository::Descriptor;
use copal_format::request::{Request, Signatory, Terms};
use copal_format::snapshot::SnapshotInfo;
use copal_format::time::Time;
use copal_format::tree::{Content, Entry, EntryKind, Extras, Mode, Piece, TreeBuilder, TreeParams};
use copal_format::wire::cbor::Reader;
use copal_format::wire::record::{self, Kind, Unverified};
use copal_format::wire::varint;

use super::inside::{DOMAIN, OWNER, REPOSITORY, SIGNING, VERIFYING};
use crate::golden;

/// Valid input of every kind.
pub fn seeds() -> Vec<Vec<u8>> {
    let objects = golden_objects();
    let mut seeds = inside_of(&objects);
    seeds.extend(objects);
    seeds.extend(texts());
    seeds.extend([numbers(), policy(), SnapshotInfo::default().encode(), descriptor_body()]);
    seeds.extend(client_bodies());
    seeds.extend(plaintexts());
    seeds.extend(pages());
    seeds
}

/// The small objects of the golden repository: something of every kind.
fn golden_objects() -> Vec<Vec<u8>> {
    let mut folders = vec![golden::path("repository")];
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
    objects
}

/// What lies in the objects behind signatures and checksums.
fn inside_of(objects: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut bodies = Vec::new();
    for object in objects {
        for kind in [Kind::Descriptor, Kind::Client, Kind::Manifest, Kind::Change] {
            bodies.extend(Unverified::parse(kind, object).map(|record| record.claimed_body().to_vec()));
        }
        for kind in [Kind::Receipt, Kind::Root, Kind::Expiry, Kind::Deletion] {
            bodies.extend(record::open(kind, object).map(<[u8]>::to_vec));
        }
        bodies.extend(Slot::parse(object).map(|_| object[..object.len() - ObjectHash::LEN].to_vec()));
    }
    let sessions: Vec<Vec<u8>> = bodies.iter().filter_map(|body| session_record(body)).collect();
    bodies.extend(sessions);
    bodies
}

/// The session record in the body of a manifest with a snapshot.
fn session_record(body: &[u8]) -> Option<Vec<u8>> {
    let mut reader = Reader::new(body).ok()?;
    let mut manifest = reader.map().ok()?;
    let mut snapshot = manifest.required(6).ok()?.map().ok()?;
    Some(snapshot.required(5).ok()?.bytes(1 << 16).ok()?.to_vec())
}

fn texts() -> Vec<Vec<u8>> {
    let request = Request { method: "GET", uri: "https://localhost/v1/health", digest: Request::digest(b"") };
    let terms = Terms { created: 1, expires: 60, nonce: [9; 16], signatory: Signatory::Owner };
    let headers = request.sign(&terms, &SIGNING);
    let headers = [headers.content_digest, headers.input, headers.signature].join("\n");
    let secret = Secret::new([1; 32]);
    let (name, enrollment) = (layout::segment(ObjectHash([7; 32])), [&[0; 113], &b"/srv/backup"[..]].concat());
    [
        &headers,
        &*encode_recovery(&secret),
        &*encode_key_file(&secret),
        &name,
        "home/ann/letter.txt",
        "COPAL-JOIN-1-040G",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into_iter()
    .chain([enrollment])
    .collect()
}

fn numbers() -> Vec<u8> {
    let mut numbers = Vec::new();
    (0..64).for_each(|shift| varint::put(&mut numbers, u64::MAX >> shift));
    numbers
}

fn policy() -> Vec<u8> {
    let rules = Policy {
        tags: vec![vec![TagId([1; 16])]],
        floor: Some(Span { hours: 1, ..Span::default() }),
        ..Policy::default()
    }
    .keeping(Period::Daily, Count::All)
    .keeping_within(Period::Last, Span { days: 7, ..Span::default() });
    let policy = SignedPolicy::new(rules, "CET-1CEST,M3.5.0,M10.5.0/3", Duration::from_secs(86_400), 30);
    policy.expect("a sound policy").encode()
}

fn body(signed: &[u8], kind: Kind) -> Vec<u8> {
    Unverified::parse(kind, signed).expect("it was signed just now").claimed_body().to_vec()
}

fn descriptor_body() -> Vec<u8> {
    let first = Descriptor::new(&OWNER, Time(1), IngestBy::Service, DomainId([7; 16]));
    let descriptor = Descriptor { owner_key: *VERIFYING, reader: Some(ObjectHash([4; 32])), ..first };
    body(&descriptor.sign(&SIGNING), Kind::Descriptor)
}

/// An enrollment followed by who joins it, and by its revocation.
fn client_bodies() -> [Vec<u8>; 2] {
    let enrolled = ClientRecord {
        sealed_name: vec![5; 30],
        enrollment: Some(EnrollmentPublic { key: *VERIFYING, expires: Some(Time(9)) }),
        ..ClientRecord::new(ClientId([0; 16]), Role::WriteOnly, DomainId([7; 16]), Time(1))
    };
    let keys = ClientPublic { manifest: [6; 32], request: [7; 32] };
    let hash = ObjectHash([8; 32]);
    [enrolled.joined(keys, Time(2)), enrolled.revoked((3, hash), Some((4, hash)), Time(2))].map(|second| {
        let [first, second] = [&enrolled, &second].map(|one| body(&one.sign(REPOSITORY, &SIGNING), Kind::Client));
        [&(first.len() as u16).to_le_bytes()[..], &first, &second].concat()
    })
}

fn plaintexts() -> Vec<Vec<u8>> {
    let mut tools = SealTools::new(Parameters::of_level(3));
    let raws = [b"abcabcabc".repeat(50), (0..=255).collect()];
    raws.iter().filter_map(|raw| tools.plaintext(0, &[100, raw.len() as u32 - 100], raw).ok()).collect()
}

fn pages() -> Vec<Vec<u8>> {
    let params = TreeParams::new(4, 4, 64, 2_000).expect("sound sizes");
    let mut builder = TreeBuilder::new(params, (*DOMAIN).clone());
    for at in 0..40_u8 {
        let pieces = (0..at % 5).map(|piece| Piece { id: ChunkId([at ^ piece; 24]), length: 9 }).collect::<Vec<_>>();
        let content = match at % 5 {
            0 => Content::None,
            1 => Content::Inline(vec![at; 9].into()),
            _ => Content::Chunks(pieces.clone()),
        };
        let content_bytes = if at % 5 == 1 { 9 } else { 9 * pieces.len() as u64 };
        let hole = content_bytes..content_bytes + 4096;
        let extras = Extras {
            holes: if at % 2 == 0 { vec![hole] } else { Vec::new() },
            xattrs: vec![(b"user.name".to_vec(), vec![at; 5])],
            ..Extras::default()
        };
        let path = TreePath::new(format!("folder {}/file {at:02}", at / 10)).expect("a path");
        let size = content_bytes + extras.holes.iter().map(|hole| hole.end - hole.start).sum::<u64>();
        let (mtime, inode, file) = (Time(at.into()), at.into(), Mode::new(EntryKind::File, 0o644));
        let entry = Entry { mtime, inode, size, content, extras, ..Entry::new(path, file) };
        builder.push(&entry).expect("a sound entry");
    }
    let pages = builder.finish().expect("a small tree").pages;
    pages.iter().map(|page| [&[page.height, page.references.len() as u8][..], &page.plaintext].concat()).collect()
}
