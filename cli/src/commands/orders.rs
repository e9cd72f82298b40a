//! Orders: keyless jobs that the other machine of an `ssh://` repository runs.

use copal_service::gateway::JobOrder;
use serde::de::DeserializeOwned;

use super::context::Context;
use super::failure::{of_order, of_site};
use crate::location::Location;
use crate::remote::OrderError;
use crate::report::Failure;
use crate::site::Site;
use crate::wait::wait;

impl Context<'_> {
    /// The other machine of an `ssh://` repository, which runs jobs without a key; none for other repositories. Sends
    /// no request yet.
    pub(super) fn taking_orders(&self) -> Result<Option<Site>, Failure> {
        if !matches!(self.location()?, Location::Ssh(_)) {
            return Ok(None);
        }
        let site = Site::open(&self.location()?, &self.means()).map_err(of_site)?;
        self.introduce(&site)?;
        if self.enrolled(&site)?.is_some() {
            return Err(Failure::WriteOnly);
        }
        Ok(Some(site))
    }

    /// Lets the other machine of a site run a job; returns its report.
    pub(super) fn order<T: DeserializeOwned>(&self, site: &Site, order: &JobOrder) -> Result<T, Failure> {
        let there = site.taking_orders().ok_or(Failure::NoJobThere("runs this job"))?;
        wait(there.order(order)).map_err(|error| match error {
            OrderError::NoRepository => self.no_repository(site.location().to_string()),
            error => of_order(error),
        })
    }
}
