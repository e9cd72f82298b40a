//! Orders: keyless jobs that the other machine of an `ssh://` repository runs.

use copal_client::backend::Backend;
use copal_client::location::Location;
use copal_client::remote::{GatewayStore, OrderError};
use copal_client::wait::wait;
use copal_gateway::orders::JobOrder;
use serde::de::DeserializeOwned;

use super::context::Context;
use crate::report::Failure;

impl Context<'_> {
    /// The other machine of an `ssh://` repository, which runs jobs without a key; none for other repositories. Sends
    /// no request yet.
    pub(super) fn taking_orders(&self) -> Result<Option<Backend>, Failure> {
        if !matches!(self.location()?, Location::Ssh(_)) {
            return Ok(None);
        }
        let backend = Backend::open(&self.location()?, &self.backend_options())?;
        self.introduce(&backend)?;
        if self.enrolled(&backend)?.is_some() {
            return Err(Failure::WriteOnly);
        }
        Ok(Some(backend))
    }

    /// Lets the other machine of an `ssh://` repository run a job; returns its report.
    pub(super) fn order<T: DeserializeOwned>(&self, backend: &Backend, order: &JobOrder) -> Result<T, Failure> {
        let there =
            backend.gateway().and_then(GatewayStore::taking_orders).ok_or(Failure::NoJobThere("run this job"))?;
        wait(there.order(order)).map_err(|error| match error {
            OrderError::NoRepository => self.no_repository(backend.location().to_string()),
            error => Failure::from(error),
        })
    }
}
