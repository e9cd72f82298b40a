use ed25519_dalek::SigningKey;

use super::*;
use copal_format::client::{ClientPublic, Role};
use copal_format::id::{ClientId, DomainId, ObjectHash, RepositoryId};
use copal_format::manifest::Manifest;
use copal_format::pack::{PackWriter, PageView};

const REPOSITORY: RepositoryId = RepositoryId([9; 16]);
const CLIENT: ClientId = ClientId([1; 16]);
const DOMAIN: DomainId = DomainId([2; 16]);

fn id(number: u32) -> ChunkId {
    let mut id = [0; ChunkId::LEN];
    id[..4].copy_from_slice(&number.to_be_bytes());
    ChunkId(id)
}

/// The verdict about a manifest that claims one pack, with a page that refers to the first `references` ids. The root
/// has none of them.
fn verdict(domain: DomainId, references: u32) -> Verdict {
    let mut pack = PackWriter::new(PackKind::Tree, domain, [0; 16], vec![vec![1]]).unwrap();
    let references: Vec<ChunkId> = (0..references).map(id).collect();
    pack.add_block(&[0], 0, 0, [id(u32::MAX)], [PageView { replaces: None, height: 1, references: &references }])
        .unwrap();
    let pack = pack.finish();
    let key = SigningKey::from_bytes(&[3; 32]);
    let public = key.verifying_key().to_bytes();
    let packs = vec![(pack.id, pack.bytes.len() as u64)];
    let manifest = Manifest { packs, ..Manifest::new(CLIENT, 1, ObjectHash::NONE, DOMAIN) };
    let verified = Manifest::verify(REPOSITORY, &public, CLIENT, 1, &manifest.sign(REPOSITORY, &key)).unwrap();
    let keys = Some(ClientPublic { manifest: public, request: public });
    let client = ClientRecord { keys, ..ClientRecord::new(CLIENT, Role::Full, DOMAIN, Time(0)) };
    judge(&verified, &client, &[(pack.id, Finding::Sound(pack.table))], |_| None)
}

#[test]
fn a_rejection_names_as_many_missing_ids_as_a_receipt_may_and_says_if_there_are_more() {
    let most = RECEIPT_NAMES as u32;
    let told = |references| {
        let Verdict { reasons, missing, .. } = verdict(DOMAIN, references);
        assert!(missing.iter().copied().eq((0..references.min(most)).map(id)));
        reasons[0].1.clone()
    };
    assert_eq!(told(most), format!("{most} references do not resolve"));
    for more in [most + 1, most + 2] {
        assert_eq!(told(more), format!("more than {most} references do not resolve"));
    }
}

#[test]
fn references_of_a_pack_of_another_domain_are_not_looked_up() {
    let Verdict { reasons, missing, packs } = verdict(DomainId([7; 16]), 3);
    assert_eq!((reasons.len(), reasons[0].0, missing, packs.len()), (1, Reason::Domain, vec![], 1));
}
