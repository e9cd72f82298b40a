//! Access: a repository as a backing-up client has it, with or without the owner secret. Everything but backups takes a
//! [`Repository`], which only the owner secret opens.

use std::sync::Arc;

use copal_format::id::{DomainId, RepositoryId};
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::owner::KemPublic;
use copal_format::keys::session::{SessionKey, SessionRecord};
use copal_format::repository::Descriptor;
use copal_format::seal::SessionCipher;
use copal_jobs::context::JobContext;
use copal_store::Store;

use super::{Enrolled, Repository};
use crate::backend::Backend;
use crate::entropy::{random, secret};

/// A repository as a backing-up client has it.
#[derive(Copy, Clone)]
pub enum Access<'a> {
    /// A full client, which knows the owner secret.
    Owner(&'a Repository),
    /// A write-only client: it has the key of one domain, and no key that decrypts.
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
    pub fn backend(self) -> &'a Backend {
        match self {
            Self::Owner(repository) => repository.backend(),
            Self::WriteOnly(enrolled) => &enrolled.backend,
        }
    }

    /// The repository's id.
    pub fn id(self) -> RepositoryId {
        match self {
            Self::Owner(repository) => repository.id(),
            Self::WriteOnly(enrolled) => enrolled.credentials.repository,
        }
    }

    /// The descriptor; none if it is lost or damaged.
    pub fn descriptor(self) -> Option<&'a Descriptor> {
        match self {
            Self::Owner(repository) => repository.descriptor.as_ref(),
            Self::WriteOnly(enrolled) => Some(&enrolled.descriptor),
        }
    }

    /// The context that jobs of the service run in.
    pub fn job(self) -> JobContext<'a> {
        match self {
            Self::Owner(repository) => repository.job(),
            Self::WriteOnly(enrolled) => enrolled.job(),
        }
    }

    /// Whether this process ingests its own manifests: clients ingest here, and this one is a full client.
    pub fn decides(self) -> bool {
        matches!(self, Self::Owner(repository) if repository.ingests())
    }

    /// The keys of a domain. A write-only client has only those of its own domain, and panics for others.
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

/// A new session, whose key is wrapped for this owner key.
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
