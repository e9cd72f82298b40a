//! Opening: opens a repository for commands that a write-only machine may run too.

use std::path::PathBuf;

use copal_client::backend::Backend;
use copal_client::credentials::Credentials;
use copal_client::repository::{Access, Enrolled, LocalClient, Repository};
use copal_format::id::RepositoryId;
use copal_store::Store;

use super::context::{CLIENTS, Context};
use crate::report::Failure;
use crate::secrets::Credential;

pub(super) enum Opening {
    Secret(Credential),
    WriteOnly(Box<Credentials>),
}

pub(super) enum Opened {
    Owner(Box<Repository>),
    WriteOnly(Box<Enrolled>),
}

impl Opening {
    /// Uses the write-only credentials of an enrolled machine, even if a secret is given; otherwise takes a secret.
    pub(super) fn find(context: &Context<'_>, backend: &Backend) -> Result<Self, Failure> {
        Ok(match context.enrolled(backend)? {
            Some(credentials) => Self::WriteOnly(Box::new(credentials)),
            None => Self::Secret(context.credential()?),
        })
    }

    pub(super) fn open(self, context: &Context<'_>, backend: &Backend) -> Result<Opened, Failure> {
        Ok(match self {
            Self::Secret(credential) => Opened::Owner(Box::new(context.open_with(backend, &credential)?)),
            Self::WriteOnly(credentials) => Opened::WriteOnly(Box::new(context.open_enrolled(backend, *credentials)?)),
        })
    }
}

impl Opened {
    pub(super) fn id(&self) -> RepositoryId {
        match self {
            Self::Owner(repository) => repository.id(),
            Self::WriteOnly(enrolled) => enrolled.credentials.repository,
        }
    }

    /// The store, this machine's state directory, and the prefix of the client records that it may list.
    pub(super) fn met(&self, context: &Context<'_>) -> Result<(&dyn Store, PathBuf, String), Failure> {
        Ok(match self {
            Self::Owner(repository) => {
                (repository.store().as_ref(), repository.state_dir().to_owned(), CLIENTS.to_owned())
            }
            Self::WriteOnly(enrolled) => {
                let credentials = &enrolled.credentials;
                let state_dir = context.places()?.state_of(credentials.repository);
                (Access::WriteOnly(enrolled).store().as_ref(), state_dir, format!("{CLIENTS}{}/", credentials.client))
            }
        })
    }

    /// The repository and its client, for a backup. Fails if the state is older than one this machine has met. A dry
    /// run registers no client.
    pub(super) fn used_by(
        &self,
        context: &Context<'_>,
        is_dry_run: bool,
    ) -> Result<(Access<'_>, LocalClient), Failure> {
        Ok(match self {
            Self::Owner(repository) => (Access::Owner(repository), context.client_or_passing(repository, is_dry_run)?),
            Self::WriteOnly(enrolled) => {
                let (store, state_dir, own) = self.met(context)?;
                context.refuse_older(store, &state_dir, &own)?;
                (Access::WriteOnly(enrolled), enrolled.client()?)
            }
        })
    }
}
