//! Init: writes the owner secret's key slots, then the descriptor. The descriptor comes last: without it a directory is
//! not yet a repository, so a crash leaves nothing that looks like one.

use bytes::Bytes;
use copal_format::id::{DomainId, RepositoryId, SlotId};
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::slot::{self, Argon2Params, SlotInput, SlotParams};
use copal_format::keys::text;
use copal_format::layout;
use copal_format::receipt::IngestBy;
use copal_format::repository::{Descriptor, Parameters};
use copal_format::time::Time;
use copal_jobs::objects;
use copal_store::{Store, StoreError};
use zeroize::Zeroizing;

use super::slots::take_back;
use super::unlock::FoundSlot;
use super::{OpenError, ReaderProgram, RestoredCopies, find_slots, list_descriptors, restore_slots, unlock};
use crate::backend::Backend;
use crate::entropy::{random, secret};
use crate::wait::wait;

/// Options of a new repository.
pub struct Init<'a> {
    /// Where to create the repository.
    pub backend: &'a Backend,
    /// Secrets that open the repository, besides the recovery code.
    pub inputs: &'a [SlotInput],
    /// The descriptor's parameters.
    pub parameters: Parameters,
    /// Whether clients or a service ingest.
    pub ingest: IngestBy,
    /// Cost of unlocking with a passphrase.
    pub argon2: Argon2Params,
    /// The reader to store in it.
    pub reader: Option<&'a ReaderProgram>,
}

/// A new repository.
pub struct Initialised {
    /// Its id.
    pub repository: RepositoryId,
    /// The recovery code, which opens the repository when all other secrets are lost. Shown once.
    pub recovery_code: Zeroizing<String>,
    /// The owner's secret.
    pub owner: OwnerSecret,
}

/// Why a repository cannot be made.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum InitError {
    #[error("{0} is a repository already")]
    Exists(String),
    #[error("{0} holds other files")]
    NotEmpty(String),
    /// The store failed, or is not safe for a repository.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes a repository in an empty place, or finishes one that an interrupted `init` began, if the first of `inputs`
/// opens its slots.
pub fn init(options: &Init<'_>) -> Result<Initialised, InitError> {
    let name = options.backend.location().to_string();
    let store = options.backend.store();
    let slots = find_slots(&store)?;
    if !list_descriptors(&store)?.is_empty() || (!slots.is_empty() && !is_unfinished(&store)?) {
        return Err(InitError::Exists(name));
    }
    // `init` stores the reader after the slots: a reader without slots was put there by somebody else.
    let is_reader_strange = slots.is_empty() && !wait(objects::list(&store, "reader/"))?.is_empty();
    if is_reader_strange || options.backend.holds_other_files().unwrap_or(true) {
        return Err(InitError::NotEmpty(name));
    }
    options.backend.probe()?;
    let owner = match begun(options, slots) {
        Some(Ok(owner)) => owner,
        Some(Err(_)) => return Err(InitError::Exists(name)),
        None => OwnerSecret::new(RepositoryId(random()), secret(), secret(), secret()),
    };
    if let Some(gateway) = options.backend.gateway() {
        gateway.know_owner(&owner);
    }
    restore_slots(&store, &mut RestoredCopies::default())?;
    let recovery = secret();
    let recovery_code = text::encode_recovery(&recovery);
    let mut added = Vec::new();
    for input in options.inputs.iter().chain([&SlotInput::RecoveryCode(recovery)]) {
        added.push(add_slot(&store, &owner, input, options.argon2, "")?);
    }
    let reader = options.reader.map(|reader| reader.store(&store)).transpose()?;
    let plain = Descriptor::new(&owner, Time(wait(store.now())?.0), options.ingest, DomainId(random()));
    let descriptor = Descriptor { parameters: options.parameters.clone(), reader, ..plain };
    let bytes = descriptor.sign(&owner.signing_key());
    if !wait(objects::create_own(&store, &layout::descriptor(1), Bytes::from(bytes)))? {
        // Another `init` was faster: these slots are of no repository.
        take_back(&store, &added);
        return Err(InitError::Exists(name));
    }
    Ok(Initialised { repository: owner.repository(), recovery_code, owner })
}

/// Whether an `init` was interrupted before it wrote the descriptor: there are only key slots, readers and temporary
/// files, so nothing was backed up since.
pub(super) fn is_unfinished(store: &dyn Store) -> Result<bool, StoreError> {
    if !wait(objects::list(store, "copal/"))?.is_empty() {
        return Ok(false);
    }
    let listed = wait(objects::list(store, ""))?;
    let is_of_init =
        |name: &str| name.starts_with("keys/") || name.starts_with("tmp/") || layout::reader_hash(name).is_some();
    Ok(listed.iter().all(|object| is_of_init(object.key.as_str())))
}

/// Unlocks the owner secret of an unfinished repository, if there is one, with the first input.
fn begun(options: &Init<'_>, slots: Vec<FoundSlot>) -> Option<Result<OwnerSecret, OpenError>> {
    if slots.is_empty() {
        return None;
    }
    let input = options.inputs.first()?;
    Some(unlock(options.backend.location(), slots, input, None, &|_| false).map(|(owner, _)| owner))
}

/// Writes both copies of a new key slot; its name may be empty.
pub fn add_slot(
    store: &dyn Store,
    owner: &OwnerSecret,
    input: &SlotInput,
    argon2: Argon2Params,
    name: &str,
) -> Result<SlotId, StoreError> {
    let id = SlotId(random());
    let created = Time(wait(store.now())?.0);
    let params = SlotParams { id, created, nonce: random(), salt: random(), argon2 };
    let bytes = Bytes::from(slot::seal_named(input, &params, owner, name));
    for name in layout::slot(id) {
        wait(store.create(&objects::key(name), bytes.clone()))?;
    }
    Ok(id)
}
