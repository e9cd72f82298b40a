//! One record of each kind, with every optional part, made of fixed keys.

use core::time::Duration;

use copal_format::change::{Change, Operation, OwnerSignature};
use copal_format::client::{ClientPublic, ClientRecord, EnrollmentPublic, Role, SignedBy};
use copal_format::exclusions::{Exclusions, Pattern};
use copal_format::expiry::Expiry;
use copal_format::extent::Extent;
use copal_format::id::*;
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::secret::Secret;
use copal_format::layout::Prunable;
use copal_format::manifest::{Manifest, SnapshotClaim};
use copal_format::policy::{Count, Floor, Hold, Period, Policy, SignedPolicy, Span};
use copal_format::receipt::{IngestBy, Outcome, Reason, Receipt};
use copal_format::repository::{Descriptor, KEM_PUBLIC_BYTES, Parameters};
use copal_format::root::{Deletion, Root};
use copal_format::snapshot::{Counts, MetadataSeen, Origin, SnapshotInfo, Summary};
use copal_format::state::{RunKind, RunRef};
use copal_format::time::Time;
use copal_format::troubles::Troubles;
use ed25519_dalek::SigningKey;

pub(crate) const REPOSITORY: RepositoryId = RepositoryId([0x10; 16]);
pub(crate) const CLIENT: ClientId = ClientId([0x11; 16]);
const TIME: Time = Time(1_700_000_000_123_456_789);
/// Seven days later.
const ENDS: Time = Time(1_700_604_800_123_456_789);

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn owner() -> SigningKey {
    SigningKey::from_bytes(&[1; 32])
}

pub(crate) fn device() -> SigningKey {
    SigningKey::from_bytes(&[2; 32])
}

pub(crate) fn enrollment() -> SigningKey {
    SigningKey::from_bytes(&[3; 32])
}

pub(crate) fn public(key: &SigningKey) -> [u8; 32] {
    key.verifying_key().to_bytes()
}

pub(crate) fn descriptor() -> Descriptor {
    Descriptor {
        version: 1,
        repository: REPOSITORY,
        created: TIME,
        parameters: Parameters {
            chunk_min: 64 << 10,
            chunk_average: 256 << 10,
            chunk_max: 1 << 20,
            block_target: 1 << 20,
            tree_block_target: 256 << 10,
            pack_target: 32 << 20,
            tree_pack_target: 8 << 20,
            inline_max: 512,
            leaf_fanout: 128,
            inner_fanout: 64,
            page_min: 4 << 10,
            page_max: 64 << 10,
            zstd_level: 3,
        },
        owner_key: public(&owner()),
        kem_public: (0..KEM_PUBLIC_BYTES).map(|i| i as u8).collect(),
        ingest: IngestBy::Service,
        reader: Some(ObjectHash([0x12; 32])),
        shared_domain: DomainId([0x13; 16]),
    }
}

pub(crate) fn enrolled() -> ClientRecord {
    ClientRecord {
        sealed_name: b"sealed name".to_vec(),
        enrollment: Some(EnrollmentPublic { key: public(&enrollment()), expires: Some(ENDS) }),
        ..ClientRecord::new(CLIENT, Role::WriteOnly, DomainId([0x14; 16]), TIME)
    }
}

pub(crate) fn joined() -> ClientRecord {
    let keys = Some(ClientPublic { manifest: public(&device()), request: [0x15; 32] });
    ClientRecord { version: 2, keys, enrollment: None, signed_by: SignedBy::Enrollment, ..enrolled() }
}

pub(crate) fn revoked() -> ClientRecord {
    let last_change = Some((12, ObjectHash([0x17; 32])));
    let revoked = Some((7, ObjectHash([0x16; 32])));
    ClientRecord { version: 3, revoked, last_change, signed_by: SignedBy::Owner, ..joined() }
}

pub(crate) fn manifest() -> Manifest {
    Manifest {
        proven: None,
        client: CLIENT,
        number: 2,
        previous: ObjectHash([0x17; 32]),
        domain: DomainId([0x14; 16]),
        root_seen: Some((300, ObjectHash([0x18; 32]))),
        packs: vec![(PackId([0x1a; 32]), 33_554_432), (PackId([0x19; 32]), 1)],
        snapshot: Some(SnapshotClaim {
            root: ChunkId([0x1b; 24]),
            partial: true,
            client_time: TIME,
            source: SourceId([0x1c; 16]),
            tags: vec![TagId([0x1d; 16]), TagId([0x1e; 16])],
            session_record: b"session record".to_vec(),
            counter: 70_000,
            info: b"sealed info".to_vec(),
            extent: None,
        }),
    }
}

/// The same with what it says of its extent.
pub(crate) fn manifest_with_extent() -> Manifest {
    let plain = manifest();
    let extent = Some(Extent::about(78_611, 1_300_000_001, 207_654_321));
    Manifest { snapshot: plain.snapshot.map(|claim| SnapshotClaim { extent, ..claim }), ..plain }
}

/// What needs the owner's signature.
pub(crate) fn owners_change() -> Change {
    let signature = OwnerSignature::NONE;
    let operations = vec![
        Operation::OwnerPolicy { policy: guarded_policy().encode(), signature },
        Operation::Release { snapshots: vec![SnapshotId([0x20; 16]), SnapshotId([0x1f; 16])], signature },
        Operation::AcceptLoss { manifests: vec![(CLIENT, 2), (CLIENT, 3)], changes: vec![1], signature },
    ];
    let mut change = Change { number: 2, previous: ObjectHash([0x23; 32]), operations, ..change() };
    change.sign_as_owner(REPOSITORY, &owner());
    change
}

pub(crate) fn change() -> Change {
    let snapshots = || vec![SnapshotId([0x20; 16]), SnapshotId([0x1f; 16])];
    let add = vec![(TagId([0x1d; 16]), b"sealed tag".to_vec())];
    Change {
        number: 1,
        previous: ObjectHash::NONE,
        client: CLIENT,
        time: TIME,
        operations: vec![
            Operation::Forget(snapshots()),
            Operation::Undelete(vec![]),
            Operation::Pin(snapshots()),
            Operation::Unpin(snapshots()),
            Operation::Tag { snapshots: snapshots(), add, remove: vec![TagId([0x1e; 16])] },
            Operation::Policy(b"policy".to_vec()),
        ],
    }
}

pub(crate) fn receipt() -> Receipt {
    Receipt {
        client: CLIENT,
        number: 2,
        manifest: ObjectHash([0x21; 32]),
        outcome: Outcome::Rejected,
        root: 301,
        time: TIME,
        by: IngestBy::Service,
        reasons: vec![(Reason::MissingPack, "pack 1a".into()), (Reason::Unresolved, "page 1b".into())],
        missing: vec![ChunkId([0x22; 24])],
        packs: vec![PackId([0x1a; 32])],
    }
}

pub(crate) fn expiry() -> Expiry {
    let snapshots = vec![SnapshotId([0x1f; 16]), SnapshotId([0x20; 16])];
    Expiry { number: 2, previous: ObjectHash([0x23; 32]), policy: 1, change: 4, time: TIME, snapshots }
}

pub(crate) fn root() -> Root {
    let hash = ObjectHash([0x24; 32]);
    Root {
        number: 7,
        random: [9; 16],
        base: Some((6, hash)),
        time: TIME,
        rebuilt: false,
        runs: vec![RunRef { kind: RunKind::Packs, hash, length: 1 << 40, records: 300 }],
        change_head: Some((12, hash)),
        policy: Some((3, hash)),
        expiry_head: Some((5, hash)),
        lingering: None,
    }
}

pub(crate) fn deletion() -> Deletion {
    let names = vec![Prunable::Run(ObjectHash([0x25; 32]))];
    Deletion { root_number: 3, random: [5; 16], time: TIME, names, baseline: Some((4, ObjectHash([0x26; 32]))) }
}

pub(crate) fn policy() -> SignedPolicy {
    let span = |years, months, days, hours| Span { years, months, days, hours };
    let rules = Policy {
        tags: vec![vec![TagId([0x1d; 16]), TagId([0x1e; 16])], vec![TagId([0x1c; 16])]],
        floor: Some(span(0, 0, 7, 0)),
        ..Policy::default()
    }
    .keeping(Period::Last, Count::N(3))
    .keeping(Period::Daily, Count::N(30))
    .keeping(Period::Yearly, Count::All)
    .keeping_within(Period::Last, span(0, 0, 2, 12))
    .keeping_within(Period::Monthly, span(1, 6, 0, 0));
    SignedPolicy::new(rules, "CET-1CEST,M3.5.0,M10.5.0/3", Duration::from_secs(86_400), 30).unwrap()
}

pub(crate) fn guarded_policy() -> SignedPolicy {
    let floor = Floor { last: 3, age: Duration::from_secs(14 * 86_400) };
    policy().with_guard(floor, Some(Hold { share: 50, least: 64 << 20 })).unwrap()
}

pub(crate) fn info() -> SnapshotInfo {
    SnapshotInfo {
        host: "heron".into(),
        paths: vec![b"/etc".to_vec(), b"/home/\xff".to_vec()],
        label: "nightly".into(),
        tags: vec!["offsite".into(), "w\u{f6}chentlich".into()],
        started: Time(-1),
        counts: Counts { files: 78_611, directories: 5_000, others: 70, bytes: 1_300_000_000 },
        summary: Summary { new: 1, changed: 2, unmodified: 78_608, errors: 0 },
        metadata: MetadataSeen(0b1111),
        program: "copal 0.1.0".into(),
        user: "mira".into(),
        exclusions: None,
        troubles: Troubles::default(),
        origin: None,
    }
}

pub(crate) fn info_with_exclusions() -> SnapshotInfo {
    let patterns = [("*.o", false), ("!Keep.O", true)];
    let exclusions = Exclusions {
        patterns: patterns.map(|(text, any_case)| Pattern { text: text.into(), any_case }).to_vec(),
        markers: vec![b".nobackup".to_vec(), b"CACHEDIR.TAG".to_vec()],
        larger_than: Some(2 << 30),
        one_file_system: true,
        is_cut: false,
    };
    SnapshotInfo { exclusions: Some(exclusions), ..info() }
}

pub(crate) fn info_with_troubles() -> SnapshotInfo {
    let mut troubles = Troubles::default();
    troubles.unreadable(b"etc/shadow");
    troubles.changing(b"home/\xff/mail.log");
    SnapshotInfo { summary: Summary { errors: 1, ..info().summary }, troubles, ..info_with_exclusions() }
}

pub(crate) fn info_with_an_origin() -> SnapshotInfo {
    let origin =
        Origin { repository: RepositoryId([0x21; 16]), snapshot: SnapshotId([0x22; 16]), client: ClientId([0x23; 16]) };
    SnapshotInfo { origin: Some(origin), ..info_with_troubles() }
}

/// The owner's secret of [`owner`]'s signing key.
pub(crate) fn owner_secret() -> OwnerSecret {
    let [root, kem, signing] = [11, 12, 1].map(|byte| Secret::new([byte; 32]));
    OwnerSecret::new(REPOSITORY, root, kem, signing)
}

/// A manifest of which the owner vouches for the last pack.
pub(crate) fn proven_manifest() -> Manifest {
    let mut manifest = manifest();
    let last = manifest.packs.last().map(|(pack, _)| *pack);
    manifest.prove(&owner_secret(), |pack| Some(*pack) == last);
    manifest
}

/// A change by which the owner vouches for packs.
pub(crate) fn proving_change() -> Change {
    let packs = vec![PackId([0x31; 32]), PackId([0x30; 32])];
    Change { operations: vec![Operation::prove(&owner_secret(), packs)], ..change() }
}
