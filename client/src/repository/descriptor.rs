//! Descriptor: writes it again where it was lost or damaged, as the next version, because objects are never replaced.

use bytes::Bytes;
use copal_format::client::{ClientHistory, ClientRecord, Role};
use copal_format::id::ClientId;
use copal_format::layout;
use copal_format::receipt::{IngestBy, Receipt};
use copal_format::repository::Descriptor;
use copal_jobs::error::JobError;
use copal_jobs::witness::refusal;
use copal_jobs::{clients, objects};
use copal_store::StoreError;

use super::{Repository, list_descriptors, seen};
use crate::wait::wait;

/// Writes a new descriptor if the newest cannot be used; returns its name. It copies the newest sound one. Without any,
/// client records and receipts supply the facts, and parameters are the defaults: others only change cut points.
/// Without a full client's record the shared domain is unknown, and nothing is written.
pub fn restore_descriptor(repository: &Repository) -> Result<Option<String>, JobError> {
    if repository.descriptor.is_some() {
        return Ok(None);
    }
    let (store, owner) = (repository.store(), &repository.owner);
    let known = list_descriptors(store.as_ref())?;
    let newest = known.iter().filter_map(|(name, _)| layout::trailing_number(name)).max();
    let version = newest.unwrap_or(0).max(seen::newest(repository.state_dir())) + 1;
    let is_ours = |descriptor: &&Descriptor| {
        descriptor.verify_owner(&owner.verifying_key()).is_ok() && descriptor.repository == owner.repository()
    };
    let sound = known.iter().rev().filter_map(|(_, read)| read.as_ref().ok()).find(is_ours);
    let descriptor = match sound {
        Some(sound) => Descriptor { version, ..sound.clone() },
        None => match told_by_others(repository, version)? {
            Some(told) => told,
            None => return Ok(None),
        },
    };
    let name = layout::descriptor(descriptor.version);
    let bytes = Bytes::from(descriptor.sign(&owner.signing_key()));
    Ok(wait(objects::create_own(store.as_ref(), &name, bytes))?.then_some(name))
}

/// A descriptor made from client records and receipts; none without a full client's record.
fn told_by_others(repository: &Repository, version: u64) -> Result<Option<Descriptor>, JobError> {
    let Some(record) = full_client(repository)? else { return Ok(None) };
    let owner = &repository.owner;
    let first = Descriptor::new(owner, record.created, ingested_by(repository)?, record.domain);
    Ok(Some(Descriptor { version, ..first }))
}

/// The first version of the record of the full client that was registered first, among those whose records are sound.
/// Later versions have times of their own, because a client has joined or was revoked.
fn full_client(repository: &Repository) -> Result<Option<ClientRecord>, JobError> {
    let mut oldest: Option<ClientRecord> = None;
    for client in wait(clients::below(repository.store().as_ref(), "clients/"))? {
        let is_full = match wait(clients::read(&repository.job(), client)) {
            Err(JobError::Damaged { .. }) => false,
            read => read?.is_some_and(|record| record.role == Role::Full),
        };
        let first = if is_full { first_version(repository, client)? } else { None };
        let older = first.filter(|first| oldest.as_ref().is_none_or(|oldest| first.created < oldest.created));
        oldest = older.or(oldest);
    }
    Ok(oldest)
}

/// The first version of a client's record, from the copy that is sound.
fn first_version(repository: &Repository, client: ClientId) -> Result<Option<ClientRecord>, StoreError> {
    let job = repository.job();
    for name in [layout::client(client, 1), layout::client_copy(client, 1)] {
        let bytes = match wait(objects::read(job.store, &name)) {
            // A copy that the store does not give is damaged: the other one may be whole.
            Err(error) if refusal(&error).is_some() => None,
            read => read?,
        };
        let versions: Vec<(u64, Vec<u8>)> = bytes.iter().map(|bytes| (1, bytes.to_vec())).collect();
        let read = ClientHistory::read(job.repository, &job.owner_key, client, &versions);
        if read.newest.is_some() {
            return Ok(read.newest);
        }
    }
    Ok(None)
}

/// The party that has ingested so far: clients, if a client wrote the first receipt of any client. (In such a repository the
/// service writes the receipts of clients behind a gateway.)
fn ingested_by(repository: &Repository) -> Result<IngestBy, StoreError> {
    let store = repository.store().as_ref();
    let (mut by, mut last) = (IngestBy::Client, None);
    for listed in wait(objects::list(store, "receipts/"))? {
        let name = listed.key.as_str();
        let (client, number) = (layout::client_of(name), layout::trailing_number(name));
        if client == last {
            continue;
        }
        if let (Some(client), Some(number), Some(bytes)) = (client, number, wait(objects::read(store, name))?)
            && let Ok(receipt) = Receipt::decode(client, number, &bytes)
        {
            if receipt.by == IngestBy::Client {
                return Ok(receipt.by);
            }
            (by, last) = (receipt.by, Some(client));
        }
    }
    Ok(by)
}
