//! Basis: the earlier snapshot a backup compares with.

use std::cmp::Reverse;
use std::sync::Arc;

use bytes::Bytes;
use copal_engine::client::Role;
use copal_engine::id::{ChunkId, ClientId, SnapshotId};
use copal_engine::index::{Index, Status};
use copal_engine::layout;
use copal_engine::manifest::Manifest;
use copal_engine::state::{SnapshotRecord, SnapshotState};
use copal_engine::time::Time;
use copal_engine::tree::VerifiedPage;
use copal_service::view::View;
use copal_service::{clients, objects};
use copal_store::Store;

use super::kept::{KeptSnapshot, KeptTree};
use super::{BackupError, Options};
use crate::history::open_info;
use crate::reader::{BlockReader, PageReader, Pages, ReadError, index_of};
use crate::repository::{Access, Enrolled, LocalClient, Repository};
use crate::wait::wait;

/// The domain as the newest root has it, and the snapshot to compare with.
pub struct Basis {
    /// The snapshot, if there is one.
    pub snapshot: Option<Compared>,
    /// The checkpoint of a run that did not get to its end, if that is newer: the beginning of a tree.
    pub checkpoint: Option<Compared>,
    /// Reads its pages: from the repository, or a write-only client from its own copy.
    pub pages: Arc<dyn Pages>,
    /// What the repository has of the domain.
    pub index: Arc<Index<Bytes>>,
    /// The write-only client's own copy.
    pub(super) kept: Option<Arc<KeptTree>>,
}

/// The snapshot a backup compares with.
#[derive(Copy, Clone, Debug)]
pub struct Compared {
    /// Its id.
    pub id: SnapshotId,
    /// Its root page.
    pub root: ChunkId,
    /// When its backup was begun, by the client's clock.
    pub begun: Time,
    /// Bytes of its files.
    pub bytes: u64,
    /// Whether the state knows it, and it was not forgotten.
    pub is_kept: bool,
}

impl Basis {
    /// The newest kept snapshot of the same source, and the newest checkpoint after it: this client's own, else that of
    /// another full client. Only one whose manifest verifies counts: what is taken over from it is not read again.
    pub(super) fn find(
        access: Access<'_>,
        client: &LocalClient,
        view: &View,
        options: &Options,
    ) -> Result<Self, BackupError> {
        match access {
            Access::Owner(repository) => Self::of_repository(repository, client, view, options),
            Access::WriteOnly(enrolled) => Ok(Self::of_kept_tree(enrolled, client, view, options)),
        }
    }

    /// A write-only client compares with its own copy of its last tree. Whether the repository still has what that refers
    /// to is asked of the index, entry by entry, so that it need not be known what became of the snapshot.
    fn of_kept_tree(enrolled: &Enrolled, client: &LocalClient, view: &View, options: &Options) -> Self {
        let keys = Access::from(enrolled).domain_keys(client.domain);
        let source = keys.source_id(&options.host, &options.paths, &options.label);
        let kept = KeptTree::open(enrolled, source, &keys).map(Arc::new);
        let snapshot = kept.as_ref().map(|kept| {
            let KeptSnapshot { id, root, begun, bytes } = kept.snapshot;
            let is_it = |record: &SnapshotRecord| record.id == id && record.state == SnapshotState::Kept;
            Compared { id, root, begun, bytes, is_kept: view.state.snapshots.values().any(is_it) }
        });
        let pages: Arc<dyn Pages> = match &kept {
            Some(kept) => kept.clone(),
            None => Arc::new(Nothing),
        };
        Self { snapshot, checkpoint: None, pages, index: index_of(view, client.domain), kept }
    }

    fn of_repository(
        repository: &Repository,
        client: &LocalClient,
        view: &View,
        options: &Options,
    ) -> Result<Self, BackupError> {
        let keys = repository.domain_keys(client.domain);
        let source = keys.source_id(&options.host, &options.paths, &options.label);
        let mut candidates: Vec<_> = view
            .state
            .snapshots
            .iter()
            .filter(|(_, record)| record.domain == client.domain && record.source == source)
            .filter(|(_, record)| record.state == SnapshotState::Kept)
            .collect();
        // This client's own come first. A full client without any may be a machine that was set up anew.
        let is_own = |(signer, _): &(ClientId, u64)| *signer == client.id;
        candidates.sort_by_key(|(key, record)| Reverse((is_own(key), record.accepted, record.client_time)));
        let (mut snapshot, mut checkpoint) = (None, None);
        for ((signer, number), record) in candidates {
            if record.partial && checkpoint.is_some() {
                continue;
            }
            let name = layout::manifest(*signer, *number);
            let host = repository.host();
            let (bytes, signed_by) =
                wait(async { futures::join!(objects::read(host.store, &name), clients::read(&host, *signer)) });
            let Some(bytes) = bytes? else { continue };
            let Ok(Some(signed_by)) = signed_by else { continue };
            // What a write-only client says of files is no reason not to read them.
            let Some(public) = signed_by.keys.filter(|_| signed_by.role == Role::Full) else { continue };
            let verified = Manifest::verify(repository.id(), &public.manifest, *signer, *number, &bytes);
            let Some(claim) = verified.ok().and_then(|verified| verified.manifest.snapshot) else { continue };
            let Ok(info) = open_info(repository, client.domain, &claim) else { continue };
            let (begun, bytes) = (info.started, info.counts.bytes);
            let found = Some(Compared { id: record.id, root: claim.root, begun, bytes, is_kept: true });
            if !record.partial {
                snapshot = found;
                break;
            }
            checkpoint = found;
        }
        let store: Arc<dyn Store> = repository.store().clone();
        let blocks = Arc::new(BlockReader::new(store, repository.owner.clone(), client.domain));
        let pages = Arc::new(PageReader::new(blocks, view, keys));
        Ok(Self { snapshot, checkpoint, index: pages.index(), pages, kept: None })
    }

    /// What to compare with, what to prefer first.
    pub(super) fn trees(&self) -> impl Iterator<Item = Compared> {
        self.checkpoint.into_iter().chain(self.snapshot)
    }

    /// Whether anything of the domain is flagged, wanted or lost.
    pub fn has_marks(&self) -> bool {
        !self.index.overlay().runs().is_empty()
    }

    /// What the repository has of a chunk or page.
    pub fn status(&self, id: &ChunkId) -> Status {
        self.index.status(id)
    }
}

/// Pages of no tree.
struct Nothing;

impl Pages for Nothing {
    fn page(&self, id: &ChunkId) -> Result<VerifiedPage, ReadError> {
        Err(ReadError::Absent { id: *id })
    }
}
