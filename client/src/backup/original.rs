//! Original: a snapshot as the source of a backup, of this repository or another one. Its entries are compared with those of
//! earlier copies; only content that none of them has is read, cut anew and named by the target's keys.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use copal_engine::backup::reuse::RewriteBudget;
use copal_format::id::ChunkId;
use copal_format::path::TreePath;
use copal_format::tree::{Content, Entry, EntryKind, Extents, Mode, Piece};
use crossbeam_channel::{Receiver, Sender, bounded};

use super::content::{Cutting, Part, Read, Tools};
use super::cursor::{Entries, TreeCursor};
use super::outbox::{Copied, Fate, Outbox, Outgoing};
use super::parent::{Compared, Parent};
use super::{BackupError, SkipKind, Trouble, TroubleKind};
use crate::filter::Filter;
use crate::materialize::is_power;
use crate::reader::{ReadError, TreeError};
use crate::restore::Identities;
use crate::scan::source_of;

/// Reads snapshots that are to be copied.
pub trait Originals: Sync {
    /// The entries of the snapshot with this root.
    fn entries(&self, root: ChunkId) -> Box<dyn Entries + '_>;

    /// All pieces of an entry's content, in order.
    fn pieces(&self, entry: &Entry, take: &mut dyn FnMut(Piece)) -> Result<(), TreeError>;

    /// Passes on the bytes of a piece, which have its id.
    fn chunk(&self, id: &ChunkId, take: &mut dyn FnMut(&[u8])) -> Result<(), ReadError>;
}

/// A snapshot as the source of a backup.
pub struct Original<'a> {
    /// Reads it.
    pub from: &'a dyn Originals,
    /// Its root.
    pub root: ChunkId,
    /// What to leave out.
    pub excludes: &'a Filter,
    /// Whether to leave out what a restore would not take from a write-only client.
    pub is_tamed: bool,
    /// Copies of this snapshot or of earlier ones in the target, the preferred one first.
    pub copies: Vec<EarlierCopy>,
    /// Threads that read.
    pub readers: usize,
    /// How many entries that are lost are named; the others are counted.
    pub most_named: usize,
}

/// A snapshot or checkpoint in the target that is a copy, and the snapshot that it was copied from.
#[derive(Copy, Clone, Debug)]
pub struct EarlierCopy {
    /// The copy.
    pub copy: Compared,
    /// The root page of what it was copied from.
    pub of: ChunkId,
}

/// An entry whose content is to be read.
pub(super) struct ContentJob {
    entry: Box<Entry>,
    parts: Sender<Part<Read>>,
}

/// Compares an original with earlier copies.
pub(super) struct Copying<'a> {
    pub(super) original: &'a Original<'a>,
    pub(super) parent: &'a Parent,
    pub(super) tools: &'a Tools<'a>,
    pub(super) interrupted: &'a AtomicBool,
}

/// An earlier copy and its original, read in step with the new original.
struct Twins<'a> {
    copy: TreeCursor<'a>,
    /// None if the copy is of the new original itself.
    of: Option<TreeCursor<'a>>,
}

impl Copying<'_> {
    /// Sends an item for every entry, and a job for all content to be read. Ends early if the receiver has gone.
    pub(super) fn run(
        self,
        jobs: &Sender<ContentJob>,
        items: &Sender<Vec<Outgoing>>,
        ended: &AtomicBool,
    ) -> Result<(), BackupError> {
        let original = self.original;
        let mut entries = original.from.entries(original.root);
        let mut twins: Vec<Twins<'_>> = original.copies.iter().map(|earlier| self.twins(earlier)).collect();
        let (identities, mut met) = (Identities::default(), HashSet::new());
        let mut outbox = Outbox::new(items);
        let mut left_out: Option<TreePath> = None;
        loop {
            let next = entries.next().map_err(BackupError::Original)?;
            for (path, why) in entries.troubles() {
                let trouble = Trouble { path: source_of(&path), kind: TroubleKind::Unreadable, why };
                if !outbox.put(Outgoing::Trouble(trouble)) {
                    return Ok(());
                }
            }
            let Some(mut entry) = next else { break };
            if self.interrupted.load(Ordering::Relaxed) || ended.load(Ordering::Relaxed) {
                return Ok(());
            }
            if left_out.as_ref().is_some_and(|directory| entry.path.is_within(directory)) {
                continue;
            }
            if original.excludes.excludes(&entry.path, entry.kind() == EntryKind::Directory) {
                left_out = Some(entry.path);
                continue;
            }
            let identity = identities.of(&entry);
            if original.is_tamed
                && let Some(trouble) = tame(&mut entry)
            {
                if !outbox.put(Outgoing::Trouble(trouble)) {
                    return Ok(());
                }
                if is_device(&entry) {
                    continue;
                }
            }
            let is_met = identity.is_some_and(|identity| !met.insert(identity));
            let item = match is_met {
                true => {
                    Some(Outgoing::Copied(Copied { entry: entry.into(), identity, fate: Fate::OtherName, cost: 0 }))
                }
                false => self.compare(entry, identity, &mut twins, jobs, &mut outbox)?,
            };
            if !item.is_some_and(|item| outbox.put(item)) {
                return Ok(());
            }
        }
        outbox.flush();
        Ok(())
    }

    fn twins(&self, earlier: &EarlierCopy) -> Twins<'_> {
        let original = self.original;
        let of = (earlier.of != original.root).then(|| TreeCursor::of(original.from.entries(earlier.of)));
        Twins { copy: TreeCursor::new(&*self.parent.pages, earlier.copy.root), of }
    }

    /// Makes an entry's item; none if the receiver has gone.
    fn compare(
        &self,
        entry: Entry,
        identity: Option<(u64, u64)>,
        twins: &mut [Twins<'_>],
        jobs: &Sender<ContentJob>,
        outbox: &mut Outbox<'_>,
    ) -> Result<Option<Outgoing>, BackupError> {
        let mut is_new = true;
        let mut same = None;
        for twins in twins {
            let (copy, is_same) = twins.at(&entry)?;
            is_new &= copy.is_none();
            same = same.or(copy.filter(|copy| is_same && self.may_reuse(copy)));
        }
        let is_small = match &entry.content {
            Content::None => true,
            Content::Inline(_) => entry.content_bytes() <= self.tools.inline_max as u64,
            Content::Chunks(_) | Content::List { .. } => false,
        };
        let (mut cost, mut job) = (0, None);
        let fate = match same {
            Some(copy) => Fate::Same(copy.content),
            None if is_small => Fate::Held { is_new },
            None => {
                let Some(taken_of) = outbox.take(self.tools.budget, Tools::cost(entry.size)) else { return Ok(None) };
                cost = taken_of;
                let (parts, taken) = bounded(2);
                job = Some(ContentJob { entry: entry.clone().into(), parts });
                Fate::Read { parts: taken, is_new }
            }
        };
        if let Some(job) = job
            && !outbox.send_job(jobs, job)
        {
            return Ok(None);
        }
        Ok(Some(Outgoing::Copied(Copied { entry: entry.into(), identity, fate, cost })))
    }

    /// Whether the target still has a copy's content.
    fn may_reuse(&self, copy: &Entry) -> bool {
        self.parent.may_reuse(&mut RewriteBudget(0), copy)
    }
}

impl Twins<'_> {
    /// The copy's entry, and whether it is a copy of the same content. Metadata does not count: a file may have changed
    /// although none of it did, and only ids tell that its bytes are the same.
    fn at(&mut self, entry: &Entry) -> Result<(Option<Entry>, bool), BackupError> {
        let copy = self.copy.at(&entry.path).map_err(BackupError::Parent)?;
        let is_alike = |other: &Entry| {
            other.kind() == entry.kind() && other.size == entry.size && other.extras.holes == entry.extras.holes
        };
        let is_same = match &mut self.of {
            None => true,
            Some(of) => {
                let of = of.at(&entry.path).map_err(BackupError::Original)?;
                of.is_some_and(|of| is_alike(&of) && of.content == entry.content)
            }
        };
        let is_same = is_same && copy.as_ref().is_some_and(is_alike);
        Ok((copy, is_same))
    }
}

pub(super) fn work(jobs: &Receiver<ContentJob>, original: &Original<'_>, tools: &Tools<'_>) {
    for ContentJob { entry, parts } in jobs {
        let last = match send(&entry, &parts, original, tools) {
            Ok(()) => Part::Done(Ok(())),
            Err(Unread::Damaged(why)) => Part::Failed(why),
            Err(Unread::Failed(error)) => Part::Done(Err(error)),
        };
        // Sending fails only if the backup has ended early.
        let _ = parts.send(last);
    }
}

/// Why content is not read.
enum Unread {
    Damaged(String),
    /// The store does not answer: this says nothing about damage.
    Failed(ReadError),
}

impl From<ReadError> for Unread {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Store(_) => Self::Failed(error),
            error => Self::Damaged(error.to_string()),
        }
    }
}

fn send(entry: &Entry, parts: &Sender<Part<Read>>, original: &Original<'_>, tools: &Tools<'_>) -> Result<(), Unread> {
    let mut cutting = Cutting::new(tools);
    if let Content::Inline(content) = &entry.content {
        Extents::of(entry).inline(content).for_each(|(_, bytes)| cutting.push(bytes, parts));
    }
    let mut take = |id: &ChunkId, length: u32| {
        let mut is_whole = false;
        original.from.chunk(id, &mut |bytes| {
            cutting.push(bytes, parts);
            is_whole = bytes.len() == length as usize;
        })?;
        if is_whole { Ok(()) } else { Err(Unread::Damaged(format!("{id} is not as long as the entry says"))) }
    };
    let mut taken = Ok(());
    let listed = original.from.pieces(entry, &mut |piece| {
        if taken.is_ok() {
            taken = take(&piece.id, piece.length);
        }
    });
    taken?;
    match listed {
        Ok(()) => {}
        Err(TreeError::Read(error)) => return Err(error.into()),
        Err(error) => return Err(Unread::Damaged(error.to_string())),
    }
    if cutting.length != entry.content_bytes() {
        return Err(Unread::Damaged("its content is not as long as the entry says".into()));
    }
    cutting.finish(parts);
    Ok(())
}

/// Leaves out the rights that a restore does not take from a write-only client; returns a trouble about them. Also
/// leaves out ctime and inode number, by which a later backup of a full client would skip the file as unchanged.
fn tame(entry: &mut Entry) -> Option<Trouble> {
    entry.ctime = entry.mtime;
    entry.inode = 0;
    let permissions = entry.mode.permissions() & !SPECIAL;
    let is_device = is_device(entry);
    let has_bits = entry.kind() != EntryKind::Directory && permissions != entry.mode.permissions();
    let before = entry.extras.xattrs.len();
    entry.extras.xattrs.retain(|(name, _)| !is_power(name));
    if has_bits {
        entry.mode = Mode::new(entry.kind(), permissions);
    }
    (is_device || has_bits || entry.extras.xattrs.len() < before).then(|| Trouble {
        path: source_of(&entry.path),
        kind: TroubleKind::Skipped(SkipKind::Noted),
        why: "a write-only client has saved rights with it, which are left out (see --trust)".into(),
    })
}

fn is_device(entry: &Entry) -> bool {
    matches!(entry.kind(), EntryKind::CharDevice | EntryKind::BlockDevice)
}

/// Set-user-id and set-group-id.
const SPECIAL: u16 = 0o6000;
