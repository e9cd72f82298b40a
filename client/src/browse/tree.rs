//! Tree: the entries of a snapshot, found by path or by number, from pages that are read on demand.

use std::sync::Arc;

use copal_format::id::{ChunkId, SnapshotId};
use copal_format::limits::HEIGHT;
use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::{Entry, EntryKind, LostRange, PageContent};

use super::domain::Domain;
use super::page::{Claim, TreePage};
use crate::history::Snapshot;
use crate::materialize::{Powers, TargetOptions};
use crate::reader::ReadError;
use crate::restore::{cut_mode_for, options_for};

pub(super) struct Tree {
    pub(super) snapshot: SnapshotId,
    pub(super) time: Time,
    pub(super) domain: Arc<Domain>,
    root: ChunkId,
    pub(super) options: TargetOptions,
    pub(super) cut_mode: u16,
}

pub(super) struct Position {
    page: Arc<TreePage>,
    at: usize,
    /// The entry's number in the tree.
    pub(super) number: u64,
}

/// What is at a place in a tree.
pub(super) enum Reached {
    Entry(Position),
    Lost(Lost),
    End,
}

/// A page that cannot be read.
pub(super) struct Lost {
    pub(super) error: ReadError,
    pub(super) range: LostRange,
    /// The number of the first entry after the page; none if it is the last page.
    pub(super) next: Option<u64>,
}

/// The entry that is sought.
#[derive(Copy, Clone)]
pub(super) enum Sought<'a> {
    /// The first entry at or after a path.
    Path(&'a TreePath),
    /// The entry of a number.
    Number(u64),
}

impl Tree {
    pub(super) fn new(snapshot: &Snapshot, domain: Arc<Domain>) -> Self {
        Self {
            snapshot: snapshot.id,
            time: snapshot.time,
            domain,
            root: snapshot.root,
            options: options_for(snapshot),
            cut_mode: cut_mode_for(snapshot),
        }
    }

    /// Finds an entry. A failure of the store is an error; a damaged page is a place that was reached.
    pub(super) fn reach(&self, sought: Sought<'_>) -> Result<Reached, ReadError> {
        let mut first = 0;
        let mut after: Option<(Arc<TreePage>, usize)> = None;
        let mut page = match self.domain.page(&self.root, &Claim::Root) {
            Ok(page) => page,
            Err(error @ ReadError::Store(_)) => return Err(error),
            Err(error) => {
                let range = LostRange { after: None, through: None };
                return Ok(Reached::Lost(Lost { error, range, next: None }));
            }
        };
        loop {
            let children = match &page.content {
                PageContent::Directory(children) => children,
                PageContent::Entries(entries) => {
                    let at = match sought {
                        Sought::Path(path) => entries.partition_point(|entry| entry.path < *path),
                        Sought::Number(number) => usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX),
                    };
                    let number = first.saturating_add(at as u64);
                    let is_there = at < entries.len();
                    return Ok(if is_there { Reached::Entry(Position { page, at, number }) } else { Reached::End });
                }
                PageContent::List(_) | PageContent::Lists(_) => return Ok(Reached::End),
            };
            let at = match sought {
                Sought::Path(path) => children.partition_point(|child| child.last_path < *path),
                Sought::Number(number) => page.item_with(number.saturating_sub(first)),
            };
            let Some(child) = children.get(at) else { return Ok(Reached::End) };
            first = first.saturating_add(page.before(at));
            after = at.checked_sub(1).map(|before| (page.clone(), before)).or(after);
            let last = after.as_ref().and_then(|(page, at)| page.last_path(*at));
            match self.domain.page(&child.id, &Claim::Entries { child, after: last, above: page.height.min(HEIGHT) }) {
                Ok(below) => page = below,
                Err(error @ ReadError::Store(_)) => return Err(error),
                Err(error) => {
                    let range = LostRange { after: last.cloned(), through: Some(child.last_path.clone()) };
                    return Ok(Reached::Lost(Lost { error, range, next: first.checked_add(child.entries) }));
                }
            }
        }
    }

    /// Whether entries of this kind are left out, as by a restore.
    pub(super) fn leaves_out(&self, kind: EntryKind) -> bool {
        match kind {
            EntryKind::Socket => true,
            EntryKind::CharDevice | EntryKind::BlockDevice => self.leaves_out_powers(),
            _ => false,
        }
    }

    /// Whether devices, set-user-id bits and the like are left out, as by a restore.
    pub(super) fn leaves_out_powers(&self) -> bool {
        self.options.powers == Powers::LeftOut || self.options.no_owner
    }
}

impl TreePage {
    /// The last path of an item of a directory.
    fn last_path(&self, at: usize) -> Option<&TreePath> {
        match &self.content {
            PageContent::Directory(children) => Some(&children.get(at)?.last_path),
            _ => None,
        }
    }
}

impl Position {
    pub(super) fn entry(&self) -> &Entry {
        match &self.page.content {
            PageContent::Entries(entries) => &entries[self.at],
            _ => unreachable!("positions are made in pages of entries"),
        }
    }

    /// The next entry of the same page.
    pub(super) fn next(self) -> Option<Self> {
        let PageContent::Entries(entries) = &self.page.content else { return None };
        let is_there = self.at + 1 < entries.len();
        is_there.then(|| Self { at: self.at + 1, number: self.number.saturating_add(1), ..self })
    }
}
