//! Inside: decoders that lie behind a signature, a seal or a split of the input. The signature and the seal are made here, so
//! that any bytes reach the decoder.

use std::cell::RefCell;
use std::sync::LazyLock;

use copal_format::block::{OpenBlock, OpenTools};
use copal_format::change::Change;
use copal_format::client::{ClientError, ClientHistory};
use copal_format::enrollment::Enrollment;
use copal_format::expiry::Expiry;
use copal_format::id::{ChunkId, ClientId, DomainId, ObjectHash, RepositoryId, SessionId};
use copal_format::keys::domain::{DomainKey, DomainKeys};
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::secret::Secret;
use copal_format::keys::session::SessionKey;
use copal_format::keys::slot::Slot;
use copal_format::limits::BLOCK_BYTES;
use copal_format::manifest::Manifest;
use copal_format::receipt::Receipt;
use copal_format::repository::{Descriptor, DescriptorError};
use copal_format::request::Unverified as UnverifiedRequest;
use copal_format::root::{Deletion, Root};
use copal_format::seal::{BlockKind, Counters, SessionCipher};
use copal_format::tree;
use copal_format::wire::cbor::Reader;
use copal_format::wire::record::{self, Kind, RecordError, Unsigned, label};
use ed25519_dalek::SigningKey;
use sha2::{Digest, Sha256};

use super::reads_back;

pub(super) const REPOSITORY: RepositoryId = RepositoryId([3; 16]);

pub(super) static OWNER: LazyLock<OwnerSecret> =
    LazyLock::new(|| OwnerSecret::new(REPOSITORY, Secret::new([1; 32]), Secret::new([2; 32]), Secret::new([3; 32])));
pub(super) static SIGNING: LazyLock<SigningKey> = LazyLock::new(|| OWNER.signing_key());
pub(super) static VERIFYING: LazyLock<[u8; 32]> = LazyLock::new(|| OWNER.verifying_key());
static CIPHER: LazyLock<SessionCipher> =
    LazyLock::new(|| SessionCipher::new(&SessionKey::new(Secret::new([4; 32])), REPOSITORY, SessionId([5; 16])));
pub(super) static DOMAIN: LazyLock<DomainKeys> =
    LazyLock::new(|| DomainKeys::new(&DomainKey::derive(&Secret::new([6; 32]), REPOSITORY, DomainId([7; 16]))));

pub(super) fn manifest_body(bytes: &[u8]) {
    // Signing takes longer than all else: a body that names no manifest would be refused as soon as it is read.
    let Some((client, number)) = client_and_number(bytes) else { return };
    let signed = record::sign(Kind::Manifest, REPOSITORY, bytes, &SIGNING);
    let Ok(found) = Manifest::verify(REPOSITORY, &VERIFYING, client, number, &signed) else { return };
    let _ = (found.manifest.extent(), found.snapshot_id(), found.manifest.proven_packs(REPOSITORY, &VERIFYING));
    let again = found.manifest.sign(REPOSITORY, &SIGNING);
    let again = Manifest::verify(REPOSITORY, &VERIFYING, client, number, &again);
    assert_eq!(again.expect("it was written just now").manifest, found.manifest);
}

/// Two versions of a client, the length of the first before both.
pub(super) fn client_bodies(bytes: &[u8]) {
    let Some((length, both)) = bytes.split_first_chunk() else { return };
    let Some((first, second)) = both.split_at_checked(u16::from_le_bytes(*length).into()) else { return };
    let client = client_and_number(first).map_or(ClientId([0; 16]), |(client, _)| client);
    let read = |signed: &dyn Fn(&[u8]) -> Vec<u8>| {
        ClientHistory::read(REPOSITORY, &VERIFYING, client, &[(1, signed(first)), (2, signed(second))])
    };
    // Signing takes longer than all else.
    let malformed =
        |error: &ClientError| matches!(error, ClientError::Record { source: RecordError::Malformed { .. }, .. });
    if !read(&|body| unsigned(Kind::Client, body)).refused.iter().any(malformed) {
        drop(read(&|body| record::sign(Kind::Client, REPOSITORY, body, &SIGNING)));
    }
}

pub(super) fn descriptor_body(bytes: &[u8]) {
    let read = |signed: &[u8]| Descriptor::decode(number(bytes), signed);
    if let Err(DescriptorError::Record(RecordError::Signature { .. })) = read(&unsigned(Kind::Descriptor, bytes)) {
        drop(read(&record::sign(Kind::Descriptor, REPOSITORY, bytes, &SIGNING)));
    }
}

pub(super) fn change_body(bytes: &[u8]) {
    let record = unsigned(Kind::Change, bytes);
    let claimed = Change::claimed_client(&record);
    let vouched = Change::vouched(number(bytes), ObjectHash::of(&record), &record);
    assert_eq!(claimed.ok(), vouched.ok().map(|change| change.client));
}

pub(super) fn root_body(bytes: &[u8]) {
    let encode = |root: &Root| root.encode().expect("it was read from as many bytes");
    reads_back(&record::close(Kind::Root, bytes), |bytes_of| Root::decode(number(bytes), bytes_of), encode);
}

pub(super) fn deletion_body(bytes: &[u8]) {
    reads_back(&record::close(Kind::Deletion, bytes), Deletion::decode, Deletion::encode);
}

pub(super) fn receipt_body(bytes: &[u8]) {
    let (client, number) = client_and_number(bytes).unwrap_or((ClientId([0; 16]), 0));
    reads_back(&record::close(Kind::Receipt, bytes), |bytes| Receipt::decode(client, number, bytes), Receipt::encode);
}

pub(super) fn expiry_body(bytes: &[u8]) {
    reads_back(&record::close(Kind::Expiry, bytes), |read| Expiry::decode(number(bytes), read), Expiry::encode);
}

pub(super) fn slot(bytes: &[u8]) {
    if let Ok(slot) = Slot::parse(&[bytes, ObjectHash::of(bytes).as_bytes()].concat()) {
        let _ = (slot.cost(), slot.unwrap(&Secret::new([8; 32])));
    }
}

/// A line as it is, and a line of these bytes with their checksum.
pub(super) fn enrollment(bytes: &[u8]) {
    drop(Enrollment::decode(&String::from_utf8_lossy(bytes)));
    let line = enrollment_line(bytes);
    if let Ok(read) = Enrollment::decode(&line) {
        assert_eq!(*read.encode(), line);
    }
}

fn enrollment_line(body: &[u8]) -> String {
    let checksum = Sha256::digest([&label("join"), body].concat());
    let bytes = [body, &checksum[..8]].concat();
    let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| usize::from(byte >> (7 - at % 8) & 1));
    let digit = |at: usize| (5 * at..5 * at + 5).fold(0, |value, at| value << 1 | bit(at));
    let digits =
        (0..(8 * bytes.len()).div_ceil(5)).map(|at| char::from(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ"[digit(at)]));
    "COPAL-JOIN-1-".chars().chain(digits).collect()
}

/// What a body says under its first two keys, as manifests, client records and receipts do.
fn client_and_number(body: &[u8]) -> Option<(ClientId, u64)> {
    let mut reader = Reader::new(body).ok()?;
    let mut fields = reader.map().ok()?;
    let client = ClientId(fields.required(0).ok()?.fixed().ok()?);
    Some((client, fields.required(1).ok()?.uint().ok()?))
}

/// The number that a body says it has, if it says one.
fn number(body: &[u8]) -> u64 {
    let read = || Reader::new(body).ok()?.map().ok()?.required(0).ok()?.uint().ok();
    read().unwrap_or(1)
}

/// A record that nobody has signed.
fn unsigned(kind: Kind, body: &[u8]) -> Vec<u8> {
    Unsigned::new(kind, REPOSITORY, body).with(&[0; 64])
}

pub(super) fn block_plaintext(bytes: &[u8]) {
    thread_local!(static TOOLS: RefCell<OpenTools> = RefCell::new(OpenTools::new()));
    let sealed = CIPHER.seal(BlockKind::Data, Counters::new().next().expect("a session has a first block"), bytes);
    let open = |tools: &mut OpenTools| OpenBlock::open(&CIPHER, BlockKind::Data, 0, &sealed, tools);
    let Ok(block) = TOOLS.with_borrow_mut(open) else { return };
    let items = (0..block.len()).map(|at| block.chunk(at).expect("it holds so many").len());
    assert!(items.sum::<usize>() <= BLOCK_BYTES as usize);
    assert_eq!(block.chunk(block.len()), None);
}

pub(super) fn request_headers(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.splitn(3, '\n');
    let [digest, input, signature] = core::array::from_fn(|_| lines.next().unwrap_or_default());
    let Ok(request) = UnverifiedRequest::parse(digest, input, signature) else { return };
    let _ = request.verify_time(0);
    let _ = request.verify("GET", "https://localhost/v1/health", &VERIFYING);
    let _ = request.verify_body(bytes);
}

/// A page: its height, how many references it has, and its plaintext.
pub(super) fn page(bytes: &[u8]) {
    let [height, references, plaintext @ ..] = bytes else { return };
    let ids: Vec<ChunkId> = (0..*references).map(|at| ChunkId([at; 24])).collect();
    let id = DOMAIN.page_id(*height, &ids, plaintext);
    let opened = tree::VerifiedPage::open(&DOMAIN, id, *height, &ids, plaintext);
    assert_eq!(opened.ok().map(|page| page.into_content()), tree::decode(*height, &ids, plaintext).ok());
}
