//! Unseen: takes over what a narrowed backup did not look at.

use copal_engine::backup::reuse::RewriteBudget;
use copal_engine::backup::session::FinishedTree;
use copal_format::snapshot::Counts;
use copal_format::tree::{Entry, EntryKind, PageContent, Passed, WalkError};

use super::super::narrowed::unreadable;
use super::super::{BackupError, Compared};
use super::{Assembly, Known};
use crate::changed::{Gap, Narrowing, Walked};
use crate::clock::now;
use crate::scan::{Scan, Scope};

impl Assembly<'_, '_> {
    /// Makes the scope of a list of changes. The backup looks only at that, unless it is time to check the lists.
    pub(super) fn narrow(
        &mut self,
        narrowing: &Narrowing,
        (before, snapshot): &(Walked, Compared),
        scan: &Scan,
    ) -> Result<Scope, Gap> {
        // A change after this time may be in the next list only.
        self.started = now();
        let tree = (&*self.attempt.parent.pages, snapshot.root, snapshot.begun);
        let scope = narrowing.scope(&before.troubles, scan.options(), tree)?;
        if before.narrowed >= narrowing.most {
            self.outcome.gap = Some(Gap::Audit(before.narrowed));
        } else {
            // A kept tree stores no counts. Each entry is counted as it is taken over.
            let is_counted = self.attempt.parent.kept.is_none();
            self.base = Some(if is_counted { snapshot.counts } else { Counts::default() });
            self.clock.follow(snapshot.begun, self.started);
            self.outcome.is_narrowed = true;
        }
        Ok(scope)
    }

    /// Takes over a whole page, or its entries if the new tree has no page that ends there.
    pub(super) fn take_page(&mut self, page: &Passed) -> Result<(), BackupError> {
        let id = page.child.id;
        let known = Known::new(&self.index, self.carried);
        if self.attempt.parent.kept.is_none()
            && let Some(found) = self.index.lookup(&id)
            && self.session.take_over(page, found.height, |id| known.has(id))?
        {
            self.attempt.progress.add_done(page.child.bytes);
            return Ok(());
        }
        let read = self.attempt.parent.pages.page(&id).map_err(unreadable)?;
        match (read.into_content(), page.level.checked_sub(1)) {
            (PageContent::Entries(entries), None) => entries.iter().try_for_each(|entry| self.take_unseen(entry)),
            (PageContent::Directory(children), Some(level)) => {
                children.into_iter().try_for_each(|child| self.take_page(&Passed { child, level }))
            }
            _ => Err(unreadable(WalkError::Kind { id })),
        }
    }

    pub(super) fn take_unseen(&mut self, entry: &Entry) -> Result<(), BackupError> {
        self.attempt.progress.add_done(entry.size);
        if !self.store(entry)? {
            return Err(Gap::Counts.into());
        }
        if self.attempt.parent.kept.is_some() {
            // A write-only client cannot read the repository. It reuses content only if the index has it.
            if !self.attempt.parent.may_reuse(&mut RewriteBudget(0), entry) {
                return Err(Gap::Damage.into());
            }
            self.keep_content(&entry.content);
            self.keep_pages();
            self.count(entry.kind(), entry.size, u64::checked_add)?;
        }
        Ok(())
    }

    /// Removes an entry from the counts of the parent snapshot.
    pub(super) fn leave(&mut self, kind: EntryKind, size: u64) -> Result<(), Gap> {
        if self.attempt.parent.kept.is_some() { Ok(()) } else { self.count(kind, size, u64::checked_sub) }
    }

    /// Adds an entry to the counts of the parent snapshot, or removes it.
    fn count(&mut self, kind: EntryKind, size: u64, change: fn(u64, u64) -> Option<u64>) -> Result<(), Gap> {
        let Some(base) = &mut self.base else { return Ok(()) };
        let count = match kind {
            EntryKind::File => {
                base.bytes = change(base.bytes, size).ok_or(Gap::Counts)?;
                &mut base.files
            }
            EntryKind::Directory => &mut base.directories,
            _ => &mut base.others,
        };
        *count = change(*count, 1).ok_or(Gap::Counts)?;
        Ok(())
    }

    /// Sums the counts of what was looked at and what was not. Fails if the sum does not agree with the tree.
    pub(super) fn count_narrowed(&mut self, tree: &FinishedTree) -> Result<(), Gap> {
        let Some(base) = self.base else { return Ok(()) };
        let seen = self.outcome.counts;
        let sum = |all: &[u64]| all.iter().try_fold(0, |sum: u64, n| sum.checked_add(*n)).ok_or(Gap::Counts);
        let counts = Counts {
            files: sum(&[base.files, seen.files])?,
            directories: sum(&[base.directories, seen.directories])?,
            others: sum(&[base.others, seen.others])?,
            bytes: sum(&[base.bytes, seen.bytes])?,
        };
        let entries = sum(&[counts.files, counts.directories, counts.others])?;
        if (entries, counts.bytes) != (tree.entries, tree.bytes) {
            return Err(Gap::Counts);
        }
        self.outcome.counts = counts;
        let summary = &mut self.outcome.summary;
        summary.unmodified = counts.files.saturating_sub(summary.new).saturating_sub(summary.changed);
        Ok(())
    }
}
