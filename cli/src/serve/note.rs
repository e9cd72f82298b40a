//! Note: what became of a job or of a certificate, for whoever reads the log.

use copal_engine::id::ClientId;

/// What became of a job, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobNote {
    /// It could not do its work.
    Failed {
        /// Which.
        job: &'static str,
        /// Why.
        why: String,
    },
    /// An earlier process was killed while it did its work: it waits for its next time.
    Killed {
        /// Which.
        job: &'static str,
    },
    /// Ingest of a client panicked, or was killed: the client is left alone for a while.
    Aside {
        /// Whose.
        client: ClientId,
    },
    /// It does its work without the policy, which cannot be read.
    NoPolicy {
        /// Which.
        job: &'static str,
        /// Why.
        why: String,
    },
    /// A manifest was rejected.
    Rejected {
        /// Whose.
        client: ClientId,
        /// Its number.
        number: u64,
        /// Why.
        why: String,
    },
    /// The certificate's files have changed.
    Certificate {
        /// Why they cannot be used; the certificate before stays.
        why: Option<String>,
    },
    /// The bucket's server heeds headers that were not signed, so that nothing is presigned.
    Unbound,
    /// A check found damage.
    Damage {
        /// So many things are wrong.
        findings: u64,
    },
}
