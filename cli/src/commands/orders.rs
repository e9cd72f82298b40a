//! Orders: keyless jobs that the other machine of an `ssh://` repository runs.

use copal_client::location::Location;
use copal_client::remote::OrderError;
use copal_client::site::Site;
use copal_client::wait::wait;
use copal_gateway::orders::JobOrder;
use serde::de::DeserializeOwned;

use super::context::Context;
use crate::report::Failure;

impl Context<'_> {
    /// The other machine of an `ssh://` repository, which runs jobs without a key; none for other repositories. Sends
    /// no request yet.
    pub(super) fn taking_orders(&self) -> Result<Option<Site>, Failure> {
        if !matches!(self.location()?, Location::Ssh(_)) {
            return Ok(None);
        }
        let site = Site::open(&self.location()?, &self.means())?;
        self.introduce(&site)?;
        if self.enrolled(&site)?.is_some() {
            return Err(Failure::WriteOnly);
        }
        Ok(Some(site))
    }

    /// Lets the other machine of a site run a job; returns its report.
    pub(super) fn order<T: DeserializeOwned>(&self, site: &Site, order: &JobOrder) -> Result<T, Failure> {
        let there = site.taking_orders().ok_or(Failure::NoJobThere("run this job"))?;
        wait(there.order(order)).map_err(|error| match error {
            OrderError::NoRepository => self.no_repository(site.location().to_string()),
            error => Failure::from(error),
        })
    }
}
