//! Assemble: the thread that owns the session. Takes entries in order, decides what is new, and at the end claims the
//! snapshot.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use copal_engine::backup::change::Signs;
use copal_engine::backup::session::{Action, FinishedTree, Session, SessionStart};
use copal_engine::block::{BlockBuilder, SealTools};
use copal_engine::chunk::{ChunkSizes, Chunker};
use copal_engine::compress::Parameters;
use copal_engine::id::{ChunkId, PackId};
use copal_engine::keys::domain::DomainKeys;
use copal_engine::keys::session::{SessionKey, SessionRecord};
use copal_engine::manifest::SnapshotClaim;
use copal_engine::path::TreePath;
use copal_engine::repository::Descriptor;
use copal_engine::seal::{BlockKind, SessionCipher};
use copal_engine::time::Time;
use copal_engine::tree::{Content, Entry, EntryKind, Extras, Piece};
use copal_service::view::View;
use crossbeam_channel::{Receiver, bounded};

use super::basis::Basis;
use super::budget::Budget;
use super::compare::{Comparison, Item};
use super::content::{Part, Tools, work};
use super::entry::Recorder;
use super::manifest::{Chain, refusal};
use super::output::Output;
use super::{BackupError, Carried, Options, Outcome, Source, Trouble, TroubleKind};
use crate::entropy::{random, secret};
use crate::report::progress::Progress;
use crate::repository::{LocalClient, Repository};
use crate::scan::{Scan, source_of};
use crate::stat::{EntryStat, FileId};

/// One try at a snapshot, on one state of the repository.
pub(super) struct Attempt<'a> {
    pub(super) repository: &'a Repository,
    pub(super) client: &'a LocalClient,
    pub(super) descriptor: &'a Descriptor,
    pub(super) view: View,
    pub(super) basis: Basis,
    pub(super) options: &'a Options,
    pub(super) progress: &'a Arc<Progress>,
    pub(super) interrupted: &'a AtomicBool,
}

/// What came of a try.
pub(super) enum Answer {
    Done(Box<Outcome>),
    /// The repository changed meanwhile; why.
    Rejected(String),
}

impl Attempt<'_> {
    pub(super) fn run(&self, source: &mut Source<'_>, carried: &mut Carried) -> Result<Answer, BackupError> {
        let p = &self.descriptor.parameters;
        let sizes = ChunkSizes::new(p.chunk_min.into(), p.chunk_average.into(), p.chunk_max.into())?;
        let keys = self.repository.domain_keys(self.client.domain);
        let chunker = Chunker::new(sizes, keys.gear());
        let budget = Budget::new(READ_AHEAD);
        let tools = Tools { keys: &keys, chunker: &chunker, inline_max: p.inline_max as usize, budget: &budget };
        let (record, cipher) = self.begin_session();
        let store = (!self.options.is_dry_run).then(|| self.repository.store().clone());
        thread::scope(|scope| {
            let output = Output::start(scope, self.options.threads, &cipher, p.zstd_level, store, self.progress);
            let session = Session::begin(SessionStart {
                parameters: p.clone(),
                domain: self.client.domain,
                keys: keys.clone(),
                record: record.clone(),
                seed: secret(),
            })?;
            let mut assembly = Assembly {
                attempt: self,
                session,
                output,
                cipher,
                record,
                keys: &keys,
                carried,
                chain: None,
                own: HashSet::new(),
                recorder: Recorder::default(),
                linked: HashMap::new(),
                outcome: Outcome { basis: self.basis.snapshot.map(|basis| basis.id), ..Outcome::default() },
                started: now(),
                listed: Instant::now(),
            };
            match source {
                Source::Tree(scan) => assembly.take_tree(scan, &tools)?,
                Source::Stream { name, bytes } => assembly.take_stream(name, bytes, &tools)?,
            }
            assembly.finish()
        })
    }

    /// A new session: its key lives in this process's memory only.
    fn begin_session(&self) -> (SessionRecord, SessionCipher) {
        let key = SessionKey::new(secret());
        let owner = self.repository.owner.kem_public();
        let record = key.record(self.repository.id(), self.client.domain, &[(&owner, random())]);
        let cipher = SessionCipher::new(&key, self.repository.id(), record.id(self.repository.id()));
        (record, cipher)
    }
}

struct Assembly<'a, 'c> {
    attempt: &'a Attempt<'a>,
    session: Session,
    output: Output,
    cipher: SessionCipher,
    record: SessionRecord,
    keys: &'a DomainKeys,
    carried: &'c mut Carried,
    chain: Option<Chain<'a>>,
    own: HashSet<PackId>,
    recorder: Recorder,
    /// Size, content and attributes of files with several names, by group.
    linked: HashMap<u64, (u64, Content, Extras)>,
    outcome: Outcome,
    started: Time,
    listed: Instant,
}

impl<'a> Assembly<'a, '_> {
    fn take_tree(&mut self, scan: &Scan, tools: &Tools<'_>) -> Result<(), BackupError> {
        let attempt = self.attempt;
        let comparison = Comparison {
            basis: &attempt.basis,
            signs: Signs { basis_begun: attempt.basis.snapshot.map(|basis| basis.begun), ..attempt.options.signs },
            force: attempt.options.force,
            rewrite_budget: attempt.options.rewrite_budget,
            tools,
            interrupted: attempt.interrupted,
        };
        thread::scope(|scope| {
            let threads = attempt.options.threads;
            let (to_compare, events) = bounded(4);
            let (jobs, to_read) = bounded(ITEMS);
            let (to_session, items) = bounded::<Item>(ITEMS);
            scope.spawn(move || scan.run(threads, &to_compare));
            for _ in 0..threads {
                let to_read = to_read.clone();
                scope.spawn(move || work(&to_read, tools));
            }
            drop(to_read);
            let comparing = scope.spawn(move || comparison.run(&events, &jobs, &to_session));
            let taken = self.take_items(&items, tools.budget);
            // After an error the others find nobody listening, and end.
            let costs = items.try_iter().map(|item| if let Item::Job { cost, .. } = item { cost } else { 0 });
            costs.for_each(|cost| tools.budget.give(cost));
            drain(items, tools.budget);
            comparing.join().expect("comparing does not panic")?;
            taken
        })
    }

    fn take_items(&mut self, items: &Receiver<Item>, budget: &Budget) -> Result<(), BackupError> {
        for item in items {
            match item {
                Item::Same(entry, file) => self.take_same(*entry, file)?,
                Item::Job { path, parts, old, cost, is_reused } => {
                    let taken = self.take_job(path, &parts, old, is_reused);
                    budget.give(cost);
                    taken?;
                }
                Item::Link { path, stat } => self.take_link(path, &stat)?,
                Item::Trouble(trouble) => self.trouble(trouble),
            }
            self.act()?;
            self.claim_if_due()?;
            if self.attempt.interrupted.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn take_same(&mut self, mut entry: Entry, file: FileId) -> Result<(), BackupError> {
        if entry.kind() == EntryKind::File {
            self.outcome.summary.unmodified += 1;
        }
        self.attempt.progress.now_at(entry.path.as_bytes());
        self.attempt.progress.add_done(entry.size);
        if let Some(group) = entry.extras.hardlink {
            let group = self.recorder.group_of(file, group);
            entry.extras.hardlink = Some(group);
            self.linked.insert(group, (entry.size, entry.content.clone(), entry.extras.clone()));
        }
        self.add(entry)
    }

    fn take_job(
        &mut self,
        path: TreePath,
        parts: &Receiver<Part>,
        old: Option<Box<Entry>>,
        is_reused: bool,
    ) -> Result<(), BackupError> {
        self.attempt.progress.now_at(path.as_bytes());
        let mut pieces: Vec<Piece> = Vec::new();
        let mut inline = None;
        let found = loop {
            match parts.recv() {
                Ok(Part::Inline(bytes)) => {
                    self.attempt.progress.add_done(bytes.len() as u64);
                    inline = Some(bytes);
                }
                Ok(Part::Chunks { bytes, cuts }) => {
                    for (id, range) in cuts {
                        pieces.push(Piece { id, length: range.len() as u32 });
                        self.add_chunk(id, &bytes[range])?;
                    }
                    self.attempt.progress.add_done(bytes.len() as u64);
                    self.act()?;
                }
                Ok(Part::Again) => {
                    pieces.clear();
                    inline = None;
                }
                Ok(Part::Done(found)) => break found,
                Ok(Part::Failed(why)) => {
                    self.trouble(Trouble { path: source_of(&path), kind: TroubleKind::Unreadable, why });
                    return Ok(());
                }
                // The reader is gone without a word: the process is ending.
                Err(_) => return Err(BackupError::Interrupted),
            }
        };
        if found.is_changing {
            let why = "it changed each time it was read".to_owned();
            self.trouble(Trouble { path: source_of(&path), kind: TroubleKind::Changing, why });
        }
        for why in &found.unreadable {
            self.trouble(Trouble { path: source_of(&path), kind: TroubleKind::Unreadable, why: why.clone() });
        }
        let mut found = found;
        let content = match (&old, inline) {
            (Some(old), _) if is_reused => {
                found.extras.holes = old.extras.holes.clone();
                old.content.clone()
            }
            (_, Some(bytes)) if bytes.is_empty() => Content::None,
            (_, Some(bytes)) => Content::Inline(bytes),
            (_, None) => {
                let known = Known::new(self.attempt, self.carried);
                self.session.content_of(pieces, |id| known.has(id))?
            }
        };
        let stat = found.stat;
        let Some(entry) = self.recorder.entry(path.clone(), &stat, content, found.extras) else {
            let why = "it is of a kind that cannot be backed up".to_owned();
            self.trouble(Trouble { path: source_of(&path), kind: TroubleKind::Unreadable, why });
            return Ok(());
        };
        if let Some(group) = entry.extras.hardlink {
            self.linked.insert(group, (entry.size, entry.content.clone(), entry.extras.clone()));
        }
        if entry.kind() == EntryKind::File {
            let summary = &mut self.outcome.summary;
            *match old {
                None => &mut summary.new,
                // Read again to be sure, and found to be the same.
                Some(old) if *old == entry => &mut summary.unmodified,
                Some(_) => &mut summary.changed,
            } += 1;
        }
        self.add(entry)
    }

    /// Another name of a file that was taken before: the same content.
    fn take_link(&mut self, path: TreePath, stat: &EntryStat) -> Result<(), BackupError> {
        let group = self.recorder.group(stat).unwrap_or(stat.inode);
        let Some((size, content, extras)) = self.linked.get(&group).cloned() else {
            let why = "the file it is another name of could not be read".to_owned();
            self.trouble(Trouble { path: source_of(&path), kind: TroubleKind::Unreadable, why });
            return Ok(());
        };
        let stat = EntryStat { size, ..stat.clone() };
        if let Some(entry) = self.recorder.entry(path, &stat, content, extras) {
            if entry.kind() == EntryKind::File {
                self.outcome.summary.unmodified += 1;
            }
            self.add(entry)?;
        }
        Ok(())
    }

    fn add_chunk(&mut self, id: ChunkId, bytes: &[u8]) -> Result<(), BackupError> {
        let before = self.session.tally().bytes_new;
        let known = Known::new(self.attempt, self.carried);
        self.session.add_chunk(id, bytes, |id| known.has(id))?;
        self.attempt.progress.add_new(self.session.tally().bytes_new - before);
        self.act()
    }

    fn add(&mut self, entry: Entry) -> Result<(), BackupError> {
        let counts = &mut self.outcome.counts;
        match entry.kind() {
            EntryKind::File => {
                counts.files += 1;
                counts.bytes += entry.size;
                self.attempt.progress.file_done();
            }
            EntryKind::Directory => counts.directories += 1,
            _ => counts.others += 1,
        }
        let known = Known::new(self.attempt, self.carried);
        self.session.add_entry(entry, |id| known.has(id))?;
        Ok(())
    }

    /// One stream as the only file of the snapshot.
    fn take_stream(&mut self, name: &[u8], mut bytes: impl Read, tools: &Tools<'_>) -> Result<(), BackupError> {
        let path = TreePath::new(name.to_vec()).map_err(|error| BackupError::Stream(std::io::Error::other(error)))?;
        let mut pieces = Vec::new();
        let mut window = Vec::new();
        let mut size = 0;
        let mut is_last = false;
        while !is_last || !window.is_empty() {
            if !is_last {
                let wanted = (STREAM_WINDOW - window.len()) as u64;
                let got =
                    Read::by_ref(&mut bytes).take(wanted).read_to_end(&mut window).map_err(BackupError::Stream)?;
                is_last = (got as u64) < wanted;
            }
            let mut start = 0;
            while start < window.len()
                && let Some(length) = tools.chunker.next_cut(&window[start..], is_last)
            {
                let chunk = &window[start..start + length];
                let id = tools.keys.chunk_id(chunk);
                pieces.push(Piece { id, length: length as u32 });
                self.add_chunk(id, chunk)?;
                size += length as u64;
                start += length;
            }
            self.attempt.progress.add_done(start as u64);
            window.drain(..start);
            self.claim_if_due()?;
            if self.attempt.interrupted.load(Ordering::Relaxed) {
                return Err(BackupError::Interrupted);
            }
        }
        let known = Known::new(self.attempt, self.carried);
        let content = self.session.content_of(pieces, |id| known.has(id))?;
        let stat = EntryStat {
            mode: 0o100_600,
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            size,
            mtime: self.started,
            ctime: self.started,
            birth: None,
            inode: 0,
            device: 0,
            links: 1,
            rdev: (0, 0),
            blocks: 0,
        };
        self.outcome.summary.new += 1;
        if let Some(entry) = self.recorder.entry(path, &stat, content, Extras::default()) {
            self.add(entry)?;
        }
        Ok(())
    }

    fn trouble(&mut self, trouble: Trouble) {
        if trouble.kind == TroubleKind::Unreadable {
            self.outcome.summary.errors += 1;
            self.attempt.progress.add_error();
        }
        self.outcome.troubles.push(trouble);
    }

    /// Does what the session asks for, and gives it what is ready.
    fn act(&mut self) -> Result<(), BackupError> {
        while let Some(action) = self.session.poll() {
            match action {
                Action::Seal(job) => self.output.seal(job),
                Action::Store(pack) => {
                    self.own.insert(pack.id);
                    self.carried.packs.push((pack.id, pack.bytes.len() as u64));
                    self.carried.ids.extend(pack.table.ids.iter().copied());
                    self.output.store(pack);
                }
            }
            while let Some(sealed) = self.output.try_sealed() {
                self.session.sealed(sealed?)?;
            }
            self.output.check()?;
        }
        Ok(())
    }

    /// Writes an intermediate manifest if enough is stored, or enough time has passed: so that what an interrupted run
    /// has uploaded is not uploaded again, and no ingest has too much to do.
    fn claim_if_due(&mut self) -> Result<(), BackupError> {
        let packs = self.carried.packs.len();
        let is_due = packs >= MANIFEST_PACKS || (packs > 0 && self.listed.elapsed() >= MANIFEST_EVERY);
        if !is_due || self.attempt.options.is_dry_run {
            return Ok(());
        }
        self.flush()?;
        self.claim(None)?;
        Ok(())
    }

    /// Seals and stores everything that is open.
    fn flush(&mut self) -> Result<(), BackupError> {
        self.session.flush()?;
        self.act()?;
        while !self.session.close_packs_if_idle() {
            let sealed = self.output.next_sealed()?;
            self.session.sealed(sealed)?;
            self.act()?;
        }
        self.act()?;
        self.output.settle()?;
        Ok(())
    }

    /// Claims what is stored; gives why it was rejected, if it was.
    fn claim(&mut self, snapshot: Option<SnapshotClaim>) -> Result<Option<String>, BackupError> {
        if self.chain.is_none() {
            let attempt = self.attempt;
            let ingest = attempt.descriptor.ingest;
            self.chain = Some(Chain::find(attempt.repository, attempt.client, ingest, &attempt.view)?);
        }
        let chain = self.chain.as_mut().expect("found above");
        self.session.take_listing();
        self.listed = Instant::now();
        let is_final = snapshot.is_some();
        let (hash, receipt) = chain.add(self.carried.packs.clone(), snapshot, &self.own)?;
        match refusal(&receipt) {
            None => {
                self.carried.packs.clear();
                if is_final {
                    self.outcome.snapshot = Some(hash.snapshot());
                }
                Ok(None)
            }
            Some(why) => {
                // What is doomed or missing is stored again by the next attempt; the rest may be named again.
                self.carried.packs.retain(|(id, _)| !receipt.packs.contains(id));
                receipt.missing.iter().for_each(|id| {
                    self.carried.ids.remove(id);
                });
                if !receipt.packs.is_empty() {
                    self.carried.ids.clear();
                    self.carried.packs.clear();
                }
                Ok(Some(why))
            }
        }
    }

    fn finish(mut self) -> Result<Answer, BackupError> {
        let is_interrupted = self.attempt.interrupted.load(Ordering::Relaxed);
        if is_interrupted {
            self.flush()?;
            if !self.carried.packs.is_empty() && !self.attempt.options.is_dry_run {
                self.claim(None)?;
            }
            return Err(BackupError::Interrupted);
        }
        let tree = {
            let known = Known::new(self.attempt, self.carried);
            self.session.finish_tree(|id| known.has(id))?
        };
        self.flush()?;
        self.outcome.tally = self.session.tally();
        let is_same = self.attempt.basis.snapshot.is_some_and(|basis| basis.root == tree.root);
        if self.attempt.options.is_dry_run || (is_same && self.attempt.options.skip_if_unchanged) {
            return Ok(Answer::Done(Box::new(self.outcome)));
        }
        while self.carried.packs.len() > MANIFEST_PACKS {
            let rest = self.carried.packs.split_off(MANIFEST_PACKS);
            if let Some(why) = self.claim(None)? {
                self.carried.packs.extend(rest);
                return Ok(Answer::Rejected(why));
            }
            self.carried.packs = rest;
        }
        let claim = self.snapshot_claim(&tree)?;
        match self.claim(Some(claim))? {
            None => Ok(Answer::Done(Box::new(self.outcome))),
            Some(why) => Ok(Answer::Rejected(why)),
        }
    }

    fn snapshot_claim(&mut self, tree: &FinishedTree) -> Result<SnapshotClaim, BackupError> {
        let options = self.attempt.options;
        let info = self.outcome.info(options, self.started);
        info.check()?;
        let bytes = info.encode();
        let counter = self.session.take_counter()?;
        let number = counter.get();
        let mut block = BlockBuilder::new(BlockKind::Info, bytes.len().max(1));
        block.push(self.keys.chunk_id(&bytes), &bytes, None);
        let job = block.take(counter).expect("it holds the description");
        let mut tools = SealTools::new(Parameters::of_level(self.attempt.descriptor.parameters.zstd_level));
        let sealed = job.run(&mut tools, &self.cipher)?;
        let mut tags: Vec<_> = info.tags.iter().map(|tag| self.keys.tag_id(tag)).collect();
        tags.sort_unstable();
        tags.dedup();
        Ok(SnapshotClaim {
            root: tree.root,
            partial: false,
            client_time: options.time.unwrap_or(self.started),
            source: self.keys.source_id(&info.host, &info.paths, &info.label),
            tags,
            session_record: self.record.bytes().to_vec(),
            counter: number,
            info: sealed.bytes,
        })
    }
}

/// What need not be stored: what the repository has, and what earlier attempts have stored.
struct Known<'a> {
    basis: &'a Basis,
    carried: &'a HashSet<ChunkId>,
}

impl<'a> Known<'a> {
    fn new(attempt: &'a Attempt<'_>, carried: &'a Carried) -> Self {
        Self { basis: &attempt.basis, carried: &carried.ids }
    }

    fn has(&self, id: &ChunkId) -> bool {
        self.carried.contains(id) || self.basis.status(id).may_deduplicate()
    }
}

/// Takes what is left, so that nobody waits for room.
fn drain(items: Receiver<Item>, budget: &Budget) {
    thread::scope(|scope| {
        scope.spawn(|| {
            for item in items {
                if let Item::Job { cost, .. } = item {
                    budget.give(cost);
                }
            }
        });
    });
}

fn now() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Time::from_unix(since.as_secs() as i64, since.subsec_nanos())
}

/// Bytes read and not yet taken.
const READ_AHEAD: u64 = 64 << 20;
/// Entries between comparing and the session.
const ITEMS: usize = 1024;
/// Bytes of a stream that are looked at together.
const STREAM_WINDOW: usize = 8 << 20;
/// Packs one manifest names at most.
const MANIFEST_PACKS: usize = copal_engine::limits::MANIFEST_PACKS;
/// How long what is stored may wait for a manifest.
const MANIFEST_EVERY: Duration = Duration::from_secs(120);
