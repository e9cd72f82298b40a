//! Basis: the earlier snapshot a backup compares with.

use std::sync::Arc;

use bytes::Bytes;
use copal_engine::id::{ChunkId, SnapshotId};
use copal_engine::index::{Index, Status};
use copal_engine::keys::domain::DomainKeys;
use copal_engine::layout;
use copal_engine::manifest::Manifest;
use copal_engine::state::SnapshotState;
use copal_engine::time::Time;
use copal_service::view::View;
use copal_service::{clients, objects};
use copal_store::Store;

use super::{BackupError, Options};
use crate::history::open_info;
use crate::reader::{BlockReader, PageReader};
use crate::repository::{LocalClient, Repository};
use crate::wait::wait;

/// The domain as the newest root has it, and the snapshot to compare with.
pub struct Basis {
    /// The snapshot, if there is one.
    pub snapshot: Option<Compared>,
    /// The checkpoint of a run that did not get to its end, if that is newer: the beginning of a tree.
    pub checkpoint: Option<Compared>,
    /// Reads its pages.
    pub pages: PageReader,
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
}

impl Basis {
    /// The newest kept snapshot of the same source, and the newest checkpoint after it. Only one whose manifest verifies
    /// counts: what is taken over from it is not read again.
    pub(super) fn find(
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
        candidates.sort_by_key(|(_, record)| std::cmp::Reverse((record.accepted, record.client_time)));
        let (mut snapshot, mut checkpoint) = (None, None);
        for ((signer, number), record) in candidates {
            if record.partial && checkpoint.is_some() {
                continue;
            }
            let name = layout::manifest(*signer, *number);
            let Some(bytes) = wait(objects::read(repository.store().as_ref(), &name))? else { continue };
            let Ok(Some(signed_by)) = wait(clients::read(&repository.host(), *signer)) else { continue };
            let Some(public) = signed_by.keys else { continue };
            let verified = Manifest::verify(repository.id(), &public.manifest, *signer, *number, &bytes);
            let Some(claim) = verified.ok().and_then(|verified| verified.manifest.snapshot) else { continue };
            let Ok(info) = open_info(repository, client.domain, &claim) else { continue };
            let found =
                Some(Compared { id: record.id, root: claim.root, begun: info.started, bytes: info.counts.bytes });
            if !record.partial {
                snapshot = found;
                break;
            }
            checkpoint = found;
        }
        Ok(Self { snapshot, checkpoint, pages: page_reader(repository, client, view, keys) })
    }

    /// What to compare with, what to prefer first.
    pub(super) fn trees(&self) -> impl Iterator<Item = Compared> {
        self.checkpoint.into_iter().chain(self.snapshot)
    }

    /// Whether anything of the domain is flagged, wanted or lost.
    pub fn has_marks(&self) -> bool {
        !self.pages.index().overlay().runs().is_empty()
    }

    /// What the repository has of a chunk or page.
    pub fn status(&self, id: &ChunkId) -> Status {
        self.pages.index().status(id)
    }
}

fn page_reader(repository: &Repository, client: &LocalClient, view: &View, keys: DomainKeys) -> PageReader {
    let store: Arc<dyn Store> = repository.store().clone();
    let blocks = Arc::new(BlockReader::new(store, repository.owner.clone(), client.domain));
    PageReader::new(blocks, index_of(view, client.domain), keys)
}

/// What a state has of a domain.
pub(super) fn index_of(view: &View, domain: copal_engine::id::DomainId) -> Arc<Index<Bytes>> {
    let empty = || Index::new(domain, Vec::new(), Default::default()).expect("nothing is of another domain");
    Arc::new(view.index(domain).cloned().unwrap_or_else(empty))
}
