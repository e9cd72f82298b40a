//! Snapshots as the state records them.

use serde::Serialize;

use super::record::ANY_NUMBER;
use crate::extent::Extent;
use crate::id::{ChunkId, DomainId, SnapshotId, SourceId, TagId};
use crate::time::Time;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};

/// Whether a snapshot is kept.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotState {
    /// Its pages are needed.
    Kept = 0,
    /// Its pages are not needed. It can be undeleted until prune removes them.
    Forgotten = 1,
    /// Prune removed its pages.
    Gone = 2,
}

/// A snapshot or checkpoint that was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SnapshotRecord {
    /// Its id.
    pub id: SnapshotId,
    /// The domain of its pages.
    pub domain: DomainId,
    /// Its root page.
    pub root: ChunkId,
    /// Whether it is a checkpoint.
    pub partial: bool,
    /// The client's time when it was made.
    pub client_time: Time,
    /// The store's time when it was accepted.
    pub accepted: Time,
    /// The source that was backed up.
    pub source: SourceId,
    /// Its current tags.
    pub tags: Vec<TagId>,
    /// Whether it is kept.
    pub state: SnapshotState,
    /// Whether it is pinned: it must not be forgotten.
    pub pinned: bool,
    /// The store's time when `state` was set.
    pub state_time: Time,
    /// Whether a full client signed it, so that `client_time` may be believed.
    pub by_full_client: bool,
    /// Its approximate size, if its client stated it; `stored` is at least the packs of its own manifest.
    pub extent: Option<Extent>,
    /// Whether the owner released it: it no longer raises a hold.
    pub released: bool,
}

impl SnapshotRecord {
    /// A kept snapshot of a full client, without tags: for tests. Code that decides about trust names every field.
    pub fn new(id: SnapshotId, domain: DomainId, root: ChunkId, source: SourceId, time: Time) -> Self {
        Self {
            id,
            domain,
            root,
            partial: false,
            client_time: time,
            accepted: time,
            source,
            tags: Vec::new(),
            state: SnapshotState::Kept,
            pinned: false,
            state_time: time,
            by_full_client: true,
            extent: None,
            released: false,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.map(12 + u64::from(self.extent.is_some()) + u64::from(self.released));
        writer.key(0).bytes(self.id.as_bytes()).key(1).bytes(self.domain.as_bytes());
        writer.key(2).bytes(self.root.as_bytes()).key(3).bool(self.partial).key(4).time(self.client_time);
        writer.key(5).time(self.accepted).key(6).bytes(self.source.as_bytes());
        writer
            .key(7)
            .byte_strings(&self.tags)
            .key(8)
            .uint(self.state as u64)
            .key(9)
            .bool(self.pinned)
            .key(10)
            .time(self.state_time);
        writer.key(11).bool(self.by_full_client);
        if let Some(extent) = &self.extent {
            extent.write(writer.key(12));
        }
        if self.released {
            writer.key(13).bool(true);
        }
        writer.finish()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let state = |code| match code {
            0 => Some(SnapshotState::Kept),
            1 => Some(SnapshotState::Forgotten),
            2 => Some(SnapshotState::Gone),
            _ => None,
        };
        let released = |reader: &mut Reader<'_>| {
            reader.checked("what is not released does not say so", Reader::bool, |is_released| *is_released)
        };
        Reader::record(bytes, |fields| {
            Ok(Self {
                id: fields.required(0)?.id()?,
                domain: fields.required(1)?.id()?,
                root: fields.required(2)?.id()?,
                partial: fields.required(3)?.bool()?,
                client_time: fields.required(4)?.time()?,
                accepted: fields.required(5)?.time()?,
                source: fields.required(6)?.id()?,
                tags: fields.required(7)?.ids(ANY_NUMBER)?,
                state: fields.required(8)?.code("an unknown state of a snapshot", state)?,
                pinned: fields.required(9)?.bool()?,
                state_time: fields.required(10)?.time()?,
                by_full_client: fields.required(11)?.bool()?,
                extent: fields.optional(12)?.map(Extent::read).transpose()?,
                released: fields.optional(13)?.map(released).transpose()?.unwrap_or_default(),
            })
        })
    }
}
