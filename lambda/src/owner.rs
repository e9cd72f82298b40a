//! Owner: whose repository it is, read from the descriptor and compared with the fingerprint that the function trusts.

use copal_engine::id::OwnerFingerprint;
use copal_engine::keys::owner::{KemPublic, fingerprint};
use copal_engine::layout;
use copal_engine::repository::{Descriptor, DescriptorError};
use copal_service::objects;
use copal_store::{Store, StoreError};

/// Why the repository cannot be worked on.
#[derive(Debug, thiserror::Error)]
pub enum OwnerError {
    /// There is no descriptor.
    #[error("there is no repository: it has no descriptor")]
    Absent,
    /// The newest descriptor is not sound. An older one does not stand in for it.
    #[error("{object} cannot be used")]
    Descriptor {
        /// Its name.
        object: String,
        /// Why.
        source: DescriptorError,
    },
    /// The descriptor is another owner's.
    #[error("{object} is of the owner {found}, not of {wanted}")]
    Other {
        /// Its name.
        object: String,
        /// Whose it is.
        found: OwnerFingerprint,
        /// Whose it should be.
        wanted: OwnerFingerprint,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The newest descriptor, if it is that of the owner.
pub async fn descriptor(store: &dyn Store, owner: OwnerFingerprint) -> Result<Descriptor, OwnerError> {
    let mut newest = None;
    for listed in objects::list(store, "copal/").await? {
        let name = listed.key.as_str();
        newest = layout::trailing_number(name).map(|version| (version, name.to_owned())).or(newest);
    }
    let (version, object) = newest.ok_or(OwnerError::Absent)?;
    let bytes = objects::read(store, &object).await?.ok_or(OwnerError::Absent)?;
    let descriptor = match Descriptor::decode(version, &bytes) {
        Ok(descriptor) => descriptor,
        Err(source) => return Err(OwnerError::Descriptor { object, source }),
    };
    let Some(kem) = KemPublic::from_slice(&descriptor.kem_public) else {
        return Err(OwnerError::Descriptor { object, source: DescriptorError::Owner });
    };
    let found = fingerprint(descriptor.repository, &descriptor.owner_key, &kem);
    if found == owner { Ok(descriptor) } else { Err(OwnerError::Other { object, found, wanted: owner }) }
}
