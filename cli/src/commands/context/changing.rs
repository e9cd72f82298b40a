//! Changing: writes changes about snapshots, and says so if a service takes long to fold them in.

use copal_client::changes::{self, Written};
use copal_client::repository::Repository;
use copal_format::change::Operation;

use super::Context;
use crate::report::Failure;

impl Context<'_> {
    /// Writes operations as changes, and waits until they are folded in. None if there is nothing to write.
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
        changes::write_telling(repository, &client, operations, &slow).map_err(Failure::from)
    }
}
