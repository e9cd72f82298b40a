//! Services: the context of an invocation.

use copal_format::repository::Descriptor;
use copal_format::room::Scratch;
use copal_gateway::router::read_facts;
use copal_jobs::context::{Entropy, JobContext};
use copal_jobs::metrics::Metrics;
use copal_store::Store;

use crate::deadline::Deadline;
use crate::environment::Environment;
use crate::event::Watched;
use crate::failure::Failure;

/// What all invocations of a function share.
pub struct Services<'a> {
    /// The function's configuration.
    pub environment: &'a Environment,
    /// The bucket's objects below the prefix.
    pub store: &'a dyn Store,
    /// Random bytes.
    pub entropy: &'a dyn Entropy,
    /// Scratch storage for data whose size grows with a domain.
    pub scratch: &'a dyn Scratch,
}

/// One invocation: the repository as its descriptor describes it now, and the results so far.
pub struct Run<'a> {
    /// The function's configuration.
    pub environment: &'a Environment,
    /// The context of jobs.
    pub job: JobContext<'a>,
    /// The repository's descriptor.
    pub descriptor: Descriptor,
    /// When the run must end.
    pub deadline: Deadline,
    /// The metrics for CloudWatch.
    pub metrics: &'a mut Metrics,
}

impl Services<'_> {
    /// Begins a run. Fails unless the repository is the configured owner's.
    pub async fn begin<'a>(&'a self, deadline: Deadline, metrics: &'a mut Metrics) -> Result<Run<'a>, Failure> {
        let facts =
            deadline.run(read_facts(self.store, Some(self.environment.owner))).await?.map_err(Failure::Owner)?;
        let descriptor = facts.ok_or(Failure::NoRepository)?.descriptor;
        let job = JobContext {
            store: self.store,
            entropy: self.entropy,
            scratch: self.scratch,
            repository: descriptor.repository,
            owner_key: descriptor.owner_key,
        };
        Ok(Run { environment: self.environment, job, descriptor, deadline, metrics })
    }

    /// The bucket and folder whose events count.
    pub fn watched(&self) -> Watched<'_> {
        Watched { bucket: &self.environment.bucket, prefix: &self.environment.prefix }
    }
}

/// The operating system's random numbers.
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the operating system gives random bytes");
    }
}
