//! Compare: what differs between two directories of snapshots.

use std::cmp::Ordering;

use copal_client::reader::{EntryStream, PageReader, TreeError};
use copal_engine::difference::{Difference, difference};
use copal_format::id::ChunkId;
use copal_format::path::TreePath;
use copal_format::tree::{Change as TreeChange, DiffStep, Entry, EntryKind, TreeDiff};

use crate::report::Failure;
use crate::report::field::PathField;
use crate::report::rows::{Change, DiffRow};

/// One side of a comparison: a directory or other entry of a tree.
#[derive(Copy, Clone, Debug)]
pub struct Side<'a> {
    /// The tree's root page.
    pub root: ChunkId,
    pub path: &'a TreePath,
}

/// Passes every difference to `found`, in order. If both sides have the same path, pages that both trees share are not
/// read.
pub fn compare(
    pages: &PageReader,
    before: Side<'_>,
    after: Side<'_>,
    mut found: impl FnMut(DiffRow) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut tell = |before: Option<&Entry>, after: Option<&Entry>| match difference(before, after) {
        Some(how) => found(row(change_of(how), before, after)),
        None => Ok(()),
    };
    if before.path == after.path {
        return compare_trees(pages, before, after, &mut tell);
    }
    compare_entries(&mut Below::new(pages, before), &mut Below::new(pages, after), &mut tell)
}

type Tell<'a> = dyn FnMut(Option<&Entry>, Option<&Entry>) -> Result<(), Failure> + 'a;

fn compare_trees(pages: &PageReader, before: Side<'_>, after: Side<'_>, tell: &mut Tell<'_>) -> Result<(), Failure> {
    let directory = before.path;
    let mut diff = TreeDiff::new(before.root, after.root);
    loop {
        match diff.step() {
            DiffStep::Done => return Ok(()),
            DiffStep::Need(id) => {
                diff.supply(pages.page(&id)?).map_err(TreeError::from)?;
            }
            DiffStep::Change(TreeChange { path, before, after }) => {
                if path.is_within(directory) {
                    tell(before.as_ref(), after.as_ref())?;
                } else if path > *directory {
                    return Ok(());
                }
            }
        }
    }
}

/// Merges the entries of both sides by their paths relative to the two directories.
fn compare_entries(before: &mut Below<'_>, after: &mut Below<'_>, tell: &mut Tell<'_>) -> Result<(), Failure> {
    let (mut old, mut new) = (before.next()?, after.next()?);
    loop {
        let order = match (&old, &new) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => TreePath::compare(before.below(old), after.below(new)),
        };
        tell(old.as_ref().filter(|_| order.is_le()), new.as_ref().filter(|_| order.is_ge()))?;
        if order.is_le() {
            old = before.next()?;
        }
        if order.is_ge() {
            new = after.next()?;
        }
    }
}

struct Below<'a> {
    entries: EntryStream<'a>,
    path: TreePath,
}

impl<'a> Below<'a> {
    fn new(pages: &'a PageReader, side: Side<'_>) -> Self {
        let mut entries = pages.entries(side.root);
        entries.seek(side.path.clone());
        Self { entries, path: side.path.clone() }
    }

    fn next(&mut self) -> Result<Option<Entry>, Failure> {
        let entry = self.entries.next()?;
        Ok(entry.filter(|entry| entry.path.is_within(&self.path)))
    }

    /// An entry's path relative to `path`; empty for `path` itself.
    fn below<'e>(&self, entry: &'e Entry) -> &'e [u8] {
        let rest = &entry.path.as_bytes()[self.path.as_bytes().len()..];
        rest.strip_prefix(b"/").unwrap_or(rest)
    }
}

fn change_of(how: Difference) -> Change {
    match how {
        Difference::Added => Change::Added,
        Difference::Removed => Change::Removed,
        Difference::Type => Change::Type,
        Difference::Modified => Change::Modified,
        Difference::Metadata => Change::Metadata,
    }
}

fn row(change: Change, before: Option<&Entry>, after: Option<&Entry>) -> DiffRow {
    let size = |entry: &Entry| (entry.kind() == EntryKind::File).then_some(entry.size);
    let path = after.or(before).map(|entry| PathField::of(&entry.path));
    DiffRow {
        change,
        path: path.unwrap_or_else(|| PathField::of(&TreePath::TOP)),
        size_before: before.and_then(size),
        size_after: after.and_then(size),
    }
}
