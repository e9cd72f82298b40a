//! The repository as this machine uses it: the store, its descriptor, and the secrets that open it.

mod access;
mod carried;
mod client;
mod copies;
mod descriptor;
mod enrolled;
mod init;
mod join;
mod met;
mod seen;
mod slots;
mod unlock;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use copal_format::id::{DomainId, RepositoryId, SlotId};
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::session::SessionRecord;
use copal_format::keys::slot::{SlotError, SlotInput};
use copal_format::layout;
use copal_format::limits::CHAIN_LEAP;
use copal_format::number::reached;
use copal_format::receipt::IngestBy;
use copal_format::repository::{Descriptor, DescriptorError};
use copal_format::seal::SessionCipher;
use copal_format::wire::DecodeError;
use copal_format::wire::record::{Kind, RecordError};
use copal_jobs::context::JobContext;
use copal_jobs::error::JobError;
use copal_jobs::objects;
use copal_jobs::scratch::Files;
use copal_jobs::witness::refusal;
use copal_store::reserve::Reserve;
use copal_store::{Store, StoreError};
use futures::future::try_join;

pub use access::Access;
pub use carried::{BadReader, CarriedReader, ReaderProgram, carry};
pub use client::{ClientError, LocalClient};
pub use copies::{RestoredCopies, clear_damaged, restore_record_copies, restore_slots};
pub use descriptor::restore_descriptor;
pub use enrolled::Enrolled;
pub use init::{Init, InitError, Initialised, add_slot, init};
pub use join::{JoinError, join};
pub use met::Met;
pub use slots::{RemoveError, proves, read_slot, remove_slot, survey_slots};
use unlock::read_slots;
pub use unlock::{Costly, find_slots, unlock};

use crate::backend::Backend;
use crate::entropy::SystemEntropy;
use crate::location::Location;
use crate::wait::wait;

/// An unlocked repository.
pub struct Repository {
    store: Arc<dyn Store>,
    backend: Backend,
    /// The descriptor; none if it is lost or damaged. The repository can then only be read.
    pub descriptor: Option<Descriptor>,
    /// What is wrong with the newest descriptor, if it is damaged.
    pub descriptor_fault: Option<(String, DescriptorError)>,
    /// The owner secret, from which every key derives.
    pub owner: Arc<OwnerSecret>,
    /// The key slot that opened it.
    pub slot: SlotId,
    state_dir: PathBuf,
    /// The file of snapshots that were verified before.
    listed: Option<PathBuf>,
    scratch: Files,
}

/// Why a repository cannot be opened.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum OpenError {
    #[error("{0} is not a repository")]
    NoRepository(Location),
    #[error("no key slot of {location} opens with the {kind} given")]
    WrongSecret { location: Location, kind: String },
    #[error("{location} has no key slot for a {kind}")]
    NoSlot { location: Location, kind: String },
    /// No slot opened, and at least one is damaged: it may be the right one.
    #[error("key slot {object} is damaged")]
    DamagedSlot {
        object: String,
        /// Whether whole slots have refused the secret: it may be wrong.
        is_refused: bool,
        #[source]
        source: SlotError,
    },
    /// A slot that might open was not tried, because nobody agreed to its cost.
    #[error(transparent)]
    Costly(Costly),
    /// A write-only client's repository is not the one that is there.
    #[error("{location} holds repository {}, and this machine is a client of {}", .found.short(), .met.short())]
    Another { location: Location, found: RepositoryId, met: RepositoryId },
    /// The descriptor is of a newer format. A write-only client also refuses a damaged, older or foreign one.
    #[error("descriptor {object} cannot be used")]
    Descriptor {
        object: String,
        #[source]
        source: DescriptorError,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Job(#[from] JobError),
}

impl Repository {
    /// Opens and unlocks the repository of a backend. Skips key slots whose cost is unusual.
    pub fn open(
        backend: &Backend,
        input: &SlotInput,
        state_dir: impl FnOnce(RepositoryId) -> PathBuf,
    ) -> Result<Self, OpenError> {
        Self::open_if(backend, input, &|_| false, state_dir)
    }

    /// Like [`Repository::open`], but asks `agrees` about key slots with unusual cost.
    pub fn open_if(
        backend: &Backend,
        input: &SlotInput,
        agrees: &dyn Fn(&Costly) -> bool,
        state_dir: impl FnOnce(RepositoryId) -> PathBuf,
    ) -> Result<Self, OpenError> {
        let store = backend.store();
        let (descriptors, slots) = wait(try_join(read_descriptors(&store), read_slots(&store)))?;
        if descriptors.is_empty() && slots.is_empty() {
            return Err(OpenError::NoRepository(backend.location().clone()));
        }
        let said = descriptors.iter().rev().find_map(|(_, read)| read.as_ref().ok()).map(|newest| newest.repository);
        let (owner, slot) = unlock(backend.location(), slots, input, said, agrees)?;
        if let Some(gateway) = backend.gateway() {
            gateway.know_owner(&owner);
        }
        let state_dir = state_dir(owner.repository());
        let (descriptor, descriptor_fault) = match newest_descriptor(&descriptors, &owner)? {
            Newest::Whole(descriptor) => match seen::compare(&state_dir, &descriptor) {
                Ok(()) => (Some(*descriptor), None),
                Err(fault) => (None, Some((layout::descriptor(descriptor.version), fault))),
            },
            Newest::Damaged(object, fault) => (None, Some((object, fault))),
            Newest::None => (None, None),
        };
        Ok(Self {
            store,
            backend: backend.clone(),
            descriptor,
            descriptor_fault,
            owner: Arc::new(owner),
            slot,
            state_dir,
            listed: None,
            scratch: Files::default(),
        })
    }

    /// Whether a backend holds a repository, and not only the leftovers of an interrupted `init`.
    pub fn is_at(backend: &Backend) -> Result<bool, StoreError> {
        let store = backend.store();
        let holds = |prefix| Ok::<_, StoreError>(!wait(store.list(prefix, None, 1))?.objects.is_empty());
        // Called for every repository that is opened: where there is a descriptor, one listing is enough.
        Ok(holds("copal/")? || (holds("keys/")? && !init::is_unfinished(&store)?))
    }

    /// The repository's id.
    pub fn id(&self) -> RepositoryId {
        self.owner.repository()
    }

    /// Where the repository lies.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Whether this process ingests: the descriptor leaves ingest to clients, and no gateway is in front of the store.
    /// Behind a gateway the service beside the store ingests, whatever the descriptor says.
    pub fn ingests(&self) -> bool {
        let by = self.descriptor.as_ref().map(|descriptor| descriptor.ingest);
        by == Some(IngestBy::Client) && !self.backend.is_behind_gateway()
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Caches index and state of a bucket in a directory, and what manifests say of snapshots. Puts the jobs' scratch
    /// files there.
    pub fn keep_copies_in(&mut self, directory: &Path) {
        self.store = self.backend.cached_store(directory);
        self.listed = Some(directory.join("listed"));
        self.scratch = Files::new(directory);
    }

    /// For a bucket: drops the cache of earlier runs, so that this run reads each object from the store.
    pub fn read_anew(&mut self) {
        self.store = self.backend.store_of_a_run();
        self.listed = None;
    }

    /// The file in which [`History`](crate::history::History) keeps what it has read; none without a cache.
    pub(crate) fn listed(&self) -> Option<&Path> {
        self.listed.as_deref()
    }

    /// Gives up the repository's reserve when the disk is full, for jobs that free space. A gateway does that itself.
    pub fn give_reserve(&mut self) {
        if !self.backend.is_behind_gateway() {
            self.store = Arc::new(Reserve::new(self.store.clone()));
        }
    }

    /// The context that jobs of the service run in.
    pub fn job(&self) -> JobContext<'_> {
        JobContext {
            store: self.store.as_ref(),
            entropy: &SystemEntropy,
            scratch: &self.scratch,
            repository: self.id(),
            owner_key: self.owner.verifying_key(),
        }
    }

    /// The keys of a domain.
    pub fn domain_keys(&self, domain: DomainId) -> DomainKeys {
        DomainKeys::new(&self.owner.domain_key(domain))
    }

    /// A new session in a domain: its key lives in this process's memory only.
    pub fn new_session(&self, domain: DomainId) -> (SessionRecord, SessionCipher) {
        access::new_session(self.id(), domain, &self.owner.kem_public())
    }

    /// This machine's state directory of the repository.
    pub fn state_dir(&self) -> &Path {
        &self.state_dir
    }
}

type NamedDescriptor = (String, Result<Descriptor, DescriptorError>);

/// All descriptors, the oldest first. One that the store has and does not give counts as damaged.
pub fn list_descriptors(store: &dyn Store) -> Result<Vec<NamedDescriptor>, StoreError> {
    wait(read_descriptors(store))
}

async fn read_descriptors(store: &dyn Store) -> Result<Vec<NamedDescriptor>, StoreError> {
    let listed = objects::list(store, "copal/").await?;
    let names: Vec<String> = listed.iter().map(|listed| listed.key.as_str().to_owned()).collect();
    // A version far above the others does not count, because versions are written one after another.
    let last = reached(0, CHAIN_LEAP, names.iter().filter_map(|name| layout::trailing_number(name)));
    let mut descriptors = Vec::new();
    for (name, read) in names.iter().zip(objects::read_many(store, &names).await) {
        let Some(version) = layout::trailing_number(name).filter(|version| *version <= last) else { continue };
        match read {
            Ok(Some(bytes)) => descriptors.push((name.clone(), Descriptor::decode(version, &bytes))),
            Ok(None) => {}
            Err(error) if refusal(&error).is_some() => {
                let unread = DecodeError::new(0, "the store does not give what is there");
                descriptors.push((name.clone(), Err(RecordError::malformed(Kind::Descriptor)(unread).into())));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(descriptors)
}

enum Newest {
    Whole(Box<Descriptor>),
    Damaged(String, DescriptorError),
    None,
}

/// The newest descriptor, which must be signed by the owner. An older one does not replace a damaged newer one: without
/// a descriptor the repository can still be read.
fn newest_descriptor(descriptors: &[NamedDescriptor], owner: &OwnerSecret) -> Result<Newest, OpenError> {
    let Some((object, newest)) = descriptors.last() else { return Ok(Newest::None) };
    match newest {
        Ok(descriptor) => {
            // Another owner's descriptor: files of two repositories were mixed. Reading does not depend on it.
            if descriptor.verify_owner(&owner.verifying_key()).is_err() || descriptor.repository != owner.repository() {
                return Ok(Newest::Damaged(object.clone(), DescriptorError::Owner));
            }
            Ok(Newest::Whole(Box::new(descriptor.clone())))
        }
        Err(DescriptorError::Record(error)) if !matches!(error, RecordError::Version { .. }) => {
            Ok(Newest::Damaged(object.clone(), DescriptorError::Record(error.clone())))
        }
        Err(source) => Err(OpenError::Descriptor { object: object.clone(), source: source.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use copal_format::keys::secret::Secret;
    use copal_format::time::Time;
    use copal_store::Op;
    use copal_store::fault::{Call, Fate, Fault};
    use copal_store::memory::MemoryStore;

    use super::*;

    #[test]
    fn a_descriptor_that_cannot_be_read_is_damaged_and_hides_no_other() {
        let secret = |byte| Secret::new([byte; 32]);
        let owner = OwnerSecret::new(RepositoryId([1; 16]), secret(2), secret(3), secret(4));
        let inner = MemoryStore::new();
        for version in 1..=2 {
            let first = Descriptor::new(&owner, Time(0), IngestBy::Client, DomainId([5; 16]));
            let bytes = Bytes::from(Descriptor { version, ..first }.sign(&owner.signing_key()));
            wait(inner.create(&objects::key(layout::descriptor(version)), bytes)).unwrap();
        }
        for bad in 1..=2 {
            let key = layout::descriptor(bad);
            let store = Fault::at(&inner, move |call: &Call<'_>| call.op == Op::Read && call.key == key, Fate::broken);
            let listed = list_descriptors(&store).unwrap();
            let whole: Vec<Option<u64>> = listed.iter().map(|(_, read)| Some(read.as_ref().ok()?.version)).collect();
            assert_eq!(whole, [1, 2].map(|version| (version != bad).then_some(version)));
            let newest = newest_descriptor(&listed, &owner).unwrap();
            assert_eq!(matches!(newest, Newest::Damaged(..)), bad == 2, "an older one does not replace the newest");
        }
    }
}
