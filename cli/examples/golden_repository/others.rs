//! Others: clients besides the first one, and records that a backup of it does not write.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use copal_client::changes;
use copal_client::entropy::{random, secret};
use copal_client::repository::LocalClient;
use copal_client::wait::wait;
use copal_format::block::{BlockBuilder, SealTools};
use copal_format::change::Operation;
use copal_format::client::{ClientPublic, ClientRecord, EnrollmentPublic, Role};
use copal_format::compress::Parameters;
use copal_format::id::{ClientId, DomainId, ObjectHash, PackId, SnapshotId};
use copal_format::keys::client::ClientKeys;
use copal_format::keys::session::SessionKey;
use copal_format::layout;
use copal_format::manifest::{Manifest, SnapshotClaim};
use copal_format::receipt::{IngestBy, Outcome, Receipt};
use copal_format::seal::{BlockKind, Counters, SessionCipher};
use copal_format::snapshot::SnapshotInfo;
use copal_format::time::Time;
use copal_jobs::ingest::{Scope, ingest};
use copal_jobs::{objects, view};
use copal_store::{Created, Store};

use crate::{Golden, acts};

/// A write-only client that joined by enrollment, with two snapshots in a domain of its own.
pub(crate) fn sender(golden: &Golden<'_>) -> SnapshotId {
    let (id, domain, enrollment) = (ClientId(random()), DomainId(random()), secret());
    let enrollment = ClientKeys::new(enrollment, secret()).manifest_key();
    let keys = ClientKeys::new(secret(), secret());
    let first = record(golden, id, &keys, domain, "sender");
    let expires = Some(first.created + Duration::from_secs(7 * 86_400));
    let waiting = ClientRecord {
        role: Role::WriteOnly,
        keys: None,
        enrollment: Some(EnrollmentPublic { key: enrollment.verifying_key().to_bytes(), expires }),
        ..first
    };
    golden.sign(&waiting);
    let joined = waiting.joined(publics(&keys), waiting.created);
    golden.put(layout::client(id, 2), joined.sign(golden.repository.id(), &enrollment));
    let client = LocalClient { id, keys, domain };
    golden.back_up_by(&client, "sender", PARTS[0]);
    golden.back_up_by(&client, "sender", PARTS[1])
}

/// A client that was revoked after one good snapshot, and has written another one since.
pub(crate) fn revoked(golden: &Golden<'_>) -> SnapshotId {
    let (id, keys) = (ClientId(random()), ClientKeys::new(secret(), secret()));
    let first = record(golden, id, &keys, golden.client.domain, "lost laptop");
    golden.sign(&first);
    let client = LocalClient { id, keys, domain: golden.client.domain };
    let good = golden.back_up_by(&client, "laptop", PARTS[2]);
    let head = golden.head(&client);
    changes::write(&golden.repository, &client, vec![Operation::Pin(vec![good])])
        .expect("a full client may")
        .expect("something to say");
    let root = wait(view::read(golden.repository.store().as_ref())).expect("it can be read").root;
    let last_change = root.expect("there is one").0.change_head;
    golden.sign(&ClientRecord { version: 2, revoked: Some(head), last_change, ..first });
    let receipt = golden.add(&client, Vec::new(), None);
    assert_eq!(receipt.outcome, Outcome::Rejected);
    good
}

/// A manifest that names a pack nobody stored.
pub(crate) fn rejected(golden: &Golden<'_>) {
    let receipt = golden.add(&golden.client, vec![(PackId(random()), 1_000)], None);
    assert_eq!(receipt.outcome, Outcome::Rejected);
}

/// A checkpoint of a backup that went on.
pub(crate) fn partial(golden: &Golden<'_>) {
    let state = wait(view::read(golden.repository.store().as_ref())).expect("it can be read").state;
    let root =
        state.snapshots.values().find(|snapshot| snapshot.domain == golden.client.domain).expect("there are some").root;
    let (repository, domain) = (golden.repository.id(), golden.client.domain);
    let keys = golden.repository.domain_keys(domain);
    let session = SessionKey::new(secret());
    let record = session.record(repository, domain, &[(&golden.repository.owner.kem_public(), random())]);
    let cipher = SessionCipher::new(&session, repository, record.id(repository));
    let info = SnapshotInfo { host: "golden".into(), paths: vec![b"golden".to_vec()], ..SnapshotInfo::default() };
    let counter = Counters::new().next().expect("the first one");
    let number = counter.get();
    let bytes = info.encode();
    let mut block = BlockBuilder::new(BlockKind::Info, bytes.len());
    block.push(keys.chunk_id(&bytes), &bytes, None);
    let job = block.take(counter).expect("it holds the description");
    let sealed = job.run(&mut SealTools::new(Parameters::of_level(3)), &cipher).expect("this machine can seal");
    let claim = SnapshotClaim {
        root,
        partial: true,
        client_time: golden.now(),
        source: keys.source_id(&info.host, &info.paths, ""),
        tags: Vec::new(),
        session_record: record.bytes().to_vec(),
        counter: number,
        info: sealed.bytes,
        extent: None,
    };
    assert_eq!(golden.add(&golden.client, Vec::new(), Some(claim)).outcome, Outcome::Accepted);
}

impl Golden<'_> {
    fn back_up_by(&self, client: &LocalClient, host: &str, part: &str) -> SnapshotId {
        let mut options = acts::usual(Path::new(part));
        options.host = host.into();
        let outcome = acts::back_up(&self.repository, client, Path::new(part), &options);
        self.keep(outcome.snapshot.expect("a snapshot was made"), part)
    }

    /// Adds a manifest to a client's chain and has it decided.
    fn add(&self, client: &LocalClient, packs: Vec<(PackId, u64)>, snapshot: Option<SnapshotClaim>) -> Receipt {
        let (number, previous) = self.head(client);
        let number = number + 1;
        let view = wait(view::read(self.repository.store().as_ref())).expect("it can be read");
        let (root_seen, domain) = (view.base(), client.domain);
        let manifest =
            Manifest { proven: None, client: client.id, number, previous, domain, root_seen, packs, snapshot };
        let bytes = manifest.sign(self.repository.id(), &client.keys.manifest_key());
        self.put(layout::manifest(client.id, number), bytes);
        let decided = wait(ingest(&self.repository.job(), IngestBy::Client, Scope::Client(client.id), &|_| false));
        decided.expect("nothing else runs");
        let name = layout::receipt(client.id, number);
        let bytes = wait(objects::read(self.repository.store().as_ref(), &name)).expect("it can be read");
        Receipt::decode(client.id, number, &bytes.expect("it was decided")).expect("a receipt")
    }

    /// The end of a client's chain.
    fn head(&self, client: &LocalClient) -> (u64, ObjectHash) {
        let view = wait(view::read(self.repository.store().as_ref())).expect("it can be read");
        let head = view.state.heads.get(&client.id).expect("it has written something");
        (head.number, head.hash)
    }

    fn sign(&self, record: &ClientRecord) {
        let bytes = record.sign(self.repository.id(), &self.repository.owner.signing_key());
        self.put(layout::client(record.client, record.version), bytes.clone());
        self.put(layout::client_copy(record.client, record.version), bytes);
    }

    fn put(&self, name: String, bytes: Vec<u8>) {
        let created = wait(self.repository.store().create(&objects::key(name.as_str()), Bytes::from(bytes)));
        assert_eq!(created.expect("it can be written"), Created::New, "{name}");
    }

    fn now(&self) -> Time {
        Time(wait(self.repository.store().now()).expect("it has a clock").0)
    }
}

fn record(golden: &Golden<'_>, id: ClientId, keys: &ClientKeys, domain: DomainId, name: &str) -> ClientRecord {
    ClientRecord::full(&golden.repository.owner, id, domain, name, publics(keys), golden.now())
}

fn publics(keys: &ClientKeys) -> ClientPublic {
    ClientPublic { manifest: keys.manifest_public(), request: keys.request_public() }
}

/// What the other clients save.
const PARTS: [&str; 3] = ["/golden/times", "/golden/kinds", "/golden/names"];
