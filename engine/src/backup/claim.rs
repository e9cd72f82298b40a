//! Claim: the snapshot that a manifest claims, made from a finished tree and its description.

use super::session::{Session, SessionError};
use copal_format::block::{BlockBuilder, SealFault, SealTools};
use copal_format::compress::Compress;
use copal_format::extent::Extent;
use copal_format::id::ChunkId;
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::session::SessionRecord;
use copal_format::manifest::SnapshotClaim;
use copal_format::order;
use copal_format::seal::{BlockKind, SessionCipher};
use copal_format::snapshot::{OversizeInfo, SnapshotInfo};
use copal_format::time::Time;

/// What a run says of its snapshot.
#[derive(Clone, Debug)]
pub struct Described<'a> {
    /// The description, which is sealed.
    pub info: &'a SnapshotInfo,
    /// The tree's root page.
    pub root: ChunkId,
    /// Whether the tree is a checkpoint of a run that goes on.
    pub is_partial: bool,
    /// When it was made, by the client's clock.
    pub time: Time,
    /// Bytes of packs that were stored for it.
    pub stored: u64,
}

/// Why a snapshot cannot be claimed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// The description is larger than readers accept.
    #[error(transparent)]
    Info(#[from] OversizeInfo),
    /// The session has no number left for the description's block.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The block was not what was sealed.
    #[error(transparent)]
    Seal(#[from] SealFault),
}

impl Session {
    /// The claim of a snapshot, with its description sealed as one more block of this session.
    pub fn claim<C: Compress>(
        &mut self,
        of: &Described<'_>,
        keys: &DomainKeys,
        (record, cipher): (&SessionRecord, &SessionCipher),
        tools: &mut SealTools<C>,
    ) -> Result<SnapshotClaim, ClaimError> {
        of.info.check()?;
        let bytes = of.info.encode();
        let counter = self.take_counter()?;
        let number = counter.get();
        let mut block = BlockBuilder::new(BlockKind::Info, bytes.len().max(1));
        block.push(keys.chunk_id(&bytes), &bytes, None);
        let job = block.take(counter).expect("it holds the description");
        let sealed = job.run(tools, cipher)?;
        let mut tags: Vec<_> = of.info.tags.iter().map(|tag| keys.tag_id(tag)).collect();
        order::sort(&mut tags);
        tags.dedup();
        let counts = of.info.counts;
        let entries = counts.files + counts.directories + counts.others;
        Ok(SnapshotClaim {
            root: of.root,
            partial: of.is_partial,
            client_time: of.time,
            source: keys.source_id(&of.info.host, &of.info.paths, &of.info.label),
            tags,
            session_record: record.bytes().to_vec(),
            counter: number,
            info: sealed.bytes,
            extent: Some(Extent::about(entries, counts.bytes, of.stored)),
        })
    }
}
