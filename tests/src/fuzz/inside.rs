//! Inside: decoders that lie behind a signature, a seal or a split of the input. The signature and the seal are made here, so
//! that any bytes reach the decoder.

use copal_engine::block::{OpenBlock, OpenTools, SealTools};
use copal_engine::client::ClientHistory;
use copal_engine::compress::Parameters;
use copal_engine::id::{ChunkId, ClientId, DomainId, RepositoryId, SessionId};
use copal_engine::keys::domain::{DomainKey, DomainKeys};
use copal_engine::keys::owner::OwnerSecret;
use copal_engine::keys::secret::Secret;
use copal_engine::keys::session::SessionKey;
use copal_engine::manifest::Manifest;
use copal_engine::path::TreePath;
use copal_engine::request::{Request, Signatory, Terms, Unverified as UnverifiedRequest};
use copal_engine::seal::{BlockKind, Counters, SessionCipher};
use copal_engine::time::Time;
use copal_engine::tree::{self, Content, Entry, EntryKind, Extras, Mode, Owner, Piece, TreeBuilder, TreeParams};
use copal_engine::wire::record::{self, Kind, Unverified};

const REPOSITORY: RepositoryId = RepositoryId([3; 16]);

fn owner() -> OwnerSecret {
    OwnerSecret::new(REPOSITORY, Secret::new([1; 32]), Secret::new([2; 32]), Secret::new([3; 32]))
}

fn cipher() -> SessionCipher {
    SessionCipher::new(&SessionKey::new(Secret::new([4; 32])), REPOSITORY, SessionId([5; 16]))
}

pub(super) fn manifest_body(bytes: &[u8]) {
    let owner = owner();
    let signed = record::sign(Kind::Manifest, REPOSITORY, bytes, &owner.signing_key());
    if let Ok(found) = Manifest::verify(REPOSITORY, &owner.verifying_key(), ClientId([0; 16]), 1, &signed) {
        let again = found.manifest.sign(REPOSITORY, &owner.signing_key());
        assert_eq!(again, signed, "a body has one form");
        let _ = (found.manifest.extent(), found.snapshot_id());
    }
}

pub(super) fn client_body(bytes: &[u8]) {
    let owner = owner();
    let signed = record::sign(Kind::Client, REPOSITORY, bytes, &owner.signing_key());
    let versions = [(1, signed.clone()), (2, signed)];
    drop(ClientHistory::read(REPOSITORY, &owner.verifying_key(), ClientId([0; 16]), &versions));
}

pub(super) fn block_plaintext(bytes: &[u8]) {
    let cipher = cipher();
    let counter = Counters::new().next().expect("a session has a first block");
    for kind in [BlockKind::Data, BlockKind::Tree] {
        let number = counter.get();
        let sealed = cipher.seal(kind, Counters::new().next().expect("the same"), bytes);
        let Ok(block) = OpenBlock::open(&cipher, kind, number, &sealed, &mut OpenTools::new()) else { continue };
        let items = (0..block.len()).map(|at| block.chunk(at).expect("it holds so many").len());
        assert!(items.sum::<usize>() <= copal_engine::limits::BLOCK_BYTES as usize);
        assert_eq!(block.chunk(block.len()), None);
    }
}

pub(super) fn request_headers(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.splitn(3, '\n');
    let [digest, input, signature] = core::array::from_fn(|_| lines.next().unwrap_or_default());
    let Ok(request) = UnverifiedRequest::parse(digest, input, signature) else { return };
    let _ = request.verify_time(0);
    let _ = request.verify("GET", "https://localhost/v1/health", &owner().verifying_key());
    let _ = request.verify_body(bytes);
}

/// A page: its height, how many references it has, and its plaintext.
pub(super) fn page(bytes: &[u8]) {
    let [height, references, plaintext @ ..] = bytes else { return };
    let ids: Vec<ChunkId> = (0..*references).map(|at| ChunkId([at; 24])).collect();
    let keys = domain_keys();
    let id = keys.page_id(*height, &ids, plaintext);
    let opened = tree::VerifiedPage::open(&keys, id, *height, &ids, plaintext);
    assert_eq!(opened.is_ok(), tree::decode(*height, &ids, plaintext).is_ok());
}

fn domain_keys() -> DomainKeys {
    DomainKeys::new(&DomainKey::derive(&Secret::new([6; 32]), REPOSITORY, DomainId([7; 16])))
}

/// What mutations start from.
pub(super) fn seeds(objects: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let body =
        |kind| move |object: &Vec<u8>| Unverified::parse(kind, object).ok().map(|read| read.claimed_body().to_vec());
    let mut seeds: Vec<Vec<u8>> = objects.iter().filter_map(body(Kind::Manifest)).collect();
    seeds.extend(objects.iter().filter_map(body(Kind::Client)));
    let mut tools = SealTools::new(Parameters::of_level(3));
    for raw in [b"abcabcabc".repeat(50), (0..=255).collect()] {
        let lengths = [100, raw.len() as u32 - 100];
        seeds.extend(tools.plaintext(0, &lengths, &raw).ok());
    }
    let request = Request { method: "GET", uri: "https://localhost/v1/health", digest: Request::digest(b"") };
    let terms = Terms { created: 1, expires: 60, nonce: [9; 16], signatory: Signatory::Owner };
    let headers = request.sign(&terms, &owner().signing_key());
    seeds.push([headers.content_digest, headers.input, headers.signature].join("\n").into_bytes());
    seeds.extend(pages());
    seeds
}

fn pages() -> Vec<Vec<u8>> {
    let params = TreeParams::new(4, 4, 64, 2_000).expect("sound sizes");
    let mut builder = TreeBuilder::new(params, domain_keys());
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
        let entry = Entry {
            path: TreePath::new(format!("folder {}/file {at:02}", at / 10)).expect("a path"),
            mode: Mode::new(EntryKind::File, 0o644),
            owner: Owner::default().into(),
            mtime: Time(at.into()),
            ctime: Time(0),
            birth: None,
            inode: at.into(),
            size: content_bytes + extras.holes.iter().map(|hole| hole.end - hole.start).sum::<u64>(),
            content,
            extras,
        };
        builder.push(&entry).expect("a sound entry");
    }
    let pages = builder.finish().expect("a small tree").pages;
    pages.iter().map(|page| [&[page.height, page.references.len() as u8][..], &page.plaintext].concat()).collect()
}
