//! Snapshot: what a client has signed about one of its snapshots.

use copal_format::block::{BlockError, OpenBlock, OpenTools};
use copal_format::client::ClientRecord;
use copal_format::id::{DomainId, ObjectHash, SnapshotId};
use copal_format::keys::owner::OwnerSecret;
use copal_format::manifest::{Manifest, SnapshotClaim};
use copal_format::seal::BlockKind;
use copal_format::snapshot::SnapshotInfo;
use copal_format::wire::DecodeError;
use copal_format::wire::record::RecordError;

use super::session::{Session, SessionFault};

/// A snapshot, or a checkpoint, of a manifest whose signature was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedSnapshot {
    /// The hash of the manifest.
    pub hash: ObjectHash,
    /// The domain of its pages: the client's.
    pub domain: DomainId,
    /// The client's claim.
    pub claim: SnapshotClaim,
}

/// Why a manifest shows no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotFault {
    /// The client's record has no keys.
    #[error("its client has not joined")]
    NotJoined,
    /// The manifest is malformed, or the client has not signed it under this number.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The client has signed for a domain that is not its own.
    #[error("it is of a domain that is not its client's")]
    OtherDomain,
    /// It claims packs only.
    #[error("it claims no snapshot")]
    NoSnapshot,
}

/// Why a snapshot's description cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum InfoFault {
    /// The session that sealed the description cannot be opened.
    #[error(transparent)]
    Session(#[from] SessionFault),
    /// Its block cannot be opened.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// Its block holds nothing.
    #[error("its description is empty")]
    Empty,
    /// It is malformed.
    #[error(transparent)]
    Info(#[from] DecodeError),
}

impl SignedSnapshot {
    /// Verifies the manifest with this number of a client. The state decides whether the snapshot counts.
    pub fn verify(
        owner: &OwnerSecret,
        client: &ClientRecord,
        number: u64,
        manifest: &[u8],
    ) -> Result<Self, SnapshotFault> {
        let key = client.keys.ok_or(SnapshotFault::NotJoined)?.manifest;
        let verified = Manifest::verify(owner.repository(), &key, client.client, number, manifest)?;
        let domain = verified.manifest.domain;
        if domain != client.domain {
            return Err(SnapshotFault::OtherDomain);
        }
        let claim = verified.manifest.snapshot.ok_or(SnapshotFault::NoSnapshot)?;
        Ok(Self { hash: verified.hash, domain, claim })
    }

    /// Its id.
    pub fn id(&self) -> SnapshotId {
        self.hash.snapshot()
    }

    /// Opens its description.
    pub fn info(&self, owner: &OwnerSecret) -> Result<SnapshotInfo, InfoFault> {
        open_info(owner, self.domain, &self.claim)
    }
}

/// Opens the description of a claimed snapshot of a domain.
pub fn open_info(owner: &OwnerSecret, domain: DomainId, claim: &SnapshotClaim) -> Result<SnapshotInfo, InfoFault> {
    let session = Session::open(owner, domain, &claim.session_record)?;
    let block = OpenBlock::open(&session.cipher, BlockKind::Info, claim.counter, &claim.info, &mut OpenTools::new())?;
    Ok(SnapshotInfo::decode(block.chunk(0).ok_or(InfoFault::Empty)?)?)
}
