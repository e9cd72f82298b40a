use super::*;
use copal_format::block::SealTools;
use copal_format::compress;
use copal_format::id::RepositoryId;
use copal_format::keys::domain::DomainKey;
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::session::SessionKey;
use copal_format::pack::BlockRow;
use copal_format::repository::Parameters;
use copal_format::seal::SessionCipher;

const REPOSITORY: RepositoryId = RepositoryId([9; 16]);
const DOMAIN: DomainId = DomainId([2; 16]);

/// A session that makes a pack of every block of data, and the cipher for its blocks.
fn begin(seed: u8) -> (Session, SessionCipher) {
    begin_with(Parameters { block_target: 256, pack_target: 1024, ..Parameters::default() }, seed)
}

fn begin_with(parameters: Parameters, seed: u8) -> (Session, SessionCipher) {
    let [root, kem, signing] = [1, 2, 3].map(|byte| Secret::new([byte; 32]));
    let owner = OwnerSecret::new(REPOSITORY, root, kem, signing);
    let key = SessionKey::new(Secret::new([4; 32]));
    let record = key.record(REPOSITORY, DOMAIN, &[(&owner.kem_public(), [5; 64])]);
    let cipher = SessionCipher::new(&key, REPOSITORY, record.id(REPOSITORY));
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

/// Random bytes.
fn noise(length: usize, seed: u8) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new_keyed(&[seed; 32]).finalize_xof().fill(&mut bytes);
    bytes
}

/// The numbers of the chunks in each block of a pack.
fn blocks(pack: &GivenPack) -> Vec<Vec<u8>> {
    let numbers = |block: &BlockRow| {
        let entries = block.entries.start as usize..block.entries.end as usize;
        pack.table.ids[entries].iter().map(|id| id.0[0]).collect()
    };
    pack.table.blocks.iter().map(numbers).collect()
}

#[test]
fn noise_has_blocks_of_its_own_but_for_what_is_left_at_the_end() {
    let mut started = begin_with(Parameters { block_target: 10_000, ..Parameters::default() }, 1);
    let add = |session: &mut Session, number: u8| {
        session.add_chunk(id(2 * number), &[number; 3000], |_| false).unwrap();
        session.add_chunk(id(2 * number + 1), &noise(5000, number), |_| false).unwrap();
    };
    (0..5).for_each(|number| add(&mut started.0, number));
    let first = flush(&mut started);
    assert_eq!(blocks(&first[0]), [vec![1, 3], vec![0, 2, 4, 6], vec![5, 7], vec![8, 9]]);
    // The session goes on. This time the rest does not fit in one block.
    (5..8).for_each(|number| add(&mut started.0, number));
    let second = flush(&mut started);
    assert_eq!(blocks(&second[0]), [vec![11, 13], vec![15], vec![10, 12, 14]]);
    assert_eq!((first.len(), second.len()), (1, 1));
}

/// Returns the packs of one fixed input. `order` decides when sealed blocks come back, and in which order.
fn packs(order: u8) -> Vec<Vec<u8>> {
    let data = Parameters { block_target: 10_000, pack_target: 1024, ..Parameters::default() };
    let parameters = Parameters { tree_block_target: 256, tree_pack_target: 1024, ..data };
    let (mut session, cipher) = begin_with(parameters, 1);
    let mut packs = Vec::new();
    for number in 0..9 {
        session.add_chunk(id(2 * number), &[number; 3000], |_| false).unwrap();
        session.add_chunk(id(2 * number + 1), &noise(5000, number), |_| false).unwrap();
        session.add_page(page(100 + number)).unwrap();
        if order.is_multiple_of(2) {
            seal_in(order, &mut session, &cipher, &mut packs);
        }
    }
    session.flush().unwrap();
    seal_in(order, &mut session, &cipher, &mut packs);
    assert!(session.close_packs_if_idle());
    seal_in(order, &mut session, &cipher, &mut packs);
    packs
}

/// Collects the packs that the session gives out, and seals its blocks in an order that follows from `order`.
fn seal_in(order: u8, session: &mut Session, cipher: &SessionCipher, packs: &mut Vec<Vec<u8>>) {
    let mut jobs = Vec::new();
    while let Some(action) = session.poll() {
        match action {
            Action::Seal(job) => jobs.push(job),
            Action::Store(pack) => packs.push(pack.bytes),
        }
    }
    jobs.sort_by_key(|job| *blake3::hash(&[order, job.counter() as u8]).as_bytes());
    let mut tools = SealTools::new(compress::Parameters::of_level(1));
    for job in jobs {
        session.sealed(job.run(&mut tools, cipher).unwrap()).unwrap();
    }
}

#[test]
fn packs_do_not_depend_on_the_order_in_which_blocks_are_sealed() {
    let expected = packs(0);
    for kind in [PackKind::Data, PackKind::Tree] {
        let count = expected.iter().filter(|pack| pack[9] == kind as u8).count();
        assert!(count > 3, "{count} packs of {kind:?} tell little");
    }
    for order in 1..20 {
        assert_eq!(packs(order), expected, "order {order}");
    }
}
