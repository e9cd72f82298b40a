use super::*;
use copal_format::block::SealTools;
use copal_format::compress;
use copal_format::id::RepositoryId;
use copal_format::keys::domain::DomainKey;
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::session::SessionKey;
use copal_format::repository::Parameters;
use copal_format::seal::SessionCipher;

const REPOSITORY: RepositoryId = RepositoryId([9; 16]);
const DOMAIN: DomainId = DomainId([2; 16]);

/// A session that makes a pack of every block of data, and the cipher for its blocks.
fn begin(seed: u8) -> (Session, SessionCipher) {
    let [root, kem, signing] = [1, 2, 3].map(|byte| Secret::new([byte; 32]));
    let owner = OwnerSecret::new(REPOSITORY, root, kem, signing);
    let key = SessionKey::new(Secret::new([4; 32]));
    let record = key.record(REPOSITORY, DOMAIN, &[(&owner.kem_public(), [5; 64])]);
    let cipher = SessionCipher::new(&key, REPOSITORY, record.id(REPOSITORY));
    let parameters = Parameters { block_target: 256, pack_target: 1024, ..Parameters::default() };
    let keys = DomainKeys::new(&DomainKey::derive(&Secret::new([6; 32]), REPOSITORY, DOMAIN));
    let seed = Secret::new([seed; 32]);
    (Session::begin(SessionStart { parameters, domain: DOMAIN, keys, record, seed }).unwrap(), cipher)
}

/// Seals all open blocks; returns the packs that the session gives out.
fn flush((session, cipher): &mut (Session, SessionCipher)) -> Vec<GivenPack> {
    session.flush().unwrap();
    let mut tools = SealTools::new(compress::Parameters::of_level(1));
    let mut packs = Vec::new();
    while let Some(action) = session.poll() {
        match action {
            Action::Seal(job) => session.sealed(job.run(&mut tools, cipher).unwrap()).unwrap(),
            Action::Store(pack) => packs.push(pack),
        }
        session.close_packs_if_idle();
    }
    packs
}

fn id(number: u8) -> ChunkId {
    ChunkId([number; ChunkId::LEN])
}

/// 900 bytes that no compression makes shorter.
fn bytes() -> Vec<u8> {
    (0..30u8).flat_map(|part| *blake3::hash(&[part]).as_bytes()).take(900).collect()
}

fn page(number: u8) -> Page {
    Page { id: id(number), height: 1, references: vec![id(1)], plaintext: bytes(), replaces: None }
}

#[test]
fn a_session_counts_what_was_new_and_the_bytes_of_its_packs() {
    let mut started = begin(1);
    let session = &mut started.0;
    session.add_chunk(id(1), &bytes(), |_| false).unwrap();
    session.add_chunk(id(1), &bytes(), |_| false).unwrap();
    session.add_chunk(id(2), &bytes(), |_| true).unwrap();
    session.add_chunk(id(3), b"short", |_| false).unwrap();
    session.add_page(page(4)).unwrap();
    session.add_page(page(4)).unwrap();
    let packs = flush(&mut started);
    let bytes_stored = packs.iter().map(|pack| pack.bytes.len() as u64).sum();
    assert_eq!(started.0.tally(), Tally { bytes_new: 905, bytes_stored, chunks_new: 2, pages_new: 1 });
    let ids: Vec<ChunkId> = packs.iter().flat_map(|pack| pack.table.ids.clone()).collect();
    assert_eq!(ids, [id(1), id(3), id(4)]);
}

#[test]
fn a_session_stores_again_what_it_has_forgotten() {
    let mut started = begin(1);
    started.0.add_chunk(id(1), &bytes(), |_| false).unwrap();
    started.0.forget_seen();
    started.0.add_chunk(id(1), &bytes(), |_| false).unwrap();
    assert_eq!(flush(&mut started).len(), 2);
}

#[test]
fn a_chunk_whose_bytes_the_host_keeps_is_taken_once() {
    let mut session = begin(1).0;
    assert!(session.add_chunk_elsewhere(id(1), 900).unwrap());
    assert!(!session.add_chunk_elsewhere(id(1), 900).unwrap());
    assert_eq!((session.tally().chunks_new, session.tally().bytes_new), (1, 900));
}

#[test]
fn pages_are_kept_only_if_it_was_asked_for_and_also_those_that_are_known() {
    let mut session = begin(1).0;
    session.add_page(page(1)).unwrap();
    assert_eq!(session.take_kept(), []);
    session.keep_pages();
    session.add_page(page(1)).unwrap();
    session.add_page(page(2)).unwrap();
    assert_eq!(session.take_kept(), [page(1), page(2)]);
    assert_eq!(session.take_kept(), []);
}

#[test]
fn a_host_names_each_pack_once() {
    let mut started = begin(1);
    started.0.add_chunk(id(1), &bytes(), |_| false).unwrap();
    started.0.add_chunk(id(2), &bytes(), |_| false).unwrap();
    let packs = flush(&mut started);
    let session = &mut started.0;
    assert_eq!((packs.len(), session.packs_unlisted(), session.is_named()), (2, 2, false));
    for pack in &packs {
        assert!(session.named(pack.number, pack.id()));
        assert!(!session.named(pack.number, pack.id()));
    }
    assert!(session.is_named());
    let named: Vec<_> = packs.iter().map(|pack| (pack.id(), pack.bytes.len() as u64)).collect();
    assert_eq!(session.take_listing().into_iter().map(ListedPack::named).collect::<Vec<_>>(), named);
    assert_eq!(session.packs_unlisted(), 0);
}

#[test]
fn the_random_bytes_of_a_pack_come_from_the_seed_and_are_its_own() {
    let headers = |seed| {
        let mut started = begin(seed);
        started.0.add_chunk(id(1), &bytes(), |_| false).unwrap();
        started.0.add_chunk(id(2), &bytes(), |_| false).unwrap();
        let packs = flush(&mut started).into_iter();
        packs.map(|pack| pack.bytes[..pack.table.blocks[0].offset as usize].to_vec()).collect::<Vec<_>>()
    };
    let [one, again, other] = [1, 1, 2].map(headers);
    assert_eq!(one, again);
    assert!(one[0] != one[1] && one[0] != other[0]);
}
