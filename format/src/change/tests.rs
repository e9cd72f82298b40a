//! What a change holds comes back, and nothing else verifies.

use super::*;

const REPOSITORY: RepositoryId = RepositoryId([9; 16]);
const CLIENT: ClientId = ClientId([1; 16]);

fn key() -> SigningKey {
    SigningKey::from_bytes(&[3; 32])
}

fn change(number: u64, previous: ObjectHash) -> Change {
    let ids = || vec![SnapshotId([1; 16]), SnapshotId([2; 16])];
    let operations = vec![
        Operation::Forget(ids()),
        Operation::Undelete(ids()),
        Operation::Pin(ids()),
        Operation::Unpin(vec![]),
        Operation::Tag {
            snapshots: ids(),
            add: vec![(TagId([3; 16]), b"sealed".to_vec())],
            remove: vec![TagId([4; 16])],
        },
        Operation::Policy(b"policy".to_vec()),
        Operation::OwnerPolicy { policy: b"policy".to_vec(), signature: OwnerSignature([7; 64]) },
        Operation::AcceptLoss {
            manifests: vec![(ClientId([5; 16]), 7)],
            changes: vec![3, 4],
            signature: OwnerSignature([9; 64]),
        },
        Operation::Release { snapshots: ids(), signature: OwnerSignature([8; 64]) },
    ];
    Change { number, previous, client: CLIENT, time: Time(-3), operations }
}

fn verify(number: u64, bytes: &[u8]) -> Result<VerifiedChange, RecordError> {
    Change::verify(REPOSITORY, key().verifying_key().as_bytes(), CLIENT, number, bytes)
}

#[test]
fn a_change_is_vouched_for_by_its_hash() {
    let bytes = change(1, ObjectHash::NONE).sign(REPOSITORY, &key());
    let hash = ObjectHash::of(&bytes);
    assert_eq!(Change::vouched(1, hash, &bytes), Ok(change(1, ObjectHash::NONE)));
    assert!(Change::vouched(2, hash, &bytes).is_err());
    assert!(Change::vouched(1, ObjectHash([1; 32]), &bytes).is_err());
}

#[test]
fn a_change_under_another_number_or_for_another_client_is_misplaced() {
    let bytes = change(2, ObjectHash([1; 32])).sign(REPOSITORY, &key());
    let misplaced = Err(RecordError::Misplaced { kind: "change" });
    assert_eq!(verify(3, &bytes), misplaced);
    let ours = key().verifying_key().to_bytes();
    assert_eq!(Change::verify(REPOSITORY, &ours, ClientId([2; 16]), 2, &bytes), misplaced);
}

#[test]
fn an_operation_this_version_does_not_know_is_refused() {
    let mut body = Change { operations: vec![Operation::Pin(vec![])], ..change(1, ObjectHash::NONE) }.body();
    let code = body.len() - 2;
    body[code] = 9;
    let bytes = record::sign(Kind::Change, REPOSITORY, &body, &key());
    assert!(matches!(verify(1, &bytes), Err(RecordError::Malformed { .. })));
}

#[test]
fn what_takes_a_protection_away_is_signed_by_the_owner_for_its_place_and_no_other() {
    let owner = SigningKey::from_bytes(&[5; 32]);
    let public = owner.verifying_key().to_bytes();
    let mut signed = change(2, ObjectHash([1; 32]));
    assert!(!signed.is_signed_by_owner(REPOSITORY, &public));
    signed.sign_as_owner(REPOSITORY, &owner);
    assert!(signed.is_signed_by_owner(REPOSITORY, &public));
    assert!(!signed.is_signed_by_owner(RepositoryId([8; 16]), &public));
    assert!(!signed.is_signed_by_owner(REPOSITORY, key().verifying_key().as_bytes()));
    let moved = Change { number: 3, ..signed.clone() };
    let rechained = Change { previous: ObjectHash([2; 32]), ..signed.clone() };
    let mut more = signed.clone();
    if let Some(Operation::Release { snapshots, .. }) = more.operations.last_mut() {
        snapshots.push(SnapshotId([9; 16]));
    }
    let mut swapped = signed.clone();
    let policy = Operation::OwnerPolicy { policy: b"another".to_vec(), signature: policy_signature(&signed) };
    swapped.operations = vec![policy];
    let mut lost = signed.clone();
    for operation in &mut lost.operations {
        if let Operation::AcceptLoss { manifests, changes, .. } = operation {
            // The same numbers as one manifest more would have.
            manifests.clear();
            changes.extend([5, 5, 7]);
        }
    }
    for forged in [moved, rechained, more, swapped, lost] {
        assert!(!forged.is_signed_by_owner(REPOSITORY, &public));
    }
    let plain = Change { operations: vec![Operation::Pin(vec![])], ..signed };
    assert!(plain.is_signed_by_owner(REPOSITORY, &public));
}

fn policy_signature(change: &Change) -> OwnerSignature {
    let signatures = change.operations.iter().filter_map(Operation::owner_signature);
    *signatures.into_iter().next().expect("it has a policy")
}

#[test]
fn changes_form_a_chain() {
    let first = verify(1, &change(1, ObjectHash::NONE).sign(REPOSITORY, &key())).unwrap();
    let second = verify(2, &change(2, first.hash).sign(REPOSITORY, &key())).unwrap();
    let mut chain = Chain::new();
    assert_eq!((chain.next(&first), chain.next(&second)), (Ok(()), Ok(())));
    assert_eq!(chain.next(&second), Err(ChainError::Gap { due: 3, found: 2 }));
}
