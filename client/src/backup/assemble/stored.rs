//! Stored: adds entries to the tree, and tells of those that it cannot hold.

use copal_engine::backup::session::SessionError;
use copal_format::tree::{BuildError, Entry, EntryKind};

use super::super::{BackupError, Trouble, TroubleKind};
use super::{Assembly, Known};
use crate::progress::Fate;
use crate::scan::source_of;

impl Assembly<'_, '_> {
    /// Adds an entry to the tree, and counts it; false if the tree cannot hold it.
    pub(super) fn add(&mut self, entry: &Entry, fate: Fate) -> Result<bool, BackupError> {
        if !self.store(entry)? {
            return Ok(false);
        }
        self.clock.saw(&entry.path, entry.ctime, (self.started, self.as_path.moves(&entry.path)));
        if !self.bare.is_empty() && entry.kind() != EntryKind::Directory {
            self.bare.retain(|path| !entry.path.is_within(path));
        }
        let (counts, summary) = (&mut self.outcome.counts, &mut self.outcome.summary);
        match entry.kind() {
            EntryKind::File => {
                counts.files += 1;
                counts.bytes = counts.bytes.saturating_add(entry.size);
                *match fate {
                    Fate::New => &mut summary.new,
                    Fate::Unchanged | Fate::Link => &mut summary.unmodified,
                    Fate::Changed | Fate::Metadata => &mut summary.changed,
                } += 1;
                self.attempt.progress.file_done();
            }
            EntryKind::Directory => counts.directories += 1,
            _ => counts.others += 1,
        }
        self.keep_pages();
        Ok(true)
    }

    /// Adds an entry to the tree. If the tree refuses it, tries again without its attributes: a file without them is
    /// better than none. False if the tree cannot hold it.
    pub(super) fn store(&mut self, entry: &Entry) -> Result<bool, BackupError> {
        let Some(refusal) = self.offer(entry)? else { return Ok(true) };
        if !entry.extras.xattrs.is_empty() {
            let mut bare = entry.clone();
            bare.extras.xattrs.clear();
            if self.offer(&bare)?.is_none() {
                let why = format!("its attributes are left out: {}", refusal.why);
                self.trouble(Trouble { why, ..refusal });
                return Ok(true);
            }
        }
        self.trouble(refusal);
        Ok(false)
    }

    /// Adds an entry to the tree, or says why the tree cannot hold it.
    fn offer(&mut self, entry: &Entry) -> Result<Option<Trouble>, BackupError> {
        let known = Known::new(&self.index, self.carried);
        match self.session.add_entry(entry, |id| known.has(id)) {
            Ok(()) => Ok(None),
            Err(error) => Ok(Some(refused(error)?)),
        }
    }

    pub(super) fn trouble(&mut self, trouble: Trouble) {
        if trouble.kind == TroubleKind::Unreadable {
            self.attempt.progress.add_error();
        }
        self.outcome.add_trouble(trouble, self.most_named);
    }
}

/// Turns the tree's refusal of one entry into a trouble, so that only this entry is lost and the backup goes on.
fn refused(error: SessionError) -> Result<Trouble, SessionError> {
    let (path, why) = match error {
        SessionError::Tree(BuildError::Entry { path, source }) => (path, source.to_string()),
        SessionError::Tree(BuildError::Large { path }) => (path, "it has more metadata than a tree can hold".into()),
        error => return Err(error),
    };
    Ok(Trouble { path: source_of(&path), kind: TroubleKind::Unreadable, why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::Outcome;
    use copal_format::path::TreePath;
    use copal_format::tree::BadEntry;

    #[test]
    fn an_entry_that_no_tree_holds_is_named_and_ends_nothing() {
        let path = TreePath::new("home/odd").unwrap();
        let named = |error: BuildError| refused(error.into()).unwrap();
        let odd = named(BuildError::Entry { path: path.clone(), source: BadEntry::Xattrs });
        assert_eq!((odd.path.to_str(), odd.kind), (Some("/home/odd"), TroubleKind::Unreadable));
        assert!(named(BuildError::Large { path }).why.contains("metadata"));
        assert!(refused(BuildError::TooHigh.into()).is_err());
    }

    #[test]
    fn lost_entries_that_are_too_many_to_name_are_counted() {
        let mut outcome = Outcome::default();
        for kind in [TroubleKind::Unreadable, TroubleKind::Changing, TroubleKind::Unreadable, TroubleKind::Unreadable] {
            outcome.add_trouble(Trouble { path: "/a".into(), kind, why: String::new() }, 2);
        }
        assert_eq!((outcome.errors(), outcome.troubles.len(), outcome.unnamed), (3, 2, 2));
    }
}
