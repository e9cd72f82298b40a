//! Terms: the types with which a session and its host talk.

use super::given::GivenPack;
use copal_format::block::SealJob;
use copal_format::id::{ChunkId, DomainId};
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::secret::Secret;
use copal_format::keys::session::SessionRecord;
use copal_format::pack::PackLimit;
use copal_format::repository::Parameters;
use copal_format::tree::{BadParams, BuildError};

/// What a session needs to begin. The host provides all randomness.
pub struct SessionStart {
    /// The repository's parameters.
    pub parameters: Parameters,
    /// The domain that the session writes to.
    pub domain: DomainId,
    /// The domain's keys.
    pub keys: DomainKeys,
    /// The session's record, which every pack carries.
    pub record: SessionRecord,
    /// 32 random bytes, from which the session derives the random bytes of packs.
    pub seed: Secret,
}

/// What the host has to do next.
#[derive(Debug)]
pub enum Action {
    /// Run the job on any thread and give its result to [`Session::sealed`](super::session::Session::sealed).
    Seal(SealJob),
    /// Tell the pack's name to [`Session::named`](super::session::Session::named), and store it durably before a manifest
    /// names it.
    Store(GivenPack),
}

/// Why a session cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// 2^24 blocks were sealed under one key.
    #[error("the session has sealed as many blocks as one key may")]
    Exhausted,
    /// An entry is out of order, or a tree cannot hold it.
    #[error("the tree cannot hold the entry")]
    Tree(#[from] BuildError),
    /// No tree can be built with the repository's parameters.
    #[error("the repository's parameters make no tree")]
    Parameters(#[from] BadParams),
    /// A block does not fit even an empty pack.
    #[error("a pack cannot hold the block")]
    Pack(#[from] PackLimit),
}

/// A finished tree.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct FinishedTree {
    /// Its root page.
    pub root: ChunkId,
    /// Entries in it.
    pub entries: u64,
    /// Bytes of all files in it.
    pub bytes: u64,
}

/// Totals of a session so far.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Plaintext bytes of chunks that were new.
    pub bytes_new: u64,
    /// Bytes of packs given out.
    pub bytes_stored: u64,
    /// Chunks that were new.
    pub chunks_new: u64,
    /// Pages that were new.
    pub pages_new: u64,
}
