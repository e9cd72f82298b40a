//! What a session gives out fits manifests of the most packs, whatever a descriptor permits.

use copal_engine::backup::session::{Action, GivenPack, Session, SessionStart};
use copal_format::block::SealTools;
use copal_format::compress;
use copal_format::id::ChunkId;
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::secret::Secret;
use copal_format::keys::session::SessionKey;
use copal_format::limits::{CLEAR_SHARE, MANIFEST_PACKS, MANIFEST_TABLES};
use copal_format::pack::{TRAILER_BYTES, Trailer};
use copal_format::seal::SessionCipher;
use copal_format::tree::Page;
use copal_tests::kit::Repository;

#[test]
fn blocks_of_tens_of_thousands_of_chunks_are_closed_before_their_pack_has_more_than_its_share() {
    let packs = given_out(|session| {
        for number in 0..150_000 {
            session.add_chunk(id(number), &number.to_le_bytes(), |_| false).unwrap();
        }
    });
    assert!(packs.len() > 3);
    assert!(clear_lengths(&packs).iter().all(|length| *length <= CLEAR_SHARE), "{:?}", clear_lengths(&packs));
    assert!(CLEAR_SHARE * MANIFEST_PACKS as u64 <= MANIFEST_TABLES);
}

#[test]
fn blocks_of_the_largest_pages_are_closed_before_their_pack_has_more_than_its_share() {
    let packs = given_out(|session| {
        for number in 0..20 {
            // Half a MiB of references, and those of one entry more.
            let references = (0..21_846 + 64).map(|at| id(number * 100_000 + at)).collect();
            let page = Page { id: id(number), height: 1, references, plaintext: vec![0; 100], replaces: None };
            session.add_page(page).unwrap();
        }
    });
    assert!(clear_lengths(&packs).iter().all(|length| *length <= CLEAR_SHARE), "{:?}", clear_lengths(&packs));
}

/// The packs of a session with the largest blocks and packs.
fn given_out(fill: impl FnOnce(&mut Session)) -> Vec<GivenPack> {
    let repository = Repository::new();
    let (repository_id, key) = (repository.owner.repository(), SessionKey::new(Secret::new([1; 32])));
    let record = key.record(repository_id, repository.shared, &[(&repository.owner.kem_public(), [2; 64])]);
    let cipher = SessionCipher::new(&key, repository_id, record.id(repository_id));
    let mut parameters = repository.parameters.clone();
    (parameters.block_target, parameters.tree_block_target) = (8 << 20, 8 << 20);
    (parameters.pack_target, parameters.tree_pack_target) = (128 << 20, 128 << 20);
    parameters.page_max = 512 << 10;
    parameters.check().unwrap();
    let mut session = Session::begin(SessionStart {
        parameters,
        domain: repository.shared,
        keys: DomainKeys::new(&repository.owner.domain_key(repository.shared)),
        record,
        seed: Secret::new([3; 32]),
    })
    .unwrap();
    fill(&mut session);
    session.flush().unwrap();
    let mut tools = SealTools::new(compress::Parameters::of_level(1));
    let mut packs = Vec::new();
    while !session.close_packs_if_idle() {
        while let Some(action) = session.poll() {
            match action {
                Action::Seal(job) => session.sealed(job.run(&mut tools, &cipher).unwrap()).unwrap(),
                Action::Store(pack) => packs.push(pack),
            }
        }
    }
    packs.extend(std::iter::from_fn(|| match session.poll()? {
        Action::Store(pack) => Some(pack),
        Action::Seal(_) => None,
    }));
    packs
}

/// Bytes of header and table of each pack.
fn clear_lengths(packs: &[GivenPack]) -> Vec<u64> {
    let trailer = |pack: &GivenPack| {
        let last = &pack.bytes[pack.bytes.len() - TRAILER_BYTES..];
        Trailer::parse(last, pack.bytes.len() as u64).unwrap()
    };
    let trailers = packs.iter().map(trailer);
    trailers.map(|trailer| u64::from(trailer.header_length()) + u64::from(trailer.table_length())).collect()
}

fn id(number: u32) -> ChunkId {
    let mut id = [0; ChunkId::LEN];
    id[..4].copy_from_slice(&number.to_be_bytes());
    ChunkId(id)
}
