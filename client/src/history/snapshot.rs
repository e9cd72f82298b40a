//! Snapshot: one whose signature verifies, with its description and what the state knows of it.

use copal_engine::retention::{Age, Series, age};
use copal_format::client::Role;
use copal_format::id::{ChunkId, ClientId, DomainId, RepositoryId, SnapshotId};
use copal_format::path::TreePath;
use copal_format::snapshot::{Origin, SnapshotInfo};
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;
use copal_reader::Signer;

use crate::listed::Description;

/// A snapshot that verifies.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Its id.
    pub id: SnapshotId,
    /// The client that signed it, and the number of its manifest.
    pub key: (ClientId, u64),
    /// The client that signed it.
    pub signer: Signer,
    /// The domain its pages lie in.
    pub domain: DomainId,
    /// Its root page.
    pub root: ChunkId,
    /// When it was made, by the client's clock.
    pub time: Time,
    /// Its sealed description.
    pub info: SnapshotInfo,
    /// Its current tags.
    pub tags: Vec<String>,
    /// Its record in the state.
    pub record: SnapshotRecord,
}

impl Snapshot {
    /// The paths that were backed up, as paths of the tree.
    pub fn sources(&self) -> Vec<TreePath> {
        self.info.paths.iter().filter_map(|path| TreePath::new(path.clone()).ok()).collect()
    }

    /// The machine that it counts for: the host it claims, or the client's name for a write-only client.
    pub fn machine(&self) -> &str {
        self.signer.role.machine(&self.info.host, &self.signer.name)
    }

    /// The snapshot that it was copied or rewritten from. Only a full client is believed: a false origin would keep
    /// that snapshot from being copied.
    pub fn origin(&self) -> Option<Origin> {
        self.info.origin.filter(|_| self.signer.role == Role::Full)
    }

    pub(super) fn description(&self) -> Description {
        let Self { id, domain, root, time, ref info, .. } = *self;
        Description { id, domain, root, time, info: info.clone() }
    }

    /// This snapshot, as its copies name it.
    pub fn as_origin(&self, repository: RepositoryId) -> Origin {
        Origin { repository, snapshot: self.id, client: self.signer.id }
    }

    /// The series it belongs to.
    pub fn series(&self) -> Series {
        Series::of((&self.key, &self.record))
    }

    /// Sort key by age, the oldest first.
    pub fn age(&self) -> Age {
        age(&self.record)
    }

    /// Whether it is kept (not forgotten), and not a checkpoint.
    pub fn is_kept(&self) -> bool {
        self.record.state == SnapshotState::Kept && !self.record.partial
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use copal_format::id::SourceId;

    fn snapshot(role: Role, origin: Option<Origin>) -> Snapshot {
        let (id, domain, root, time) = (SnapshotId([1; 16]), DomainId([2; 16]), ChunkId([3; 24]), Time(0));
        let record = SnapshotRecord::new(id, domain, root, SourceId([4; 16]), time);
        let record = SnapshotRecord { by_full_client: role == Role::Full, ..record };
        let signer = Signer { id: ClientId([5; 16]), name: "it".into(), role };
        let info = SnapshotInfo { origin, ..SnapshotInfo::default() };
        Snapshot { id, key: (signer.id, 1), signer, domain, root, time, info, tags: Vec::new(), record }
    }

    #[test]
    fn only_a_full_client_is_believed_that_its_snapshot_is_a_copy() {
        let of = Origin { repository: RepositoryId([7; 16]), snapshot: SnapshotId([8; 16]), client: ClientId([9; 16]) };
        assert_eq!(snapshot(Role::Full, None).origin(), None);
        assert_eq!(snapshot(Role::Full, Some(of)).origin(), Some(of));
        assert_eq!(snapshot(Role::WriteOnly, Some(of)).origin(), None);
    }
}
