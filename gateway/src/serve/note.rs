//! Note: the results of jobs and of certificate reloads, for the log.

use copal_format::id::ClientId;

/// An event of a job, to be logged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "a job's name, a client and a reason are named so")]
pub enum JobNote {
    /// The job failed.
    Failed { job: &'static str, why: String },
    /// An earlier process was killed during this job, so the job waits until it is due.
    Killed { job: &'static str },
    /// Ingest of a client panicked or was killed: ingest skips the client for a while.
    Aside { client: ClientId },
    /// The job runs without the policy, which cannot be read.
    NoPolicy { job: &'static str, why: String },
    /// A manifest was rejected.
    Rejected {
        client: ClientId,
        /// The manifest's number.
        number: u64,
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
        /// How many objects are lost or wrong.
        findings: u64,
    },
}
