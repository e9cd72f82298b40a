//! Fit: splits operations into lists that each fit into one change.

use copal_format::change::Operation;
use copal_format::id::{SnapshotId, TagId};
use copal_format::limits::CHANGE_OPERATIONS;

/// Splits the operations into lists that each fit into one change, in order.
pub(super) fn parts(operations: Vec<Operation>) -> Vec<Vec<Operation>> {
    let mut parts: Vec<Vec<Operation>> = Vec::new();
    let mut bytes = 0;
    for operation in operations.into_iter().flat_map(pieces) {
        let size = size(&operation);
        match parts.last_mut() {
            Some(part) if part.len() < CHANGE_OPERATIONS && bytes + size <= PART_BYTES => {
                bytes += size;
                part.push(operation);
            }
            _ => {
                bytes = size;
                parts.push(vec![operation]);
            }
        }
    }
    parts
}

/// Splits one operation into several that are small enough.
fn pieces(operation: Operation) -> Vec<Operation> {
    let lists = |ids: &[SnapshotId]| ids.chunks(SNAPSHOTS).map(<[_]>::to_vec).collect::<Vec<_>>();
    match operation {
        Operation::Forget(ids) => lists(&ids).into_iter().map(Operation::Forget).collect(),
        Operation::Undelete(ids) => lists(&ids).into_iter().map(Operation::Undelete).collect(),
        Operation::Pin(ids) => lists(&ids).into_iter().map(Operation::Pin).collect(),
        Operation::Unpin(ids) => lists(&ids).into_iter().map(Operation::Unpin).collect(),
        Operation::Tag { snapshots, add, remove } => {
            let mut pieces = Vec::new();
            // Without snapshots the operation only sets or removes names of tags.
            let lists = if snapshots.is_empty() { vec![Vec::new()] } else { lists(&snapshots) };
            for snapshots in lists {
                let tag = |add: Vec<(TagId, Vec<u8>)>, remove: Vec<TagId>| Operation::Tag {
                    snapshots: snapshots.clone(),
                    add,
                    remove,
                };
                pieces.extend(remove.chunks(TAGS).map(|remove| tag(Vec::new(), remove.to_vec())));
                pieces.extend(add.chunks(TAGS).map(|add| tag(add.to_vec(), Vec::new())));
            }
            pieces
        }
        Operation::Release { snapshots, signature } => {
            lists(&snapshots).into_iter().map(|snapshots| Operation::Release { snapshots, signature }).collect()
        }
        whole @ (Operation::Policy(_)
        | Operation::OwnerPolicy { .. }
        | Operation::Prove { .. }
        | Operation::AcceptLoss { .. }) => vec![whole],
    }
}

/// Bytes of an operation in a change, rounded up.
fn size(operation: &Operation) -> usize {
    let own = match operation {
        Operation::Tag { add, remove, .. } => {
            add.iter().map(|(_, sealed)| sealed.len() + 24).sum::<usize>() + remove.len() * 17
        }
        Operation::Policy(bytes) => bytes.len(),
        Operation::OwnerPolicy { policy, .. } => policy.len() + SIGNATURE_BYTES,
        Operation::Release { .. } => SIGNATURE_BYTES,
        Operation::Prove { packs, .. } => SIGNATURE_BYTES + packs.len() * 34,
        Operation::AcceptLoss { manifests, changes, .. } => SIGNATURE_BYTES + manifests.len() * 28 + changes.len() * 9,
        _ => 0,
    };
    own + operation.snapshots().len() * 17 + 32
}

/// Snapshots per operation: far below the limit of a change, so that tags fit too.
const SNAPSHOTS: usize = 1 << 16;
/// Bytes of an owner's signature in a change.
const SIGNATURE_BYTES: usize = 66;
/// Tags per operation.
const TAGS: usize = 256;
/// Bytes of operations per change; a record may have a little more.
const PART_BYTES: usize = 3 << 20;

#[cfg(test)]
mod tests {
    use copal_format::change::Change;
    use copal_format::id::{ClientId, ObjectHash, RepositoryId};
    use copal_format::keys::client::ClientKeys;
    use copal_format::keys::secret::Secret;
    use copal_format::time::Time;

    use super::*;

    fn ids(count: usize) -> Vec<SnapshotId> {
        (0..count as u128).map(|n| SnapshotId(n.to_be_bytes())).collect()
    }

    #[test]
    fn what_does_not_fit_one_change_becomes_several_that_each_read_back() {
        let keys = ClientKeys::new(Secret::new([3; 32]), Secret::new([4; 32]));
        let (client, repository) = (ClientId([1; 16]), RepositoryId([2; 16]));
        let add = (0..1_000u128).map(|n| (TagId(n.to_be_bytes()), vec![7; 4_000])).collect();
        let all = ids(300_000);
        let tag = Operation::Tag { snapshots: all[..2].to_vec(), add, remove: vec![TagId([9; 16])] };
        let parts = parts(vec![Operation::Forget(all.clone()), tag]);
        let mut forgotten = Vec::new();
        let mut added = 0;
        for operations in parts {
            let change = Change { number: 1, previous: ObjectHash::NONE, client, time: Time(0), operations };
            let bytes = change.sign(repository, &keys.manifest_key());
            let read = Change::verify(repository, &keys.manifest_public(), client, 1, &bytes).unwrap();
            for operation in read.change.operations {
                match operation {
                    Operation::Forget(ids) => forgotten.extend(ids),
                    Operation::Tag { add, .. } => added += add.len(),
                    other => panic!("{other:?} was not asked for"),
                }
            }
        }
        assert_eq!((forgotten, added), (all, 1_000));
    }

    #[test]
    fn small_operations_share_one_change() {
        let operations = vec![Operation::Pin(ids(3)), Operation::Forget(ids(3))];
        assert_eq!(parts(operations.clone()), vec![operations]);
        assert!(parts(vec![Operation::Forget(Vec::new())]).is_empty());
    }
}
