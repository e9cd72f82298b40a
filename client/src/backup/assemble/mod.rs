//! Assemble: the thread that owns the session. It takes entries in order, decides which chunks are new, and claims the
//! snapshot at the end.

mod archive;
mod begun;
mod claim;
mod copied;
mod stored;
mod stream;
mod tree;
mod unseen;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use bytes::Bytes;
use copal_engine::backup::content::FileContent;
use copal_engine::backup::session::{Session, SessionStart};
use copal_format::chunk::{ChunkSizes, Chunker};
use copal_format::id::{ChunkId, PackId};
use copal_format::index::Index;
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::session::SessionRecord;
use copal_format::pack::PackTable;
use copal_format::path::TreePath;
use copal_format::repository::Descriptor;
use copal_format::seal::SessionCipher;
use copal_format::snapshot::Counts;
use copal_format::time::Time;
use copal_format::tree::{Content, Extras, Piece};
use copal_jobs::view::View;

use super::audit::damaged_segments;
use super::budget::Budget;
use super::content::Tools;
use super::entry::Recorder;
use super::kept::KeptWriter;
use super::manifest::ManifestChain;
use super::output::Output;
use super::parent::{Compared, Parent};
use super::{BackupError, Carryover, Options, Outcome, Source};
use crate::changed::Walked;
use crate::clock::now;
use crate::entropy::secret;
use crate::progress::Progress;
use crate::repository::{Access, LocalClient};
use crate::scan::AsPath;
use begun::Clock;

/// One attempt at a snapshot, based on one state of the repository.
pub(super) struct Attempt<'a> {
    pub(super) access: Access<'a>,
    pub(super) client: &'a LocalClient,
    pub(super) descriptor: &'a Descriptor,
    pub(super) view: View,
    pub(super) parent: Parent,
    /// The snapshot that the list of changes follows, and what was noted of it; none if the list is not believed.
    pub(super) followed: Option<(Walked, Compared)>,
    pub(super) options: &'a Options,
    pub(super) progress: &'a Arc<Progress>,
    pub(super) interrupted: &'a AtomicBool,
}

impl Attempt<'_> {
    pub(super) fn run(&self, source: &mut Source<'_>, carried: &mut Carryover) -> Result<Outcome, BackupError> {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let audit = scope.spawn(|| damaged_segments(&self.view, self.client.domain, &is_over));
            let made = self.assemble(source, carried);
            is_over.store(made.is_err(), Ordering::Relaxed);
            let damaged = audit.join().map_err(|_| BackupError::Panicked);
            Ok(Outcome { damaged: damaged?, ..made? })
        })
    }

    fn assemble(&self, source: &mut Source<'_>, carried: &mut Carryover) -> Result<Outcome, BackupError> {
        let p = &self.descriptor.parameters;
        let sizes = ChunkSizes::new(p.chunk_min.into(), p.chunk_average.into(), p.chunk_max.into())?;
        let keys = self.access.domain_keys(self.client.domain);
        let chunker = Chunker::new(sizes, keys.cuts());
        let budget = Budget::new(READ_AHEAD);
        let as_path = match source {
            Source::Tree { scan, .. } => scan.as_path().clone(),
            _ => AsPath::default(),
        };
        let most_named = match source {
            Source::Snapshot(original) => original.most_named,
            _ => usize::MAX,
        };
        let inline_max = p.inline_max as usize;
        let interrupted = self.interrupted;
        let tools =
            Tools { keys: &keys, chunker: &chunker, inline_max, budget: &budget, as_path: &as_path, interrupted };
        let (record, cipher) = self.access.new_session(self.client.domain);
        let backend = (!self.options.is_dry_run).then(|| self.access.backend());
        thread::scope(|scope| {
            let (threads, level) = (self.options.threads, (self.options.compression, p.zstd_level));
            let output = Output::start(scope, threads, &cipher, level, backend, self.progress, self.interrupted);
            let mut session = Session::begin(SessionStart {
                parameters: p.clone(),
                domain: self.client.domain,
                keys: keys.clone(),
                record: record.clone(),
                seed: secret(),
            })?;
            let own = self.client.domain;
            let mut outcome = Outcome {
                parent: self.parent.snapshot.map(|parent| parent.id),
                has_other_domains: self.view.state.segments.keys().any(|(domain, _)| *domain != own),
                ..Outcome::default()
            };
            let kept = match source {
                Source::Tree { .. } if !self.options.is_dry_run => self.keep(&keys, &mut outcome),
                _ => None,
            };
            if kept.is_some() {
                session.keep_pages();
            }
            let chain = match self.options.is_dry_run {
                true => None,
                false => Some(ManifestChain::find(self.access, self.client, &self.view)?),
            };
            // Claims of a rejected attempt: the new state already shows which of them count.
            carried.claims.clear();
            carried.earlier = match &chain {
                Some(chain) if !self.access.decides() => chain.unanswered()?,
                _ => HashSet::new(),
            };
            // Packs that an earlier attempt of this process made count as its own too.
            let own = carried.packs.iter().map(|pack| pack.id).collect();
            let bare = self.options.paths.iter().filter_map(|path| TreePath::new(path.clone()).ok());
            let mut assembly = Assembly {
                attempt: self,
                session,
                output,
                cipher,
                record,
                keys: &keys,
                as_path: &as_path,
                carried,
                chain,
                kept,
                own,
                index: self.parent.index.clone(),
                recorder: Recorder::default(),
                linked: HashMap::new(),
                copied: HashMap::new(),
                open: None,
                outcome,
                most_named,
                bare: bare.collect(),
                base: None,
                started: now(),
                clock: Clock::Own,
                listed: Instant::now(),
            };
            let made = assembly.take(source, &tools).and_then(|()| assembly.finish());
            match &made {
                Err(BackupError::Interrupted) => assembly.claim_stored()?,
                // The user is told why the backup ended. If this fails too, the next run uploads the packs again.
                Err(error) if error.leaves_packs() => drop(assembly.claim_stored()),
                _ => {}
            }
            made
        })
    }

    /// Begins a kept tree if the client is write-only.
    fn keep(&self, keys: &DomainKeys, outcome: &mut Outcome) -> Option<KeptWriter> {
        let Access::WriteOnly(enrolled) = self.access else { return None };
        let options = self.options;
        let source = keys.source_id(&options.host, &options.paths, &options.label);
        match KeptWriter::begin(enrolled, source, self.parent.kept.clone())? {
            Ok(writer) => Some(writer),
            Err(error) => {
                outcome.not_kept = Some(error);
                None
            }
        }
    }
}

struct Assembly<'a, 'c> {
    attempt: &'a Attempt<'a>,
    session: Session,
    output: Output<'a>,
    cipher: SessionCipher,
    record: SessionRecord,
    keys: &'a DomainKeys,
    /// Where the entries lie.
    as_path: &'a AsPath,
    carried: &'c mut Carryover,
    /// The end of the client's chain; none in a dry run.
    chain: Option<ManifestChain<'a>>,
    /// The kept tree of a write-only client.
    kept: Option<KeptWriter>,
    own: HashSet<PackId>,
    /// The index as of the last manifest that was accepted.
    index: Arc<Index<Bytes>>,
    recorder: Recorder,
    /// Size, content and attributes of hard-linked files, by group.
    linked: HashMap<u64, (u64, Content, Extras)>,
    /// Content of copied files with several names, by what all their names share.
    copied: HashMap<(u64, u64), Content>,
    /// The file being taken, and its path.
    open: Option<(TreePath, FileContent)>,
    outcome: Outcome,
    /// How many troubles are named; the others are counted.
    most_named: usize,
    /// Paths of the source of which only directories were met so far.
    bare: Vec<TreePath>,
    /// In a narrowed backup, the counts of the parent snapshot without the entries that were looked at.
    base: Option<Counts>,
    started: Time,
    clock: Clock,
    listed: Instant,
}

impl Assembly<'_, '_> {
    /// Takes the whole source, or as much as comes before an interrupt.
    fn take(&mut self, source: &mut Source<'_>, tools: &Tools<'_>) -> Result<(), BackupError> {
        match source {
            Source::Tree { scan, ahead, changed } => {
                self.clock = Clock::of(scan.options());
                let list = changed.as_ref().zip(self.attempt.followed.as_ref());
                let scope = list.map(|(list, followed)| self.narrow(list, followed, scan)).transpose()?;
                if let Some(scope) = scope.as_ref().filter(|_| self.base.is_some()) {
                    let sweep = Arc::new(scan.narrowed(scope)).begin(self.attempt.options.threads);
                    return self.take_tree(sweep, tools, Some(scope));
                }
                let sweep = ahead.take().unwrap_or_else(|| scan.begin(self.attempt.options.threads));
                self.take_tree(sweep, tools, scope.as_ref())
            }
            Source::Stream { name, bytes, may_be_empty } => match self.take_stream(name, bytes, tools)? {
                0 if !*may_be_empty => Err(BackupError::EmptyStream),
                _ => Ok(()),
            },
            Source::Archive { bytes, below } => self.take_archive(bytes, below, tools),
            Source::Snapshot(original) => self.take_snapshot(original, tools),
        }
    }

    fn add_chunk(&mut self, id: ChunkId, bytes: &[u8]) -> Result<(), BackupError> {
        let before = self.session.tally().bytes_new;
        let known = Known::new(&self.index, self.carried);
        self.session.add_chunk(id, bytes, |id| known.has(id))?;
        let piece = Piece { id, length: bytes.len() as u32 };
        if let Some((_, file)) = &mut self.open {
            self.session.add_piece(file, piece, |id| known.has(id))?;
        }
        self.attempt.progress.add_new(self.session.tally().bytes_new - before);
        self.act()
    }

    /// Begins a file, or begins it again.
    fn begin(&mut self, path: &TreePath) {
        self.open = Some((path.clone(), FileContent::default()));
    }

    fn end(&mut self) -> Result<Content, BackupError> {
        let (_, file) = self.open.take().unwrap_or_default();
        let known = Known::new(&self.index, self.carried);
        Ok(self.session.content_of(file, |id| known.has(id))?)
    }

    /// Adds the pages that the session has made to the kept tree.
    fn keep_pages(&mut self) {
        let pages = self.session.take_kept();
        if !pages.is_empty() {
            self.keep(|kept| kept.add(&pages));
        }
    }

    /// Adds the pages of an unchanged entry's content to the kept tree.
    fn keep_content(&mut self, content: &Content) {
        if matches!(content, Content::List { .. }) {
            self.keep(|kept| kept.take_over(content));
        }
    }

    /// Writes to the kept tree. After a failure the next backup has to read more; this one is not harmed.
    fn keep(&mut self, act: impl FnOnce(&mut KeptWriter) -> std::io::Result<()>) {
        if let Some(error) = self.kept.as_mut().and_then(|kept| act(kept).err()) {
            self.kept = None;
            self.outcome.not_kept = Some(error);
        }
    }

    /// Performs the session's actions, and returns sealed blocks to it.
    fn act(&mut self) -> Result<(), BackupError> {
        self.output.serve(&mut self.session, &mut noting(&mut self.own, self.carried))
    }

    /// Stores everything that is open. Then `carried` has all packs that no manifest names.
    fn flush(&mut self) -> Result<(), BackupError> {
        self.output.flush(&mut self.session, &mut noting(&mut self.own, self.carried))?;
        self.carried.packs.extend(self.session.take_listing());
        Ok(())
    }
}

/// Notes packs that are stored, for the next claim.
fn noting<'n>(own: &'n mut HashSet<PackId>, carried: &'n mut Carryover) -> impl FnMut(PackId, &PackTable) + 'n {
    |id, table| {
        own.insert(id);
        carried.ids.extend(table.ids.iter().copied());
    }
}

/// The ids that need not be stored: the repository has them, or an earlier attempt or run stored them.
struct Known<'a> {
    index: &'a Index<Bytes>,
    carried: &'a Carryover,
}

impl<'a> Known<'a> {
    fn new(index: &'a Index<Bytes>, carried: &'a Carryover) -> Self {
        Self { index, carried }
    }

    fn has(&self, id: &ChunkId) -> bool {
        let carried = self.carried;
        carried.ids.contains(id)
            || carried.claims.iter().any(|claim| claim.ids.contains(id))
            || carried.earlier.contains(id)
            || self.index.status(id).may_deduplicate()
    }
}

/// Bytes that may be read ahead.
const READ_AHEAD: u64 = 32 << 20;
