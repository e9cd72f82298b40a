use super::*;
use crate::keys::secret::Secret;
use crate::samples::{self, CLIENT, REPOSITORY};

fn key() -> SigningKey {
    SigningKey::from_bytes(&[3; 32])
}

fn claim() -> SnapshotClaim {
    let extent = Some(Extent { entries: 40, bytes: 5_000, stored: 3_072 });
    let tags = vec![TagId([1; 16]), TagId([2; 16])];
    SnapshotClaim { tags, extent, ..samples::manifest().snapshot.unwrap() }
}

fn manifest(number: u64, previous: ObjectHash) -> Manifest {
    let packs = vec![(PackId([8; 32]), 1000), (PackId([7; 32]), 2000)];
    Manifest { number, previous, packs, snapshot: Some(claim()), ..samples::manifest() }
}

fn owner(signing: u8) -> OwnerSecret {
    let [root, kem, signing] = [1, 2, signing].map(|byte| Secret::new([byte; 32]));
    OwnerSecret::new(REPOSITORY, root, kem, signing)
}

fn verify(number: u64, bytes: &[u8]) -> Result<VerifiedManifest, RecordError> {
    Manifest::verify(REPOSITORY, key().verifying_key().as_bytes(), CLIENT, number, bytes)
}

fn verified(manifest: &Manifest) -> VerifiedManifest {
    verify(manifest.number, &manifest.sign(REPOSITORY, &key())).unwrap()
}

#[test]
fn a_manifest_reads_back_with_and_without_its_optional_parts() {
    let full = manifest(1, ObjectHash::NONE);
    let bare = Manifest { root_seen: None, snapshot: None, packs: vec![], ..full.clone() };
    let silent = Manifest { snapshot: Some(SnapshotClaim { extent: None, ..claim() }), ..full.clone() };
    for manifest in [full, bare, silent] {
        assert_eq!(verified(&manifest).manifest, manifest);
    }
}

#[test]
fn the_owner_vouches_for_some_packs_and_nobody_else_for_any() {
    let first = PackId([8; 32]);
    let mut manifest = manifest(1, ObjectHash::NONE);
    manifest.prove(&owner(3), |pack| *pack == first);
    let read = verified(&manifest).manifest;
    assert_eq!(read, manifest);
    assert_eq!(read.proven_packs(REPOSITORY, &owner(3).verifying_key()), [first].into());
    assert_eq!(read.proven_packs(REPOSITORY, &owner(4).verifying_key()), BTreeSet::new());
    // The signature is of this pack: it does not hold for the other one.
    let moved = Manifest { packs: read.packs.iter().rev().copied().collect(), ..read.clone() };
    assert_eq!(moved.proven_packs(REPOSITORY, &owner(3).verifying_key()), BTreeSet::new());
    manifest.prove(&owner(3), |_| false);
    assert_eq!(manifest.proven, None);
}

#[test]
fn proven_packs_that_the_manifest_does_not_name_are_refused() {
    for positions in [0, 4, 1 << 63, u64::MAX] {
        let proven = Some(ProvenPacks { positions, proof: Proof([0; 64]) });
        let bytes = Manifest { proven, ..manifest(1, ObjectHash::NONE) }.sign(REPOSITORY, &key());
        assert!(matches!(verify(1, &bytes), Err(RecordError::Malformed { .. })), "positions {positions}");
    }
}

#[test]
fn the_snapshots_id_follows_from_the_hash_of_the_stored_bytes() {
    let full = manifest(1, ObjectHash::NONE);
    let hash = ObjectHash::of(&full.sign(REPOSITORY, &key()));
    assert_eq!((verified(&full).hash, verified(&full).snapshot_id()), (hash, Some(hash.snapshot())));
    assert_eq!(verified(&Manifest { snapshot: None, ..full }).snapshot_id(), None);
}

#[test]
fn no_less_was_stored_for_a_snapshot_than_its_manifest_names() {
    let less = manifest(1, ObjectHash::NONE);
    assert_eq!(less.extent().unwrap().stored, 3_072);
    let named = Manifest { packs: vec![(PackId([8; 32]), 4_000)], ..less.clone() };
    assert_eq!(named.extent(), Some(Extent { entries: 40, bytes: 5_000, stored: 4_000 }));
    assert_eq!(Manifest { snapshot: None, ..less }.extent(), None);
}

#[test]
fn a_manifest_under_another_name_is_misplaced() {
    let bytes = manifest(2, ObjectHash([1; 32])).sign(REPOSITORY, &key());
    let misplaced = Err(RecordError::Misplaced { kind: "manifest" });
    assert_eq!(verify(3, &bytes), misplaced);
    let ours = key().verifying_key().to_bytes();
    assert_eq!(Manifest::verify(REPOSITORY, &ours, ClientId([2; 16]), 2, &bytes), misplaced);
}

#[test]
fn the_first_manifest_and_no_other_has_nothing_before_it() {
    for (number, previous) in
        [(0, ObjectHash::NONE), (0, ObjectHash([1; 32])), (1, ObjectHash([1; 32])), (2, ObjectHash::NONE)]
    {
        let bytes = manifest(number, previous).sign(REPOSITORY, &key());
        assert!(matches!(verify(number, &bytes), Err(RecordError::Malformed { .. })), "number {number}");
    }
}

#[test]
fn too_many_packs_a_pack_named_twice_and_a_spent_counter_are_refused() {
    let first = manifest(1, ObjectHash::NONE);
    let many = (0..=MANIFEST_PACKS as u8).map(|i| (PackId([i; 32]), 1)).collect();
    let twice = vec![(PackId([7; 32]), 1), (PackId([7; 32]), 2)];
    let spent = Some(SnapshotClaim { counter: SESSION_BLOCKS, ..claim() });
    for bad in [
        Manifest { packs: many, ..first.clone() },
        Manifest { packs: twice, ..first.clone() },
        Manifest { snapshot: spent, ..first },
    ] {
        assert!(matches!(verify(1, &bad.sign(REPOSITORY, &key())), Err(RecordError::Malformed { .. })));
    }
}

#[test]
fn tags_are_written_in_order_each_once() {
    let mut shuffled = manifest(1, ObjectHash::NONE);
    shuffled.snapshot = Some(SnapshotClaim { tags: [2, 1, 2].map(|i| TagId([i; 16])).to_vec(), ..claim() });
    assert_eq!(verified(&shuffled).manifest, manifest(1, ObjectHash::NONE));
}
