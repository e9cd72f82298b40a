//! Parent: finds the parent snapshot, and a newer checkpoint, for a backup to compare with.

use std::cmp::Reverse;
use std::sync::Arc;

use bytes::Bytes;
use copal_engine::backup::kept::KeptSnapshot;
use copal_engine::backup::reuse::RewriteBudget;
use copal_engine::read::SignedSnapshot;
use copal_format::client::Role;
use copal_format::id::{ChunkId, ClientId, DomainId, SnapshotId};
use copal_format::index::{Index, Status};
use copal_format::layout;
use copal_format::path::TreePath;
use copal_format::snapshot::{Counts, MetadataSeen};
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;
use copal_format::tree::{Entry, EntryKind, VerifiedPage};
use copal_jobs::view::View;
use copal_jobs::{clients, objects};
use copal_store::Store;

use super::kept::KeptFile;
use super::{BackupError, Options, Source};
use crate::reader::{BlockReader, EntryStream, PageReader, Pages, ReadError, TreeError, index_of, pieces};
use crate::repository::{Access, Enrolled, LocalClient, Repository};
use crate::wait::wait;

/// The snapshot and the checkpoint that a backup compares files with, and the domain's index as of the newest root.
pub struct Parent {
    /// The parent snapshot, if there is one.
    pub snapshot: Option<Compared>,
    /// The checkpoint of an unfinished run (the beginning of a tree), if it is newer than the snapshot.
    pub checkpoint: Option<Compared>,
    /// Paths that the snapshot or the checkpoint records as unreadable.
    unread: Vec<Vec<u8>>,
    /// Whether an attribute of any entry may be missing: names are kept of some of what could not be read only, and
    /// another user may not have seen all attributes.
    may_lack_any: bool,
    /// Reads the pages: from the repository, or from a write-only client's kept tree.
    pub pages: Arc<dyn Pages>,
    /// The domain's index.
    pub index: Arc<Index<Bytes>>,
    /// A write-only client's kept tree.
    pub(super) kept: Option<Arc<KeptFile>>,
}

/// A snapshot or checkpoint that a backup compares with.
#[derive(Copy, Clone, Debug)]
pub struct Compared {
    /// Its id.
    pub id: SnapshotId,
    /// Its root page.
    pub root: ChunkId,
    /// When its backup began, by the client's clock.
    pub begun: Time,
    /// The number of its entries by type, and their size; of a kept tree the size alone.
    pub counts: Counts,
    /// Whether the state has it as kept (not forgotten).
    pub is_kept: bool,
}

impl Parent {
    /// The newest kept snapshot of the source, and the newest checkpoint after it: this client's own, else another full
    /// client's. Its manifest must verify, because files taken over from it are not read again.
    pub(super) fn find(
        access: Access<'_>,
        client: &LocalClient,
        view: &View,
        options: &Options,
        source: &Source<'_>,
    ) -> Result<Self, BackupError> {
        match access {
            Access::Owner(repository) if let Source::Snapshot(original) = source => {
                let snapshot = original.copies.first().map(|earlier| earlier.copy);
                Ok(Self::with(repository, client.domain, view, (snapshot, None)))
            }
            Access::Owner(repository) => Self::of_repository(repository, client, view, options),
            Access::WriteOnly(enrolled) => Ok(Self::of_kept_tree(enrolled, client, view, options)),
        }
    }

    /// A write-only client compares with its kept tree. The index tells for each entry whether the repository still has
    /// the content, so the snapshot may be gone.
    fn of_kept_tree(enrolled: &Enrolled, client: &LocalClient, view: &View, options: &Options) -> Self {
        let keys = Access::from(enrolled).domain_keys(client.domain);
        let source = keys.source_id(&options.host, &options.paths, &options.label);
        let kept = KeptFile::open(enrolled, source, &keys).map(Arc::new);
        let snapshot = kept.as_ref().and_then(|kept| {
            let KeptSnapshot { id, root, begun, bytes } = kept.snapshot;
            let id = id?;
            let is_it = |record: &SnapshotRecord| record.id == id && record.state == SnapshotState::Kept;
            let counts = Counts { bytes, ..Counts::default() };
            Some(Compared { id, root, begun, counts, is_kept: view.state.snapshots.values().any(is_it) })
        });
        let pages: Arc<dyn Pages> = match &kept {
            Some(kept) => kept.clone(),
            None => Arc::new(Nothing),
        };
        let index = index_of(view, client.domain);
        Self { snapshot, checkpoint: None, unread: Vec::new(), may_lack_any: false, pages, index, kept }
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
        // This client's own come first. A full client without any may be a machine that was set up again.
        let is_own = |(signer, _): &(ClientId, u64)| *signer == client.id;
        candidates.sort_by_key(|(key, record)| Reverse((is_own(key), record.accepted, record.client_time)));
        let (mut snapshot, mut checkpoint, mut unread, mut may_lack_any) = (None, None, Vec::new(), false);
        for ((signer, number), record) in candidates {
            if record.partial && checkpoint.is_some() {
                continue;
            }
            let name = layout::manifest(*signer, *number);
            let job = repository.job();
            let (bytes, signed_by) =
                wait(async { futures::join!(objects::read(job.store, &name), clients::read(&job, *signer)) });
            let Some(bytes) = bytes? else { continue };
            let Ok(Some(signed_by)) = signed_by else { continue };
            // A write-only client's word about a file must not stop a full client from reading that file.
            if signed_by.role != Role::Full || signed_by.domain != client.domain {
                continue;
            }
            let Ok(signed) = SignedSnapshot::verify(&repository.owner, &signed_by, *number, &bytes) else { continue };
            let Ok(info) = signed.info(&repository.owner) else { continue };
            // Nor must an archive's word: a snapshot that was imported from one has no ctimes and inode numbers.
            if !info.metadata.contains(MetadataSeen::CTIME_AND_INODE) {
                continue;
            }
            let (begun, counts) = (info.started, info.counts);
            let found = Some(Compared { id: record.id, root: signed.claim.root, begun, counts, is_kept: true });
            let is_other = |user: &str| !user.is_empty() && !options.user.is_empty() && *user != options.user;
            may_lack_any |= info.summary.errors > info.troubles.unreadable_paths.len() as u64 || is_other(&info.user);
            unread.extend(info.troubles.unreadable_paths);
            if !record.partial {
                snapshot = found;
                break;
            }
            checkpoint = found;
        }
        Ok(Self { unread, may_lack_any, ..Self::with(repository, client.domain, view, (snapshot, checkpoint)) })
    }

    fn with(
        repository: &Repository,
        domain: DomainId,
        view: &View,
        (snapshot, checkpoint): (Option<Compared>, Option<Compared>),
    ) -> Self {
        let store: Arc<dyn Store> = repository.store().clone();
        let blocks = Arc::new(BlockReader::new(store, repository.owner.clone(), domain));
        let pages = Arc::new(PageReader::new(blocks, view, repository.domain_keys(domain)));
        let (unread, may_lack_any) = (Vec::new(), false);
        Self { snapshot, checkpoint, unread, may_lack_any, index: pages.index(), pages, kept: None }
    }

    /// The trees to compare with, the preferred one first.
    pub(super) fn trees(&self) -> impl Iterator<Item = Compared> {
        self.checkpoint.into_iter().chain(self.snapshot)
    }

    /// Whether the snapshot or the checkpoint records one of these paths as unreadable.
    pub(super) fn is_unread(&self, paths: &[Vec<u8>]) -> bool {
        self.unread.iter().any(|unread| paths.contains(unread))
    }

    /// Whether an attribute of the entry may be missing in these trees: then it is read again.
    pub(super) fn may_lack(&self, path: &TreePath) -> bool {
        self.may_lack_any || self.unread.iter().any(|unread| unread == path.as_bytes())
    }

    /// Whether the snapshot has anything but directories at a path, or records that it should.
    pub(super) fn has_more_than_directories(&self, path: &TreePath) -> Result<bool, TreeError> {
        let Some(snapshot) = self.snapshot else { return Ok(false) };
        if self.is_unread(&[path.as_bytes().to_vec()]) {
            return Ok(true);
        }
        let mut entries = EntryStream::new(&*self.pages, snapshot.root);
        entries.seek(path.clone());
        while let Some(entry) = entries.next_readable()?.filter(|entry| entry.path.is_within(path)) {
            if entry.kind() != EntryKind::Directory {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether anything of the domain is flagged, wanted or lost.
    pub fn has_marks(&self) -> bool {
        !self.index.overlay().runs().is_empty()
    }

    /// The index's status of a chunk or page.
    pub fn status(&self, id: &ChunkId) -> Status {
        self.index.status(id)
    }

    /// Whether a new tree may refer to the content of an entry of these trees.
    pub(super) fn may_reuse(&self, budget: &mut RewriteBudget, old: &Entry) -> bool {
        budget.may_reuse(
            old,
            |id| self.status(id),
            |take| {
                let mut is_whole = true;
                !self.has_marks() || pieces(&*self.pages, old, |_, piece| is_whole &= take(&piece)).is_ok() && is_whole
            },
        )
    }
}

/// Pages of no tree.
struct Nothing;

impl Pages for Nothing {
    fn page(&self, id: &ChunkId) -> Result<VerifiedPage, ReadError> {
        Err(ReadError::Absent { id: *id })
    }
}
