//! A repository in memory with clients of every kind, and requests to a gateway before it.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request as HttpRequest, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use copal_format::change::{Change, Operation};
use copal_format::client::{ClientPublic, ClientRecord, EnrollmentPublic, Role, SignedBy};
use copal_format::id::{ChunkId, ClientId, DomainId, ObjectHash, PackId, RepositoryId, SnapshotId};
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::secret::Secret;
use copal_format::layout::{self, Place};
use copal_format::pack::PackKind;
use copal_format::receipt::IngestBy;
use copal_format::repository::Descriptor;
use copal_format::request::{Request, Signatory, Terms, WINDOW};
use copal_format::root::Root;
use copal_format::state::{PackRecord, RunKind, SegmentRecord, StateDelta, write_run};
use copal_format::time::Time;
use copal_store::memory::MemoryStore;
use copal_store::{Key, Store};
use ed25519_dalek::SigningKey;
use serde_json::Value;
use tower::ServiceExt;

use crate::router::{Gateway, Memory, Orders, Quota, Settings};
use copal_jobs::context::Entropy;

pub(super) const NOW: u64 = 1_790_000_000;
pub(super) const ORIGIN: &str = "https://gateway.example";
pub(super) const FULL: ClientId = ClientId([1; 16]);
pub(super) const WRITER: ClientId = ClientId([2; 16]);
pub(super) const REVOKED: ClientId = ClientId([3; 16]);
pub(super) const JOINING: ClientId = ClientId([4; 16]);
pub(super) const FULL_SIGNS: Signatory = Signatory::Client(FULL);
pub(super) const WRITER_SIGNS: Signatory = Signatory::Client(WRITER);
pub(super) const SHARED: DomainId = DomainId([0xd0; 16]);
pub(super) const OWN: DomainId = DomainId([0xd2; 16]);

pub(super) struct Zeros;

impl Entropy for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

pub(super) struct World {
    pub(super) store: Arc<MemoryStore>,
    router: Router,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) bytes: Bytes,
}

impl Answer {
    #[track_caller]
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The last part of the problem's type, once the answer is found to be a problem in full.
    #[track_caller]
    pub(super) fn problem(&self) -> (u16, String) {
        assert_eq!(self.headers["content-type"], "application/problem+json", "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status.as_u16());
        assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()));
        let name = problem["type"].as_str().unwrap().strip_prefix("urn:copal:problem:").unwrap();
        (self.status.as_u16(), name.to_owned())
    }
}

pub(super) fn owner() -> OwnerSecret {
    let secret = |byte| Secret::new([byte; 32]);
    OwnerSecret::new(RepositoryId([0xc0; 16]), secret(1), secret(2), secret(3))
}

pub(super) fn request_key(client: ClientId) -> SigningKey {
    SigningKey::from_bytes(&[client.0[0] ^ 0xff; 32])
}

pub(super) fn manifest_key(client: ClientId) -> SigningKey {
    SigningKey::from_bytes(&[client.0[0] ^ 0x55; 32])
}

pub(super) fn enrollment_key() -> SigningKey {
    SigningKey::from_bytes(&[0xee; 32])
}

pub(super) fn record(client: ClientId, role: Role, version: u64) -> ClientRecord {
    let public = |key: SigningKey| key.verifying_key().to_bytes();
    let keys = ClientPublic { manifest: public(manifest_key(client)), request: public(request_key(client)) };
    let domain = if role == Role::Full { SHARED } else { OWN };
    let first = ClientRecord::new(client, role, domain, Time(0));
    ClientRecord { version, sealed_name: b"sealed".to_vec(), keys: Some(keys), ..first }
}

/// The record of a client that may join until now.
pub(super) fn waiting() -> ClientRecord {
    let expires = Some(Time::from_unix(NOW as i64, 0));
    let enrollment = Some(EnrollmentPublic { key: enrollment_key().verifying_key().to_bytes(), expires });
    ClientRecord { keys: None, enrollment, ..record(JOINING, Role::WriteOnly, 1) }
}

/// The record by which the client that waits joins.
pub(super) fn joined() -> ClientRecord {
    ClientRecord { signed_by: SignedBy::Enrollment, ..record(JOINING, Role::WriteOnly, 2) }
}

/// A change by a client that pins a snapshot.
pub(super) fn change(client: ClientId, number: u64) -> Change {
    let previous = if number == 1 { ObjectHash::NONE } else { ObjectHash([7; 32]) };
    let operations = vec![Operation::Pin(vec![SnapshotId([1; 16])])];
    Change { number, previous, client, time: Time(0), operations }
}

/// The bytes of a change, signed by its client.
pub(super) fn signed_change(client: ClientId, number: u64) -> Vec<u8> {
    change(client, number).sign(owner().repository(), &manifest_key(client))
}

impl World {
    /// A repository whose clients' uploads a service decides about.
    pub(super) async fn new() -> Self {
        Self::with(IngestBy::Service, |_| {}).await
    }

    pub(super) async fn with(ingest: IngestBy, change: impl FnOnce(&mut Settings)) -> Self {
        let world = Self::bare(change);
        world.put(layout::descriptor(1), descriptor(1, ingest)).await;
        let sign = |record: ClientRecord| record.sign(owner().repository(), &owner().signing_key());
        world.put(layout::client(FULL, 1), sign(record(FULL, Role::Full, 1))).await;
        world.put(layout::client(WRITER, 1), sign(record(WRITER, Role::WriteOnly, 1))).await;
        world.put(layout::client(REVOKED, 1), sign(record(REVOKED, Role::Full, 1))).await;
        let revoked = ClientRecord { revoked: Some((0, ObjectHash::NONE)), ..record(REVOKED, Role::Full, 2) };
        world.put(layout::client(REVOKED, 2), sign(revoked)).await;
        world.put(layout::client(JOINING, 1), sign(waiting())).await;
        world.put("keys/00000000000000000000000000000007/a".into(), b"slot".to_vec()).await;
        world
    }

    /// A repository that the gateway sees through another store, and that store.
    pub(super) async fn before<S: Store + 'static>(other: impl FnOnce(Arc<dyn Store>) -> S) -> (Self, Arc<S>) {
        let mut made = None;
        let world = Self::with(IngestBy::Service, |settings| {
            let store = Arc::new(other(settings.store.clone()));
            settings.store = store.clone();
            made = Some(store);
        });
        (world.await, made.unwrap())
    }

    /// A gateway before an empty store.
    pub(super) fn bare(change: impl FnOnce(&mut Settings)) -> Self {
        let store = Arc::new(MemoryStore::new());
        let mut settings = Settings {
            store: store.clone(),
            entropy: Arc::new(Zeros),
            clock: || NOW,
            presigner: None,
            owner: None,
            origin: Some(ORIGIN.to_owned()),
            other_origins: Vec::new(),
            scheme: "https",
            open_slots: false,
            accept_init: false,
            quota: Quota::default(),
            cors: None,
            arrived: None,
            suspected: None,
            jobs: None,
            orders: Orders::None,
        };
        change(&mut settings);
        Self { store, router: Gateway::new(settings, Some(Memory::default())).router() }
    }

    pub(super) async fn put(&self, name: String, bytes: Vec<u8>) {
        self.store.create(&Key::new(name).unwrap(), bytes.into()).await.unwrap();
    }

    /// A root that names a segment of each domain, and a pack of 1,000 bytes of the write-only client's.
    pub(super) async fn put_root(&self) {
        let mut delta = StateDelta::default();
        let segment = SegmentRecord { entries: 1, length: 7, first: ChunkId([0; 24]), last: ChunkId([0; 24]) };
        for (domain, bytes) in [(SHARED, &b"shared!"[..]), (OWN, &b"its own"[..])] {
            let hash = ObjectHash::of(bytes);
            self.put(layout::segment(hash), bytes.to_vec()).await;
            delta.segments.insert((domain, hash), Some(segment.clone()));
        }
        let pack = PackRecord::new(OWN, PackKind::Data, 1_000, Time::from_unix(NOW as i64 - 60, 0));
        let pack = PackRecord { is_proven: true, ..pack };
        delta.packs.insert(PackId([9; 32]), Some(pack));
        let mut runs = Vec::new();
        for kind in [RunKind::Segments, RunKind::Packs] {
            let run = write_run(kind, [7; 16], &delta.records(kind));
            self.put(layout::state(run.reference.hash), run.bytes).await;
            runs.push(run.reference);
        }
        let root = Root { runs, ..Root::new(1, Time::from_unix(NOW as i64, 0)) };
        self.put(layout::root(1), root.encode().unwrap()).await;
    }

    /// A signed request.
    pub(super) async fn signed(&self, signatory: Signatory, method: &str, path: &str, body: &[u8]) -> Answer {
        self.send(sign(signatory, method, path, body)).await
    }

    /// An answer whose body has not been read.
    pub(super) async fn answer(&self, request: HttpRequest<Body>) -> Response {
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub(super) async fn send(&self, request: HttpRequest<Body>) -> Answer {
        let (parts, body) = self.answer(request).await.into_parts();
        let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
        Answer { status: parts.status, headers: parts.headers, bytes }
    }

    /// A request that nobody has signed.
    pub(super) async fn unsigned(&self, method: &str, path: &str) -> Answer {
        self.send(HttpRequest::builder().method(method).uri(path).body(Body::empty()).unwrap()).await
    }
}

pub(super) fn descriptor(version: u64, ingest: IngestBy) -> Vec<u8> {
    Descriptor { version, ..Descriptor::new(&owner(), Time(0), ingest, SHARED) }.sign(&owner().signing_key())
}

pub(super) fn terms(signatory: Signatory, nonce: [u8; 16]) -> Terms {
    Terms { created: NOW, expires: NOW + WINDOW, nonce, signatory }
}

/// A request with a nonce of its own, signed by the right key.
pub(super) fn sign(signatory: Signatory, method: &str, path: &str, body: &[u8]) -> HttpRequest<Body> {
    sign_at(NOW, signatory, method, path, body)
}

/// The same, signed at this time.
pub(super) fn sign_at(now: u64, signatory: Signatory, method: &str, path: &str, body: &[u8]) -> HttpRequest<Body> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNTER: AtomicU64 = AtomicU64::new(1);
    let mut nonce = [0; 16];
    nonce[..8].copy_from_slice(&COUNTER.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    let key = match signatory {
        Signatory::Owner => owner().signing_key(),
        Signatory::Client(JOINING) => enrollment_key(),
        Signatory::Client(id) => request_key(id),
    };
    let terms = Terms { created: now, expires: now + WINDOW, ..terms(signatory, nonce) };
    sign_with(&terms, &key, method, path, body)
}

pub(super) fn sign_with(terms: &Terms, key: &SigningKey, method: &str, path: &str, body: &[u8]) -> HttpRequest<Body> {
    let uri = format!("{ORIGIN}{path}");
    let headers = Request { method, uri: &uri, digest: Request::digest(body) }.sign(terms, key);
    HttpRequest::builder()
        .method(method)
        .uri(path)
        .header("host", "gateway.example")
        .header("content-length", body.len())
        .header("if-none-match", "*")
        .header("content-digest", headers.content_digest)
        .header("signature-input", headers.input)
        .header("signature", headers.signature)
        .body(Body::from(body.to_vec()))
        .unwrap()
}

/// As long as a pack has to be.
pub(super) const PACK: &[u8] = b"a pack is as long as its trailer at least";

pub(super) fn pack_path(bytes: &[u8]) -> String {
    format!("/v1/objects/{}", layout::pack(Place::Packs, PackId(ObjectHash::of(bytes).0)))
}

/// A refusal, as an answer tells it.
pub(super) fn problem(status: u16, name: &str) -> (u16, String) {
    (status, name.to_owned())
}
