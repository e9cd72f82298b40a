//! Copy: copies snapshots into another repository, whose keys are others; or rewrites them in the same one.
//!
//! A copy is a backup whose source is a snapshot ([`Original`]). It names its origin, so that none is made twice.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use copal_format::client::Role;
use copal_format::exclusions::{Exclusions, Pattern};
use copal_format::id::{ChunkId, DomainId, SnapshotId};
use copal_format::path::TreePath;
use copal_format::snapshot::{MetadataSeen, Origin};
use copal_format::state::SnapshotState;
use copal_format::time::Time;
use copal_format::tree::{Entry, EntryKind, Piece};
use copal_jobs::view::View;

use crate::backup::{
    BackupError, Compared, EarlierCopy, Entries, Inherited, Options, Original, Originals, Outcome, Readable, Source,
    backup,
};
use crate::browse::{Domain, Shared};
use crate::compression::Compression;
use crate::filter::Filter;
use crate::history::{History, Snapshot, pages};
use crate::progress::Progress;
use crate::reader::{PageReader, ReadError, TreeError};
use crate::repository::{LocalClient, Repository};

/// How to copy.
#[derive(Clone, Debug)]
pub struct How {
    /// Number of threads that read, and of threads that seal.
    pub threads: usize,
    /// How long to wait for a service to accept each copy.
    pub wait: Duration,
    /// Whether to copy a write-only client's time, and the rights that it has saved, which a restore leaves out.
    pub trusts: bool,
    /// How hard blocks are compressed.
    pub compression: Compression,
}

/// What a copy leaves out of the snapshot.
#[derive(Default)]
pub struct LeftOut {
    /// The patterns, compiled.
    pub filter: Filter,
    /// The patterns, as the copy records them.
    pub patterns: Vec<Pattern>,
}

/// Copies snapshots of one repository into another, or into the same one.
pub struct Copier<'a> {
    source: &'a Repository,
    view: &'a View,
    history: &'a History,
    target: &'a Repository,
    client: &'a LocalClient,
    how: How,
    /// What this client has saved in the target, with checkpoints. Other clients are not believed: a false copy would
    /// keep a snapshot from being copied, or give it other content.
    there: Vec<There>,
    /// All snapshots of the target that can be restored or brought back.
    ids: BTreeSet<SnapshotId>,
    readers: HashMap<DomainId, Reading>,
}

/// A snapshot or checkpoint of the target.
pub(crate) struct There {
    /// The snapshot that it was copied from; its own id if it is no copy.
    pub(crate) origin: Origin,
    pub(crate) copy: Compared,
    domain: DomainId,
    time: Time,
    /// Entries that it lacks.
    pub(crate) errors: u64,
    is_checkpoint: bool,
}

/// Reads a domain of the source.
struct Reading {
    pages: PageReader,
    chunks: Arc<Domain>,
}

impl<'a> Copier<'a> {
    /// Copies snapshots of `source`, whose state and history were just read, into a repository with this history.
    pub fn new(
        (source, view, history): (&'a Repository, &'a View, &'a History),
        (target, client, copies): (&'a Repository, &'a LocalClient, &History),
        how: How,
    ) -> Self {
        let there = There::all_of(target, client, copies);
        let ids = copies.snapshots.iter().map(|snapshot| snapshot.id).collect();
        Self { source, view, history, target, client, how, there, ids, readers: HashMap::new() }
    }

    /// The existing copy of a snapshot, or the snapshot of the target that it is itself a copy of. Forgotten ones count
    /// while they can be brought back. A copy that lacks more than the snapshot itself does not count: damage may have
    /// healed.
    pub fn copy_of(&self, snapshot: &Snapshot) -> Option<SnapshotId> {
        let comes_from = snapshot.origin().filter(|origin| origin.repository == self.target.id());
        if let Some(origin) = comes_from.filter(|origin| self.ids.contains(&origin.snapshot)) {
            return Some(origin.snapshot);
        }
        let origin = snapshot.as_origin(self.source.id());
        let is_it = |there: &&There| there.is_copy_of(origin);
        let mut copies = self.there.iter().filter(is_it);
        copies.find(|there| there.errors <= snapshot.info.summary.errors).map(|there| there.copy.id)
    }

    /// Makes a copy. The outcome has no snapshot if a copy that lacks the same exists already.
    pub fn copy(
        &mut self,
        snapshot: &Snapshot,
        progress: &Arc<Progress>,
        interrupted: &AtomicBool,
    ) -> Result<Outcome, BackupError> {
        let origin = snapshot.as_origin(self.source.id());
        let time = self.time(snapshot);
        let (copies, is_retry) = There::earlier(&self.there, self.client, origin, snapshot.root, time, |of| {
            let of = self.history.snapshots.iter().find(|other| other.as_origin(self.source.id()) == of)?;
            let is_alike = of.domain == snapshot.domain
                && of.id != snapshot.id
                && (&of.info.paths, &of.info.label, of.machine())
                    == (&snapshot.info.paths, &snapshot.info.label, snapshot.machine());
            is_alike.then_some(of.root)
        });
        let options = Options { skip_if_unchanged: is_retry, ..self.options(snapshot, origin, &LeftOut::default()) };
        let outcome = self.make(snapshot, copies, &options, &Filter::default(), progress, interrupted)?;
        let errors = snapshot.info.summary.errors;
        let begun = snapshot.info.started;
        self.there.extend(There::made(self.client, origin, time, begun, &outcome, errors));
        Ok(outcome)
    }

    /// Makes a snapshot of the same repository without what the patterns match. Content of this client's domain stays
    /// where it is; that of other domains is read and stored in this one, because a snapshot counts in the domain of
    /// its signer only. The outcome has no snapshot if nothing would change, or if an earlier run has made the same
    /// one.
    pub fn rewrite(
        &mut self,
        snapshot: &Snapshot,
        left_out: &LeftOut,
        progress: &Arc<Progress>,
        interrupted: &AtomicBool,
    ) -> Result<Outcome, BackupError> {
        let origin = snapshot.as_origin(self.source.id());
        let is_earlier = |of: &&Snapshot| of.origin() == Some(origin) && of.is_kept() && of.signer.id == self.client.id;
        let earlier = self.history.snapshots.iter().rfind(is_earlier);
        let versions = earlier.into_iter().chain([snapshot]).map(|of| There::of(self.source, of));
        let usable = versions.filter(|there| there.is_usable(self.client));
        let copies = usable.map(|there| EarlierCopy { copy: there.copy, of: snapshot.root }).collect();
        let options = Options { skip_if_unchanged: true, ..self.options(snapshot, origin, left_out) };
        self.make(snapshot, copies, &options, &left_out.filter, progress, interrupted)
    }

    /// Counts the entries that a rewrite would leave out. Fails if not all entries can be read.
    pub fn entries_left_out(&mut self, snapshot: &Snapshot, filter: &Filter) -> Result<u64, TreeError> {
        let mut entries = self.reading(snapshot.domain).pages.entries(snapshot.root);
        let (mut count, mut above): (u64, Option<TreePath>) = (0, None);
        while let Some(entry) = entries.next()? {
            let is_below = above.as_ref().is_some_and(|above| entry.path.is_within(above));
            if is_below || filter.excludes(&entry.path, entry.kind() == EntryKind::Directory) {
                count += 1;
                above = above.filter(|_| is_below).or(Some(entry.path));
            }
        }
        Ok(count)
    }

    fn options(&self, snapshot: &Snapshot, origin: Origin, left_out: &LeftOut) -> Options {
        let info = &snapshot.info;
        let mut exclusions = info.exclusions.clone().unwrap_or_default();
        exclusions.patterns.extend(left_out.patterns.iter().cloned());
        let is_tamed = self.is_tamed(snapshot);
        let seen = if is_tamed { info.metadata.without(MetadataSeen::CTIME_AND_INODE) } else { info.metadata };
        Options {
            label: info.label.clone(),
            tags: snapshot.tags.clone(),
            time: Some(self.time(snapshot)),
            user: info.user.clone(),
            inherited: Some(Inherited {
                origin: Some(origin),
                started: info.started,
                metadata: seen,
                troubles: info.troubles.clone(),
                errors: info.summary.errors,
            }),
            exclusions: Exclusions::recorded(exclusions),
            wait: Some(self.how.wait),
            compression: self.how.compression,
            ..Options::new(snapshot.machine().to_owned(), info.paths.clone(), self.how.threads)
        }
    }

    /// The time that the copy states. A full client signs the copy, so rules would believe what a write-only client has
    /// only claimed: that snapshot gets the time of its acceptance.
    fn time(&self, snapshot: &Snapshot) -> Time {
        if self.is_tamed(snapshot) { snapshot.age().0 } else { snapshot.time }
    }

    fn is_tamed(&self, snapshot: &Snapshot) -> bool {
        snapshot.signer.role == Role::WriteOnly && !self.how.trusts
    }

    fn reading(&mut self, domain: DomainId) -> &Reading {
        let (source, view, threads) = (self.source, self.view, self.how.threads);
        self.readers.entry(domain).or_insert_with(|| {
            let open = || pages(source, view, domain);
            Reading { pages: open(), chunks: Arc::new(Domain::new(domain, open(), Shared::new(HELD, threads))) }
        })
    }

    fn make(
        &mut self,
        snapshot: &Snapshot,
        copies: Vec<EarlierCopy>,
        options: &Options,
        excludes: &Filter,
        progress: &Arc<Progress>,
        interrupted: &AtomicBool,
    ) -> Result<Outcome, BackupError> {
        let (target, client, is_tamed) = (self.target, self.client, self.is_tamed(snapshot));
        let readers = self.source.backend().readers(self.how.threads);
        let from = self.reading(snapshot.domain);
        let (root, most_named) = (snapshot.root, usize::MAX);
        let original = Original { from, root, excludes, is_tamed, copies, readers, most_named };
        backup(target, client, &mut Source::Snapshot(original), options, progress, interrupted)
    }
}

impl Originals for Reading {
    fn entries(&self, root: ChunkId) -> Box<dyn Entries + '_> {
        Box::new(Readable::of(self.pages.entries(root)))
    }

    fn pieces(&self, entry: &Entry, take: &mut dyn FnMut(Piece)) -> Result<(), TreeError> {
        self.pages.pieces(entry, |_, piece| take(piece))
    }

    fn chunk(&self, id: &ChunkId, take: &mut dyn FnMut(&[u8])) -> Result<(), ReadError> {
        self.chunks.chunk(id, take)
    }
}

impl There {
    fn of(target: &Repository, snapshot: &Snapshot) -> Self {
        let is_kept = snapshot.record.state == SnapshotState::Kept;
        let (begun, counts) = (snapshot.info.started, snapshot.info.counts);
        Self {
            origin: snapshot.origin().unwrap_or(snapshot.as_origin(target.id())),
            copy: Compared { id: snapshot.id, root: snapshot.root, begun, counts, is_kept },
            domain: snapshot.domain,
            time: snapshot.time,
            errors: snapshot.info.summary.errors,
            is_checkpoint: snapshot.record.partial,
        }
    }

    /// All snapshots of a client in a repository.
    pub(crate) fn all_of(target: &Repository, client: &LocalClient, copies: &History) -> Vec<Self> {
        let own = copies.snapshots.iter().filter(|snapshot| snapshot.signer.id == client.id);
        own.map(|snapshot| Self::of(target, snapshot)).collect()
    }

    /// A copy that was just made of an original that lacks `errors` entries; none if there was none to make.
    pub(crate) fn made(
        client: &LocalClient,
        origin: Origin,
        time: Time,
        begun: Time,
        outcome: &Outcome,
        errors: u64,
    ) -> Option<Self> {
        let (id, root, counts) = (outcome.snapshot?, outcome.root?, outcome.counts);
        let copy = Compared { id, root, begun, counts, is_kept: true };
        let errors = errors + outcome.errors();
        Some(Self { origin, copy, domain: client.domain, time, errors, is_checkpoint: false })
    }

    /// Whether it is a whole copy of this snapshot, not a part of one.
    pub(crate) fn is_copy_of(&self, origin: Origin) -> bool {
        self.origin == origin && !self.is_checkpoint
    }

    /// Returns the earlier copies to compare with, and whether one of them is an incomplete copy of this snapshot. That
    /// one comes first. Next comes the copy whose original most closely precedes this snapshot, else the next later
    /// one. `alike` gives the root of an original of the same source.
    pub(crate) fn earlier(
        all: &[Self],
        client: &LocalClient,
        origin: Origin,
        root: ChunkId,
        time: Time,
        alike: impl Fn(Origin) -> Option<ChunkId>,
    ) -> (Vec<EarlierCopy>, bool) {
        let usable = all.iter().filter(|there| there.is_usable(client));
        // An incomplete copy is better than a checkpoint, which only an interrupted second attempt leaves.
        let own = usable.clone().filter(|there| there.origin == origin).max_by_key(|there| !there.is_checkpoint);
        let others = usable.filter(|there| !there.is_checkpoint);
        let others = others.filter_map(|there| Some((there, alike(there.origin)?)));
        let nearest = others.min_by_key(|(there, _)| (there.time > time, there.time.0.abs_diff(time.0)));
        let both = own.map(|own| (own, root)).into_iter().chain(nearest);
        let copies = both.map(|(there, of)| EarlierCopy { copy: there.copy, of }).collect();
        (copies, own.is_some_and(|own| !own.is_checkpoint))
    }

    /// Whether a new copy by this client may refer to its pages.
    fn is_usable(&self, client: &LocalClient) -> bool {
        self.domain == client.domain && self.copy.is_kept
    }
}

/// Bytes of the source's pages and blocks that are held in memory.
const HELD: u64 = 64 << 20;
