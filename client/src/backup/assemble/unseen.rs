//! Unseen: takes over what a narrowed backup did not look at.

use std::sync::Arc;

use copal_engine::backup::session::FinishedTree;
use copal_format::snapshot::Counts;
use copal_format::tree::{Entry, EntryKind, PageContent, Passed, WalkError};

use super::super::BackupError;
use super::{Assembly, Known};
use crate::changed::{Gap, Narrowing};
use crate::reader::TreeError;
use crate::scan::{Scan, Scope};

impl Assembly<'_, '_> {
    /// What the list of changes makes the backup look at. If the lists are to be checked, that is everything.
    pub(super) fn narrow(&mut self, narrowing: &Narrowing, scan: &Arc<Scan>) -> Result<Scope, Gap> {
        let parent = &self.attempt.parent;
        let (before, snapshot) = parent.followed_by(narrowing)?;
        let scope = narrowing.scope(&before, scan.options(), (&*parent.pages, snapshot.root))?;
        if before.narrowed >= narrowing.most {
            self.outcome.gap = Some(Gap::Audit(before.narrowed));
        } else {
            self.base = Some(before.counts());
            self.outcome.is_narrowed = true;
        }
        Ok(scope)
    }

    /// Takes over a page whole, or what is in it if pages do not end there now.
    pub(super) fn take_page(&mut self, page: &Passed) -> Result<(), BackupError> {
        let id = page.child.id;
        let known = Known::new(&self.index, self.carried);
        if let Some(found) = self.index.lookup(&id)
            && self.session.take_over(page, found.height, |id| known.has(id))?
        {
            self.attempt.progress.add_done(page.child.bytes);
            return Ok(());
        }
        let read = self.attempt.parent.pages.page(&id).map_err(TreeError::from)?;
        match (read.into_content(), page.level.checked_sub(1)) {
            (PageContent::Entries(entries), None) => entries.iter().try_for_each(|entry| self.take_unseen(entry)),
            (PageContent::Directory(children), Some(level)) => {
                children.into_iter().try_for_each(|child| self.take_page(&Passed { child, level }))
            }
            _ => Err(TreeError::from(WalkError::Kind { id }).into()),
        }
    }

    pub(super) fn take_unseen(&mut self, entry: &Entry) -> Result<(), BackupError> {
        self.attempt.progress.add_done(entry.size);
        if self.store(entry)? { Ok(()) } else { Err(Gap::Counts.into()) }
    }

    /// No longer counts an entry of the parent snapshot.
    pub(super) fn leave(&mut self, entry: &Entry) {
        let Some(base) = &mut self.base else { return };
        let count = match entry.kind() {
            EntryKind::File => {
                base.bytes = base.bytes.wrapping_sub(entry.size);
                &mut base.files
            }
            EntryKind::Directory => &mut base.directories,
            _ => &mut base.others,
        };
        *count = count.wrapping_sub(1);
    }

    /// Counts what was looked at and what was not. The tree says whether that is right.
    pub(super) fn count_narrowed(&mut self, tree: &FinishedTree) -> Result<(), Gap> {
        let Some(base) = self.base else { return Ok(()) };
        let seen = self.outcome.counts;
        let counts = Counts {
            files: base.files.wrapping_add(seen.files),
            directories: base.directories.wrapping_add(seen.directories),
            others: base.others.wrapping_add(seen.others),
            bytes: base.bytes.wrapping_add(seen.bytes),
        };
        let entries =
            [counts.files, counts.directories, counts.others].iter().fold(0, |sum: u64, n| sum.wrapping_add(*n));
        if (entries, counts.bytes) != (tree.entries, tree.bytes) {
            return Err(Gap::Counts);
        }
        self.outcome.counts = counts;
        let summary = &mut self.outcome.summary;
        summary.unmodified = counts.files.saturating_sub(summary.new).saturating_sub(summary.changed);
        Ok(())
    }
}
