//! Changes: writes signed changes about snapshots to the repository's chain, and folds them into its state.

use copal_format::change::{Change, Operation};
use copal_format::client::Role;
use copal_format::id::{ObjectHash, SnapshotId, TagId};
use copal_format::layout;
use copal_format::limits::CHANGE_OPERATIONS;
use copal_format::receipt::IngestBy;
use copal_format::time::Time;
use copal_format::wire::chain::Chain;
use copal_jobs::clients;
use copal_jobs::error::JobError;
use copal_jobs::ingest::{Scope, ingest};
use copal_jobs::view::{self, Parts, View};
use copal_store::StoreError;

use crate::chain;
use crate::repository::{LocalClient, Repository};
use crate::wait::{Patience, SERVICE_ANSWERS, wait};

/// Why a change could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// Only full clients may change snapshots.
    #[error("only a client that knows the passphrase may change snapshots")]
    NotFull,
    /// Nothing can be written without the descriptor.
    #[error("the repository's descriptor is lost: nothing can be written to it")]
    NoDescriptor,
    /// The change is written, but the service has not folded it in yet.
    #[error("change {number} is written, but the service has not folded it in yet")]
    NotFolded {
        /// The number of the change.
        number: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A job failed.
    #[error(transparent)]
    Job(#[from] JobError),
}

/// A change that was written and folded in.
pub struct Written {
    /// The number of the last change written.
    pub number: u64,
    /// The state after that change.
    pub view: View,
}

/// Writes operations as one change, or as several if they do not fit, and folds them in. An operation may have no
/// effect (another client may have pinned the snapshot meanwhile): the returned state shows it.
pub fn write(
    repository: &Repository,
    client: &LocalClient,
    operations: Vec<Operation>,
) -> Result<Option<Written>, ChangeError> {
    let Some(number) = hand_in(repository, client, operations)? else { return Ok(None) };
    if !repository.ingests() {
        return folded_by_service(repository, number).map(Some);
    }
    let view = wait(view::read(repository.store().as_ref()))?;
    Ok(Some(Written { number, view }))
}

/// Like [`write()`], but does not wait for a service to fold the changes in. Returns the number of the last change.
pub fn hand_in(
    repository: &Repository,
    client: &LocalClient,
    operations: Vec<Operation>,
) -> Result<Option<u64>, ChangeError> {
    let record = wait(clients::read(&repository.job(), client.id))?;
    if record.is_none_or(|record| record.role != Role::Full || record.revoked.is_some()) {
        return Err(ChangeError::NotFull);
    }
    if repository.descriptor.is_none() {
        return Err(ChangeError::NoDescriptor);
    }
    let before = wait(view::read(repository.store().as_ref()))?;
    if let Some((_, evidence)) = wait(view::lost_newer(&repository.job(), &before))? {
        return Err(JobError::StateLost { evidence }.into());
    }
    let store = repository.store().as_ref();
    let head = before.root.as_ref().and_then(|(root, _)| root.change_head);
    let mut end = head.map_or_else(Chain::new, |(number, hash)| Chain::after(number, hash));
    chain::follow_to_end(store, &mut end, layout::change)?;
    let mut written = None;
    for operations in parts(operations) {
        let time = Time(wait(store.now())?.0);
        let mut change = Change { number: 0, previous: ObjectHash::NONE, client: client.id, time, operations };
        chain::append(store, &mut end, layout::change, |end| {
            (change.number, change.previous) = (end.due(), end.hash());
            change.sign_as_owner(repository.id(), &repository.owner.signing_key());
            change.sign(repository.id(), &client.keys.manifest_key())
        })?;
        written = Some(end.number());
    }
    if written.is_some() && repository.ingests() {
        wait(ingest(&repository.job(), IngestBy::Client, Scope::Client(client.id), &|_| false))?;
    }
    Ok(written)
}

/// Waits until a root has folded in a change.
fn folded_by_service(repository: &Repository, number: u64) -> Result<Written, ChangeError> {
    let mut patience = Patience::of(SERVICE_ANSWERS);
    let store = repository.store().as_ref();
    let none = Parts { kinds: &[], domains: Some(Default::default()) };
    loop {
        let view = wait(view::read_parts(store, &none))?;
        let head = view.root.as_ref().and_then(|(root, _)| root.change_head);
        if head.is_some_and(|(head, _)| head >= number) {
            return Ok(Written { number, view: wait(view::read(store))? });
        }
        if !patience.pause(|| false) {
            return Err(ChangeError::NotFolded { number });
        }
    }
}

/// Splits the operations into lists that each fit into one change, in order.
fn parts(operations: Vec<Operation>) -> Vec<Vec<Operation>> {
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
        whole @ (Operation::Policy(_) | Operation::OwnerPolicy { .. } | Operation::Prove { .. }) => vec![whole],
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
    use copal_format::id::{ClientId, RepositoryId};
    use copal_format::keys::client::ClientKeys;

    use super::*;
    use crate::entropy::secret;

    fn ids(count: usize) -> Vec<SnapshotId> {
        (0..count as u128).map(|n| SnapshotId(n.to_be_bytes())).collect()
    }

    #[test]
    fn what_does_not_fit_one_change_becomes_several_that_each_read_back() {
        let keys = ClientKeys::new(secret(), secret());
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
