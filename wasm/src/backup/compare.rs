//! Compare: compares files with the kept trees of this client, and decides which to read.

use copal_engine::backup::change::{ChangeDetection, FileStat, is_unchanged};
use copal_engine::backup::content::is_unfinished;
use copal_engine::backup::kept::KeptTree;
use copal_format::id::ChunkId;
use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::{Content, Entry, EntryKind, Found, ListStep, ListWalk, Mode, TreeWalk, VerifiedPage};

use super::{Backup, Stage};
use crate::fault::{Code, Fault};

/// Facts of a file or directory that a host knows without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// Its path.
    pub path: TreePath,
    /// Bytes of a file.
    pub size: u64,
    /// When its content changed.
    pub modified: Time,
    /// Its kind.
    pub kind: FileKind,
}

/// The kinds that hosts can tell apart.
#[allow(missing_docs, reason = "their names say all")]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum FileKind {
    File,
    Directory,
}

/// What happens to a file.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its old entry is taken over.
    Same = 0,
    /// It is read: it is new.
    New = 1,
    /// It is read: it has changed, or the repository wants its bytes again.
    Changed = 2,
}

/// A file or directory that was compared.
pub(super) enum Compared {
    /// A parent directory that the host did not name.
    Above(Box<Entry>),
    /// An unchanged file, or a directory.
    Same(Box<Entry>),
    /// A file to be read.
    Read { path: TreePath, verdict: Verdict },
}

/// A walk through a kept tree, in step with the host's files, in constant memory.
pub(super) struct TreeCursor {
    walk: TreeWalk,
    begun: Time,
}

impl TreeCursor {
    pub(super) fn new(tree: &KeptTree<Vec<u8>>) -> Self {
        Self { walk: TreeWalk::new(tree.snapshot.root), begun: tree.snapshot.begun }
    }

    /// The tree's entry at a path; paths must ascend. Skips pages that cannot be read: their files are read again.
    fn at(&mut self, path: &TreePath, mut page: impl FnMut(&ChunkId) -> Option<VerifiedPage>) -> Option<Box<Entry>> {
        loop {
            match self.walk.find(path) {
                Found::Entry(entry) => return Some(entry),
                Found::Nothing => return None,
                Found::Need(id) => {
                    let supplied = page(&id).is_some_and(|page| self.walk.supply(page).is_ok());
                    if !supplied {
                        self.walk.skip(id)?;
                    }
                }
            }
        }
    }
}

impl Backup {
    /// Compares a file or directory; paths must ascend from call to call.
    pub fn compare(&mut self, file: &FileFacts) -> Result<Verdict, Fault> {
        if self.stage == Stage::Done || matches!(self.stage, Stage::Claiming { is_final: true, .. }) {
            return Err(Fault::misuse("the backup has been finished"));
        }
        if self.last_compared.as_ref().is_some_and(|last| *last >= file.path) {
            return Err(Fault::new(Code::OutOfOrder, format!("{} is out of order", file.path)));
        }
        if file.path.is_top() {
            return Err(Fault::new(Code::BadPath, "the top has no entry of its own"));
        }
        self.compare_parents(&file.path)?;
        self.last_compared.get_or_insert_default().clone_from(&file.path);
        if file.kind == FileKind::Directory {
            let modified = if file.modified == Time(0) { self.now } else { file.modified };
            let entry = self.directory(file.path.clone(), modified);
            self.compared.push_back(Compared::Same(entry));
            return Ok(Verdict::Same);
        }
        let old = self.old(&file.path).filter(|(entry, _)| entry.kind() == EntryKind::File);
        let verdict = match old {
            None => Verdict::New,
            Some((entry, begun)) => {
                let look =
                    FileStat { mode: FILE_MODE, size: file.size, mtime: file.modified, ctime: file.modified, inode: 0 };
                let signs = ChangeDetection { inode: false, ctime: false, parent_begun: Some(begun) };
                if is_unchanged(&entry, &look, signs) && self.may_reuse(&entry) {
                    self.compared.push_back(Compared::Same(entry));
                    return Ok(Verdict::Same);
                }
                Verdict::Changed
            }
        };
        self.compared.push_back(Compared::Read { path: file.path.clone(), verdict });
        Ok(verdict)
    }

    /// Adds entries for parent directories that the host did not name.
    fn compare_parents(&mut self, path: &TreePath) -> Result<(), Fault> {
        // All parents of an open directory are open, and most files are in the same directory as the one before.
        if self.directories.last().is_some_and(|directory| path.is_directly_in(directory)) {
            return Ok(());
        }
        self.directories.retain(|directory| path.is_within(directory));
        let mut above = Vec::new();
        let mut parent = path.parent();
        while let Some(directory) = parent.filter(|parent| !parent.is_top()) {
            parent = directory.parent();
            if !self.directories.contains(&directory) {
                above.push(directory);
            }
        }
        for directory in above.into_iter().rev() {
            if self.last_compared.as_ref() == Some(&directory) {
                return Err(Fault::new(Code::BadEntry, format!("{directory} is a file and holds {path}")));
            }
            let entry = self.directory(directory, self.now);
            self.compared.push_back(Compared::Above(entry));
        }
        Ok(())
    }

    /// The entry of a directory: the old one, so that pages stay the same, or a new one.
    fn directory(&mut self, path: TreePath, modified: Time) -> Box<Entry> {
        let old = self.old(&path).map(|(entry, _)| entry).filter(|entry| entry.kind() == EntryKind::Directory);
        let new = || Box::new(entry(path.clone(), DIRECTORY_MODE, modified, 0, Content::None));
        let entry = old.unwrap_or_else(new);
        self.directories.push(path);
        entry
    }

    /// The entry at a path in the first kept tree that has one, and the start time of that tree's backup.
    fn old(&mut self, path: &TreePath) -> Option<(Box<Entry>, Time)> {
        let (keys, trees) = (&self.keys, &mut self.kept_before);
        let mut found = None;
        for cursor in &mut self.cursors {
            // Trees share pages: a checkpoint's page may be in the kept tree of the snapshot before it.
            let entry = cursor.at(path, |id| trees.iter_mut().find_map(|tree| tree.page(keys, id)));
            let entry = entry.filter(|entry| !is_unfinished(entry));
            found = found.or(entry.map(|entry| (entry, cursor.begun)));
        }
        found
    }

    /// Whether to refer to the old content again. Wanted content is read again instead, within the budget.
    fn may_reuse(&mut self, old: &Entry) -> bool {
        let (view, domain) = (self.view.borrow(), self.client.domain());
        let (keys, kept) = (&self.keys, &mut self.kept_before);
        self.rewrite_budget.may_reuse(
            old,
            |id| view.status(domain, id),
            |take| {
                let Content::List { root, height } = &old.content else { return true };
                let mut walk = ListWalk::new(*root, *height, old.content_bytes());
                loop {
                    match walk.step() {
                        ListStep::Piece { piece, .. } if take(&piece) => {}
                        ListStep::Piece { .. } => return false,
                        ListStep::Need(id) => {
                            let page = kept.iter_mut().find_map(|tree| tree.page(keys, &id));
                            if page.is_none_or(|page| walk.supply(page).is_err()) {
                                return false;
                            }
                        }
                        ListStep::Done => return true,
                    }
                }
            },
        )
    }
}

pub(super) const FILE_MODE: u32 = 0o100_644;
const DIRECTORY_MODE: u32 = 0o040_755;

/// An entry with only what the host knows.
pub(super) fn entry(path: TreePath, mode: u32, modified: Time, size: u64, content: Content) -> Entry {
    let mode = Mode::from_bits(mode).expect("files and directories are known types");
    Entry { mtime: modified, ctime: modified, size, content, ..Entry::new(path, mode) }
}
