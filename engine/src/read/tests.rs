use copal_format::block::{BlockBuilder, OpenBlock, OpenTools, SealTools};
use copal_format::client::{ClientPublic, ClientRecord, Role};
use copal_format::compress::Parameters;
use copal_format::id::{ChunkId, ClientId, DomainId, ObjectHash, PackId, RepositoryId, SourceId};
use copal_format::index::Location;
use copal_format::keys::client::ClientKeys;
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::owner::{KemPublic, OwnerSecret};
use copal_format::keys::secret::Secret;
use copal_format::keys::session::SessionKey;
use copal_format::layout::Place;
use copal_format::manifest::{Manifest, SnapshotClaim};
use copal_format::pack::{PackKind, PackTable, PackWriter};
use copal_format::seal::{BlockKind, Counters};
use copal_format::time::Time;

use super::*;

const REPOSITORY: RepositoryId = RepositoryId([1; 16]);
const DOMAIN: DomainId = DomainId([2; 16]);
const OTHER: DomainId = DomainId([3; 16]);

fn owner(seed: u8) -> OwnerSecret {
    let secret = |byte| Secret::new([byte; 32]);
    OwnerSecret::new(REPOSITORY, secret(seed), secret(seed + 1), secret(seed + 2))
}

fn record(of: &OwnerSecret, domain: DomainId) -> Vec<u8> {
    let public: KemPublic = of.kem_public();
    SessionKey::new(Secret::new([4; 32])).record(REPOSITORY, domain, &[(&public, [5; 64])]).bytes().to_vec()
}

fn keys() -> DomainKeys {
    DomainKeys::new(&owner(1).domain_key(DOMAIN))
}

/// A sealed block of these chunks.
fn seal(kind: BlockKind, chunks: &[&[u8]]) -> Vec<u8> {
    let session = Session::open(&owner(1), DOMAIN, &record(&owner(1), DOMAIN)).unwrap();
    let mut block = BlockBuilder::new(kind, 1 << 10);
    chunks.iter().for_each(|chunk| block.push(keys().chunk_id(chunk), chunk, None));
    let job = block.take(Counters::new().next().unwrap()).unwrap();
    job.run(&mut SealTools::new(Parameters::of_level(1)), &session.cipher).unwrap().bytes
}

/// A pack of one block with two chunks, and the block.
fn pack() -> (PackTable, OpenBlock) {
    let stored = seal(BlockKind::Data, &[b"one", b"two"]);
    let mut writer = PackWriter::new(PackKind::Data, DOMAIN, [6; 16], vec![record(&owner(1), DOMAIN)]).unwrap();
    writer.add_block(&stored, 0, 0, [b"one", b"two"].map(|chunk| keys().chunk_id(chunk)), []).unwrap();
    let session = Session::open(&owner(1), DOMAIN, &record(&owner(1), DOMAIN)).unwrap();
    let block = OpenBlock::open(&session.cipher, BlockKind::Data, 0, &stored, &mut OpenTools::new()).unwrap();
    (writer.finish().table, block)
}

#[test]
fn a_session_opens_for_its_owner_and_in_its_domain_alone() {
    let session = |owner: &OwnerSecret, domain, record: &[u8]| Session::open(owner, domain, record).map(drop);
    let record = record(&owner(1), DOMAIN);
    assert_eq!(session(&owner(1), DOMAIN, &record), Ok(()));
    assert_eq!(session(&owner(1), OTHER, &record), Err(SessionFault::OtherDomain));
    assert!(matches!(session(&owner(7), DOMAIN, &record), Err(SessionFault::Key(_))));
    assert!(matches!(session(&owner(1), DOMAIN, &record[1..]), Err(SessionFault::Record(_))));
}

#[test]
fn a_chunk_is_believed_by_its_id_alone() {
    let (_, block) = pack();
    let [one, two] = [b"one", b"two"].map(|bytes| keys().chunk_id(bytes));
    assert_eq!(chunk(&keys(), &two, 1, &block), Ok(&b"two"[..]));
    assert_eq!(chunk(&keys(), &one, 1, &block), Err(CopyFault::OtherBytes));
    assert_eq!(chunk(&keys(), &one, 2, &block), Err(CopyFault::FewerChunks));
}

#[test]
fn a_table_that_contradicts_the_index_is_a_fault_of_the_copy() {
    let (table, block) = pack();
    let offset = table.blocks[0].offset;
    assert_eq!(sealed_by(&table, offset).map(|(row, _)| row.counter), Ok(0));
    assert_eq!(sealed_by(&table, offset + 1).map(|(row, _)| row.counter), Err(CopyFault::NoBlock));
    let mut without = table.clone();
    without.sessions.clear();
    assert_eq!(sealed_by(&without, offset).map(|(row, _)| row.counter), Err(CopyFault::NoSession));

    let location = |offset, ordinal| Location {
        pack: PackId([7; 32]),
        place: Place::Packs,
        pack_length: 0,
        table_length: 0,
        offset,
        length: 0,
        items: 0,
        ordinal,
        height: 1,
        is_page: true,
    };
    let page = |at: Location| page(&keys(), &ChunkId([8; 24]), &at, &table, &block).map(drop);
    assert_eq!(page(location(offset, 2)), Err(CopyFault::FewerPages));
    assert_eq!(page(location(offset + 1, 0)), Err(CopyFault::NoBlock));
    // A data pack has no rows of pages.
    assert_eq!(page(location(offset, 0)), Err(CopyFault::NoPage));
}

fn client(keys: Option<ClientPublic>) -> ClientRecord {
    ClientRecord { keys, ..ClientRecord::new(ClientId([9; 16]), Role::Full, DOMAIN, Time(0)) }
}

#[test]
fn a_snapshot_is_its_clients_own_and_in_its_clients_domain() {
    let signer = ClientKeys::new(Secret::new([10; 32]), Secret::new([11; 32]));
    let public = ClientPublic { manifest: signer.manifest_public(), request: signer.request_public() };
    let claim = SnapshotClaim {
        root: ChunkId([12; 24]),
        partial: false,
        client_time: Time(13),
        source: SourceId([14; 16]),
        tags: Vec::new(),
        session_record: record(&owner(1), DOMAIN),
        counter: 0,
        info: seal(BlockKind::Info, &[b"no description"]),
        extent: None,
    };
    let signed = |domain, snapshot| {
        let manifest = Manifest { snapshot, ..Manifest::new(ClientId([9; 16]), 1, ObjectHash::NONE, domain) };
        manifest.sign(REPOSITORY, &signer.manifest_key())
    };
    let verify = |client: &ClientRecord, number, bytes: &[u8]| SignedSnapshot::verify(&owner(1), client, number, bytes);
    let good = signed(DOMAIN, Some(claim.clone()));
    let snapshot = verify(&client(Some(public)), 1, &good).unwrap();
    assert_eq!((snapshot.claim.root, snapshot.id()), (claim.root, ObjectHash::of(&good).snapshot()));
    assert!(matches!(snapshot.info(&owner(1)), Err(InfoFault::Info(_))));
    assert!(matches!(snapshot.info(&owner(7)), Err(InfoFault::Session(_))));

    let stranger = ClientPublic { manifest: owner(7).verifying_key(), ..public };
    assert!(matches!(verify(&client(Some(stranger)), 1, &good), Err(SnapshotFault::Record(_))));
    assert!(matches!(verify(&client(Some(public)), 2, &good), Err(SnapshotFault::Record(_))));
    assert!(matches!(verify(&client(None), 1, &good), Err(SnapshotFault::NotJoined)));
    let nothing = signed(DOMAIN, None);
    assert!(matches!(verify(&client(Some(public)), 1, &nothing), Err(SnapshotFault::NoSnapshot)));
    let elsewhere = signed(OTHER, Some(claim));
    assert!(matches!(verify(&client(Some(public)), 1, &elsewhere), Err(SnapshotFault::OtherDomain)));
}
