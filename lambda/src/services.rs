//! Services: what an invocation works with.

use copal_engine::repository::Descriptor;
use copal_engine::room::Scratch;
use copal_service::gateway::read_facts;
use copal_service::host::{Entropy, Host};
use copal_service::metrics::Metrics;
use copal_store::Store;

use crate::deadline::Deadline;
use crate::environment::Environment;
use crate::event::Place;
use crate::failure::Failure;

/// What every invocation of a function works with.
pub struct Services<'a> {
    /// How the function is configured.
    pub environment: &'a Environment,
    /// The bucket's objects below the prefix.
    pub store: &'a dyn Store,
    /// Random bytes.
    pub entropy: &'a dyn Entropy,
    /// Room for what grows with a domain.
    pub scratch: &'a dyn Scratch,
}

/// One invocation: the repository, as its descriptor describes it now, and what becomes of the run.
pub struct Run<'a> {
    /// How the function is configured.
    pub environment: &'a Environment,
    /// What jobs work with.
    pub host: Host<'a>,
    /// The repository's descriptor.
    pub descriptor: Descriptor,
    /// When the run must end.
    pub deadline: Deadline,
    /// What CloudWatch is told.
    pub metrics: &'a mut Metrics,
}

impl Services<'_> {
    /// Begins a run: makes sure that the repository is the owner's.
    pub async fn begin<'a>(&'a self, deadline: Deadline, metrics: &'a mut Metrics) -> Result<Run<'a>, Failure> {
        let facts =
            deadline.run(read_facts(self.store, Some(self.environment.owner))).await?.map_err(Failure::Owner)?;
        let descriptor = facts.ok_or(Failure::NoRepository)?.descriptor;
        let host = Host {
            store: self.store,
            entropy: self.entropy,
            scratch: self.scratch,
            repository: descriptor.repository,
            owner_key: descriptor.owner_key,
        };
        Ok(Run { environment: self.environment, host, descriptor, deadline, metrics })
    }

    /// The place whose events are listened to.
    pub fn place(&self) -> Place<'_> {
        Place { bucket: &self.environment.bucket, prefix: &self.environment.prefix }
    }
}

/// The operating system's random numbers.
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the operating system gives random bytes");
    }
}
