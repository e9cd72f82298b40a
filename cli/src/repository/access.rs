//! Access: a repository as whoever saves to it holds it. Everything but saving takes a [`Repository`], which only the
//! owner's secret opens.

use std::sync::Arc;

use copal_engine::id::{DomainId, RepositoryId};
use copal_engine::keys::domain::DomainKeys;
use copal_engine::keys::owner::KemPublic;
use copal_engine::keys::session::{SessionKey, SessionRecord};
use copal_engine::repository::Descriptor;
use copal_engine::seal::SessionCipher;
use copal_service::host::Host;
use copal_store::Store;

use super::{Enrolled, Repository};
use crate::entropy::{random, secret};
use crate::site::Site;

/// A repository as whoever saves to it holds it.
#[derive(Copy, Clone)]
pub enum Access<'a> {
    /// With the owner's secret.
    Owner(&'a Repository),
    /// With the key of one domain, and no key that opens anything.
    WriteOnly(&'a Enrolled),
}

impl<'a> From<&'a Repository> for Access<'a> {
    fn from(repository: &'a Repository) -> Self {
        Self::Owner(repository)
    }
}

impl<'a> From<&'a Enrolled> for Access<'a> {
    fn from(enrolled: &'a Enrolled) -> Self {
        Self::WriteOnly(enrolled)
    }
}

impl<'a> Access<'a> {
    /// The store.
    pub fn store(self) -> &'a Arc<dyn Store> {
        match self {
            Self::Owner(repository) => repository.store(),
            Self::WriteOnly(enrolled) => &enrolled.store,
        }
    }

    /// Where the repository lies.
    pub fn site(self) -> &'a Site {
        match self {
            Self::Owner(repository) => repository.site(),
            Self::WriteOnly(enrolled) => &enrolled.site,
        }
    }

    /// The repository's id.
    pub fn id(self) -> RepositoryId {
        match self {
            Self::Owner(repository) => repository.id(),
            Self::WriteOnly(enrolled) => enrolled.credentials.repository,
        }
    }

    /// What the repository says of itself; none if that was lost.
    pub fn descriptor(self) -> Option<&'a Descriptor> {
        match self {
            Self::Owner(repository) => repository.descriptor.as_ref(),
            Self::WriteOnly(enrolled) => Some(&enrolled.descriptor),
        }
    }

    /// What jobs of the service work with.
    pub fn host(self) -> Host<'a> {
        match self {
            Self::Owner(repository) => repository.host(),
            Self::WriteOnly(enrolled) => enrolled.host(),
        }
    }

    /// Whether this process decides about its own manifests: clients ingest, and it is no write-only one.
    pub fn decides(self) -> bool {
        matches!(self, Self::Owner(repository) if repository.ingests())
    }

    /// The keys of a domain; a write-only client has those of its own.
    pub fn domain_keys(self, domain: DomainId) -> DomainKeys {
        match self {
            Self::Owner(repository) => repository.domain_keys(domain),
            Self::WriteOnly(enrolled) => {
                assert_eq!(domain, enrolled.credentials.domain, "a write-only client works in its own domain");
                DomainKeys::new(&enrolled.credentials.domain_key)
            }
        }
    }

    /// A new session in a domain: its key lives in this process's memory only, and is wrapped for the owner alone.
    pub fn new_session(self, domain: DomainId) -> (SessionRecord, SessionCipher) {
        match self {
            Self::Owner(repository) => repository.new_session(domain),
            Self::WriteOnly(enrolled) => new_session(self.id(), domain, &enrolled.kem),
        }
    }
}

/// A new session, wrapped for the owner of this key.
pub(super) fn new_session(
    repository: RepositoryId,
    domain: DomainId,
    owner: &KemPublic,
) -> (SessionRecord, SessionCipher) {
    let key = SessionKey::new(secret());
    let record = key.record(repository, domain, &[(owner, random())]);
    let cipher = SessionCipher::new(&key, repository, record.id(repository));
    (record, cipher)
}
