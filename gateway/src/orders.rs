//! Orders: keyless jobs that a client orders from a gateway, and what an ordered ingest answers.

use copal_format::id::ClientId;
use copal_jobs::check::Depth;
use serde::{Deserialize, Serialize};

/// A job, with its options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "lowercase", deny_unknown_fields)]
pub enum JobOrder {
    /// Answered with an [`Ingested`].
    Ingest {},
    /// Answered with a [`copal_jobs::prune::Report`].
    Prune {
        /// The grace period in seconds. None means the policy's.
        grace: Option<u64>,
        /// Repack at most this many bytes.
        repack_most: Option<u64>,
        /// Whether to change nothing.
        dry_run: bool,
    },
    /// Answered with a [`copal_jobs::check::Report`].
    Check {
        /// Read one of this many shares of the packs. None reads no packs.
        parts: Option<u32>,
    },
}

/// One run of a job of the schedule, exactly as the schedule begins it: it has no options.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "lowercase", deny_unknown_fields)]
pub enum RunOrder {
    /// Frees what nothing needs, after the policy's grace period.
    Prune {},
    /// Reads the share of the packs whose turn it is.
    Check {},
}

/// What an ordered ingest decided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ingested {
    /// Manifests accepted.
    pub accepted: u64,
    /// Manifests rejected.
    pub rejected: Vec<Rejection>,
    /// Manifests that wait for an earlier one of their client.
    pub waiting: u64,
    /// The number of the newest root.
    pub root: u64,
}

/// A rejected manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// The client of the manifest.
    #[serde(with = "client")]
    pub client: ClientId,
    /// The manifest's number.
    pub number: u64,
    /// The reasons.
    pub why: String,
}

impl JobOrder {
    /// The depth of an ordered check.
    pub fn depth(parts: Option<u32>) -> Depth {
        parts.map_or(Depth::Structure, |parts| Depth::Data { part: 1, parts })
    }
}

mod client {
    use copal_format::id::ClientId;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(client: &ClientId, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(client)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ClientId, D::Error> {
        ClientId::from_hex(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}
