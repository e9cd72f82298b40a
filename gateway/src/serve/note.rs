//! Note: the results of jobs and of certificate reloads, for the log.

use copal_format::id::ClientId;

/// An event of a job, to be logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobNote {
    /// The job failed.
    Failed {
        /// The job.
        job: &'static str,
        /// Why.
        why: String,
    },
    /// An earlier process was killed during this job, so the job waits until it is due.
    Killed {
        /// The job.
        job: &'static str,
    },
    /// Ingest of a client panicked or was killed: ingest skips the client for a while.
    Aside {
        /// The client.
        client: ClientId,
    },
    /// The job runs without the policy, which cannot be read.
    NoPolicy {
        /// The job.
        job: &'static str,
        /// Why.
        why: String,
    },
    /// A manifest was rejected.
    Rejected {
        /// The client.
        client: ClientId,
        /// Its number.
        number: u64,
        /// Why.
        why: String,
    },
    /// The certificate's files have changed.
    Certificate {
        /// Why the files cannot be used; then the old certificate stays in use.
        why: Option<String>,
    },
    /// The bucket's server accepts headers that were not signed, so nothing is presigned.
    Unbound,
    /// A check found damage.
    Damage {
        /// The number of findings.
        findings: u64,
    },
}
