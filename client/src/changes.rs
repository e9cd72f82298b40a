//! Changes: writes signed changes about snapshots to the repository's chain, and folds them into its state.

use std::time::{Duration, Instant};

use bytes::Bytes;
use copal_engine::changing::Changing;
use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::layout;
use copal_format::receipt::IngestBy;
use copal_format::time::Time;
use copal_jobs::error::JobError;
use copal_jobs::ingest::{Scope, ingest};
use copal_jobs::view::{self, Parts, View};
use copal_jobs::{clients, objects};
use copal_store::StoreError;

use crate::chain::Attempts;
use crate::repository::{LocalClient, Repository};
use crate::wait::{Patience, SERVICE_ANSWERS, wait};

/// Why a change could not be written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ChangeError {
    /// Only full clients may change snapshots.
    #[error("only a client that knows the passphrase may change snapshots")]
    NotFull,
    #[error("the repository's descriptor is lost: nothing can be written to it")]
    NoDescriptor,
    /// The change is written, but no root has folded it in yet.
    #[error("change {number} is written, but not folded in yet")]
    NotFolded { number: u64 },
    #[error(transparent)]
    Store(#[from] StoreError),
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
    write_telling(repository, client, operations, &|| {})
}

/// Like [`write()`]; calls `slow` once if a service has not folded the changes in after a few seconds.
pub fn write_telling(
    repository: &Repository,
    client: &LocalClient,
    operations: Vec<Operation>,
    slow: &dyn Fn(),
) -> Result<Option<Written>, ChangeError> {
    let Some(number) = hand_in(repository, client, operations)? else { return Ok(None) };
    if !repository.ingests() {
        return folded_by_service(repository, number, slow).map(Some);
    }
    let view = wait(view::read(repository.store().as_ref()))?;
    // The store may not have shown the change to this machine yet.
    let head = view.root.as_ref().and_then(|(root, _)| root.change_head);
    if head.is_none_or(|(head, _)| head < number) {
        return Err(ChangeError::NotFolded { number });
    }
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
    let mut changing = Changing::new(head, None, operations);
    while let Some(name) = changing.unread() {
        // Whether the store has gone back is asked when the repository is opened.
        changing.read(wait(objects::read(store, &name))?.as_deref()).expect("no change was met before");
    }
    let mut written = None;
    let mut attempts = Attempts::default();
    while let Some(change) = changing.due(client.id, Time(wait(store.now())?.0), &repository.owner) {
        let bytes = Bytes::from(change.sign(repository.id(), &client.keys.manifest_key()));
        let there = attempts.put(store, &layout::change(change.number), &bytes)?;
        if changing.stored(&there, &bytes) {
            written = Some(change.number);
            attempts = Attempts::default();
        }
    }
    if written.is_some() && repository.ingests() {
        wait(ingest(&repository.job(), IngestBy::Client, Scope::Client(client.id), &|_| false))?;
    }
    Ok(written)
}

/// Waits until a root has folded in a change.
fn folded_by_service(repository: &Repository, number: u64, slow: &dyn Fn()) -> Result<Written, ChangeError> {
    let mut patience = Patience::of(SERVICE_ANSWERS);
    let (began, mut is_told) = (Instant::now(), false);
    let store = repository.store().as_ref();
    let none = Parts { kinds: &[], domains: Some(Default::default()) };
    loop {
        let view = wait(view::read_parts(store, &none))?;
        let head = view.root.as_ref().and_then(|(root, _)| root.change_head);
        if head.is_some_and(|(head, _)| head >= number) {
            return Ok(Written { number, view: wait(view::read(store))? });
        }
        if !is_told && began.elapsed() >= SLOW {
            slow();
            is_told = true;
        }
        if !patience.pause(|| false) {
            return Err(ChangeError::NotFolded { number });
        }
    }
}

/// How long a service may take until its client says that it waits.
const SLOW: Duration = Duration::from_secs(3);
