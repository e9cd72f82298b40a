//! Changing: what commands that write have in common: whether they may, the client that signs, changes about snapshots,
//! and what is noted and told afterwards.

use std::io;

use copal_client::changes::{self, Written};
use copal_client::entropy::{random, secret};
use copal_client::repository::{LocalClient, Repository};
use copal_format::change::Operation;
use copal_format::id::ClientId;
use copal_format::keys::client::ClientKeys;

use super::{CLIENTS, Context};
use crate::report::{Answer, Failure};

impl Context<'_> {
    /// Fails if the repository is another one than this machine has met in its place, or if its state is older than one
    /// this machine has met. Called before the first write.
    pub(in crate::commands) fn may_write(&self, repository: &Repository) -> Result<(), Failure> {
        self.is_met(repository.backend(), repository.id())?;
        self.refuse_older(repository.store().as_ref(), repository.state_dir(), CLIENTS)
    }

    /// Like [`Self::client`], but a dry run registers no client: a machine without one gets a client that only this
    /// process knows.
    pub(in crate::commands) fn client_or_passing(
        &self,
        repository: &Repository,
        is_dry_run: bool,
    ) -> Result<LocalClient, Failure> {
        if is_dry_run && LocalClient::id_in(repository.state_dir()).is_none() {
            self.may_write(repository)?;
            return unregistered(repository);
        }
        self.client(repository)
    }

    /// Remembers the state that this machine has just written. The write is done: a failure only costs the next command
    /// its comparison with this state.
    pub(in crate::commands) fn note_met(&self, repository: &Repository) {
        let noted = self.remember(repository.store().as_ref(), repository.state_dir(), CLIENTS);
        if let Err(error) = noted {
            self.report.warn(&format!("this machine could not note the state it has met: {error}"));
        }
    }

    /// Writes a result with a secret that is shown only once. If that fails, shows the secret on standard error. Fails
    /// also where the reader of standard output has gone, because nobody may have seen the secret.
    pub(in crate::commands) fn answer_once(
        &self,
        answer: &impl Answer,
        what: &str,
        secret: &str,
    ) -> Result<(), Failure> {
        self.report.answer(answer).map_err(|failure| {
            self.report.warn(&format!("{what}, shown this once:"));
            self.report.warn(secret);
            match failure {
                Failure::OutputClosed => Failure::io("write", "standard output", io::ErrorKind::BrokenPipe.into()),
                failure => failure,
            }
        })
    }

    /// Writes operations as changes, waits until they are folded in, and remembers that state. None if there is nothing
    /// to write.
    pub(in crate::commands) fn change(
        &self,
        repository: &Repository,
        operations: Vec<Operation>,
    ) -> Result<Option<Written>, Failure> {
        if operations.is_empty() {
            return Ok(None);
        }
        let client = self.client(repository)?;
        let slow = || {
            self.report.note(
                "the change is written; waiting for the service to fold it in, at most 15 minutes. It is carried out also \
                 if you stop waiting (Ctrl-C)",
            );
        };
        let written = changes::write_telling(repository, &client, operations, &slow)?;
        self.note_met(repository);
        Ok(written)
    }
}

/// A client that only this process knows, as a machine without keys would register it.
fn unregistered(repository: &Repository) -> Result<LocalClient, Failure> {
    let descriptor = repository.descriptor.as_ref().ok_or_else(Failure::no_descriptor)?;
    let keys = ClientKeys::new(secret(), secret());
    Ok(LocalClient { id: ClientId(random()), keys, domain: descriptor.shared_domain })
}
