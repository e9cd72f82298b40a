//! Making a repository: the owner's secret, its slots, the descriptor. The descriptor comes last: a directory without it
//! is not yet a repository, and a crash before leaves nothing that looks like one.

use std::path::Path;

use bytes::Bytes;
use copal_engine::id::{DomainId, RepositoryId, SlotId};
use copal_engine::keys::owner::OwnerSecret;
use copal_engine::keys::slot::{self, Argon2Params, SlotInput, SlotParams};
use copal_engine::keys::text;
use copal_engine::layout;
use copal_engine::receipt::IngestBy;
use copal_engine::repository::{Descriptor, Parameters};
use copal_engine::time::Time;
use copal_service::objects;
use copal_store::fs::FsStore;
use copal_store::{Created, Store, StoreError};
use zeroize::Zeroizing;

use super::{find_slots, list_descriptors};
use crate::entropy::{random, secret};
use crate::wait::wait;

/// What a repository is made with.
pub struct Init<'a> {
    /// Where.
    pub directory: &'a Path,
    /// What opens it from now on, besides the recovery code.
    pub inputs: &'a [SlotInput],
    /// Its parameters.
    pub parameters: Parameters,
    /// Who ingests.
    pub ingest: IngestBy,
    /// Cost of unlocking with a passphrase.
    pub argon2: Argon2Params,
}

/// A repository that was made.
pub struct Initialised {
    /// Its id.
    pub repository: RepositoryId,
    /// Opens the repository when everything else is lost; shown once.
    pub recovery_code: Zeroizing<String>,
    /// The owner's secret.
    pub owner: OwnerSecret,
}

/// Why a repository cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// There is one already.
    #[error("{0} is a repository already")]
    Exists(String),
    /// Something else is in the directory.
    #[error("{0} holds other files")]
    NotEmpty(String),
    /// The store failed, or cannot hold a repository safely.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes a repository in a directory that is empty or not there yet.
pub fn init(options: &Init<'_>) -> Result<Initialised, InitError> {
    let name = options.directory.display().to_string();
    let store = FsStore::create(options.directory)?;
    if !list_descriptors(&store)?.is_empty() || !find_slots(&store)?.is_empty() {
        return Err(InitError::Exists(name));
    }
    if holds_other_files(options.directory, &name)? {
        return Err(InitError::NotEmpty(name));
    }
    store.probe()?;
    let owner = OwnerSecret::new(RepositoryId(random()), secret(), secret(), secret());
    let recovery = secret();
    let recovery_code = text::encode_recovery(&recovery);
    for input in options.inputs.iter().chain([&SlotInput::RecoveryCode(recovery)]) {
        add_slot(&store, &owner, input, options.argon2)?;
    }
    let descriptor = Descriptor {
        version: 1,
        repository: owner.repository(),
        created: Time(wait(store.now())?.0),
        parameters: options.parameters.clone(),
        owner_key: owner.verifying_key(),
        kem_public: owner.kem_public().as_bytes().to_vec(),
        ingest: options.ingest,
        reader: None,
        shared_domain: DomainId(random()),
    };
    let bytes = descriptor.sign(&owner.signing_key());
    let object = objects::key(layout::descriptor(1));
    if wait(store.create(&object, Bytes::from(bytes)))? == Created::Exists {
        return Err(InitError::Exists(name));
    }
    Ok(Initialised { repository: owner.repository(), recovery_code, owner })
}

/// Writes a key slot, twice.
pub fn add_slot(
    store: &dyn Store,
    owner: &OwnerSecret,
    input: &SlotInput,
    argon2: Argon2Params,
) -> Result<SlotId, StoreError> {
    let id = SlotId(random());
    let created = Time(wait(store.now())?.0);
    let params = SlotParams { id, created, nonce: random(), salt: random(), argon2 };
    let bytes = Bytes::from(slot::seal(input, &params, owner));
    for name in layout::slot(id) {
        wait(store.create(&objects::key(name), bytes.clone()))?;
    }
    Ok(id)
}

/// A directory that holds anything but what the store itself makes is somebody's.
fn holds_other_files(directory: &Path, name: &str) -> Result<bool, InitError> {
    let entries = std::fs::read_dir(directory).map_err(|_| InitError::NotEmpty(name.to_owned()))?;
    for entry in entries {
        let entry = entry.map_err(|_| InitError::NotEmpty(name.to_owned()))?;
        if entry.file_name() != "tmp" && entry.file_name() != "lost+found" {
            return Ok(true);
        }
    }
    Ok(false)
}
