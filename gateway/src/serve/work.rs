//! Work: how a job runs, whether on a schedule, for an arrival, or because a client orders it.

use std::sync::Arc;
use std::time::Instant;

use copal_format::id::OwnerFingerprint;
use copal_format::repository::Descriptor;
use copal_jobs::context::{Entropy, JobContext};
use copal_jobs::error::JobError;
use copal_jobs::metrics::{self, STOPS};
use copal_jobs::scratch::{Files, with_copies};
use copal_store::Store;
use futures::executor::block_on as wait;

use super::metrics::Metrics;
use super::note::JobNote;
use super::watch::{Stopped, Watch};
use crate::router::read_facts;

/// The store that jobs work on, and what watches, counts and reports them.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) store: Arc<dyn Store>,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) owner: Option<OwnerFingerprint>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) watch: Watch,
    pub(super) note: Arc<dyn Fn(&JobNote) + Send + Sync>,
}

/// How a job reads indexes.
pub(super) enum Indexes {
    /// Piece by piece, or one part after the other.
    Pieces,
    /// A whole domain at a time. For a remote store the index is copied to temporary files.
    Whole,
}

impl Work {
    /// The work that a job was at when an earlier process was killed.
    pub(super) fn killed(&self, job: &'static str) -> Option<String> {
        let what = self.watch.killed(job)?;
        self.metrics.take(job, metrics::Metrics::default().count(STOPS, 1));
        (self.note)(&JobNote::Killed { job });
        Some(what)
    }

    /// Reports the failure of a job.
    pub(super) fn noted(&self, job: &'static str, done: Result<(), Stopped>) -> Result<(), Stopped> {
        done.inspect_err(|stopped| (self.note)(&JobNote::Failed { job, why: stopped.to_string() }))
    }

    /// Runs a job with the repository's current descriptor. `what` names the work, for [`Watch`]. Does nothing without
    /// a repository.
    pub(super) fn run(
        &self,
        job: &'static str,
        what: &str,
        indexes: Indexes,
        act: impl FnOnce(&JobContext<'_>, &Descriptor, &mut metrics::Metrics) -> Result<(), JobError>,
    ) -> Result<(), Stopped> {
        let store = match indexes {
            Indexes::Whole if self.store.is_remote() => with_copies(&self.store),
            Indexes::Whole | Indexes::Pieces => self.store.clone(),
        };
        let started = Instant::now();
        let mut metrics = metrics::Metrics::default();
        let done = self.watch.run(job, what, || {
            let Some(facts) = wait(read_facts(store.as_ref(), self.owner))? else { return Ok(()) };
            let descriptor = &facts.descriptor;
            let job = JobContext {
                store: store.as_ref(),
                entropy: self.entropy.as_ref(),
                scratch: &Files::default(),
                repository: descriptor.repository,
                owner_key: descriptor.owner_key,
            };
            act(&job, descriptor, &mut metrics)
        });
        metrics.ended(done.is_err(), started.elapsed());
        metrics.count(STOPS, matches!(done, Err(Stopped::Panicked(_))).into());
        self.metrics.take(job, &metrics);
        done
    }
}
