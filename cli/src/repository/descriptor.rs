//! Descriptor: written again where it was lost or damaged. Objects are never replaced, so it gets the next version.

use bytes::Bytes;
use copal_engine::client::{ClientRecord, Role};
use copal_engine::layout;
use copal_engine::receipt::{IngestBy, Receipt};
use copal_engine::repository::{Descriptor, Parameters};
use copal_service::error::JobError;
use copal_service::{clients, objects};
use copal_store::{Created, Store, StoreError};

use super::{Repository, list_descriptors};
use crate::wait::wait;

/// Writes a new descriptor if there is none that can be used, from what client records and receipts tell; gives its name.
/// Parameters are those of new repositories: others would only let chunks be cut elsewhere. Without a client record
/// nobody knows the shared domain, and nothing is written.
pub fn restore_descriptor(repository: &Repository) -> Result<Option<String>, JobError> {
    if repository.descriptor.is_some() {
        return Ok(None);
    }
    let Some(record) = full_client(repository)? else { return Ok(None) };
    let store = repository.store();
    let newest = list_descriptors(store.as_ref())?.iter().filter_map(|(name, _)| layout::trailing_number(name)).max();
    let owner = &repository.owner;
    let descriptor = Descriptor {
        version: newest.unwrap_or(0) + 1,
        repository: owner.repository(),
        created: record.created,
        parameters: Parameters::default(),
        owner_key: owner.verifying_key(),
        kem_public: owner.kem_public().as_bytes().to_vec(),
        ingest: ingested_by(repository)?,
        reader: None,
        shared_domain: record.domain,
    };
    let name = layout::descriptor(descriptor.version);
    let bytes = Bytes::from(descriptor.sign(&owner.signing_key()));
    let is_new = wait(store.create(&objects::key(name.as_str()), bytes))? == Created::New;
    Ok(is_new.then_some(name))
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

/// Who answered manifests so far.
fn ingested_by(repository: &Repository) -> Result<IngestBy, StoreError> {
    let store = repository.store().as_ref();
    for listed in wait(objects::list(store, "receipts/"))? {
        let name = listed.key.as_str();
        let (client, number) = (layout::client_of(name), layout::trailing_number(name));
        if let (Some(client), Some(number), Some(bytes)) = (client, number, wait(objects::read(store, name))?)
            && let Ok(receipt) = Receipt::decode(client, number, &bytes)
        {
            return Ok(receipt.by);
        }
    }
    Ok(IngestBy::Client)
}
