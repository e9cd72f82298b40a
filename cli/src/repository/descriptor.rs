//! Descriptor: written again where it was lost or damaged. Objects are never replaced, so it gets the next version.

use bytes::Bytes;
use copal_engine::client::{ClientRecord, Role};
use copal_engine::layout;
use copal_engine::receipt::{IngestBy, Receipt};
use copal_engine::repository::{Descriptor, Parameters};
use copal_service::error::JobError;
use copal_service::{clients, objects};
use copal_store::StoreError;

use super::{Repository, list_descriptors, seen};
use crate::wait::wait;

/// Writes a new descriptor if the newest cannot be used; gives its name. It says what the newest sound one says. If there
/// is none, client records and receipts tell, and parameters are those of new repositories: others would only let chunks
/// be cut elsewhere. Without a client record nobody knows the shared domain then, and nothing is written.
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

/// A descriptor of what client records and receipts tell.
fn told_by_others(repository: &Repository, version: u64) -> Result<Option<Descriptor>, JobError> {
    let Some(record) = full_client(repository)? else { return Ok(None) };
    let owner = &repository.owner;
    Ok(Some(Descriptor {
        version,
        repository: owner.repository(),
        created: record.created,
        parameters: Parameters::default(),
        owner_key: owner.verifying_key(),
        kem_public: owner.kem_public().as_bytes().to_vec(),
        ingest: ingested_by(repository)?,
        reader: None,
        shared_domain: record.domain,
    }))
}

/// The oldest full client whose record is sound.
fn full_client(repository: &Repository) -> Result<Option<ClientRecord>, JobError> {
    let mut oldest: Option<ClientRecord> = None;
    for client in wait(clients::below(repository.store().as_ref(), "clients/"))? {
        let record = match wait(clients::read(&repository.host(), client)) {
            Err(JobError::Damaged { .. }) => None,
            read => read?,
        };
        let older = record.filter(|record| {
            record.role == Role::Full && oldest.as_ref().is_none_or(|oldest| record.created < oldest.created)
        });
        oldest = older.or(oldest);
    }
    Ok(oldest)
}

/// Who answered manifests so far: clients, if one has answered the first manifest of any client. Those that come through a
/// gateway the service answers there, too.
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
