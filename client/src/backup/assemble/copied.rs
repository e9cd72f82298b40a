//! Copied: takes the entries of another snapshot. Only the references to their content change.

use crossbeam_channel::Receiver;

use super::super::content::Tools;
use super::super::original::{ContentJob, Copying, Original, work};
use super::super::outbox::{Copied, Fate};
use super::super::{BackupError, Trouble, TroubleKind};
use super::Assembly;
use super::tree::Received;
use crate::progress;
use crate::scan::source_of;

impl Assembly<'_, '_> {
    pub(super) fn take_snapshot(&mut self, original: &Original<'_>, tools: &Tools<'_>) -> Result<(), BackupError> {
        let attempt = self.attempt;
        // A later backup that compares with the copy must not take a file for older than it was.
        self.started = attempt.options.inherited.as_ref().map_or(self.started, |inherited| inherited.started);
        let copying = Copying { original, parent: &attempt.parent, tools, interrupted: attempt.interrupted };
        let work = |jobs: &Receiver<ContentJob>| work(jobs, original, tools);
        self.take_made(original.readers, tools, work, |jobs, items, ended| copying.run(jobs, items, ended))
    }

    pub(super) fn take_copied(&mut self, copied: Copied) -> Result<(), BackupError> {
        let Copied { mut entry, identity, fate, .. } = copied;
        let is_new = match &fate {
            Fate::Same(_) | Fate::OtherName => None,
            Fate::Held { is_new } | Fate::Read { is_new, .. } => Some(*is_new),
        };
        let is_read = matches!(fate, Fate::Read { .. });
        match fate {
            Fate::Held { .. } => {}
            Fate::Same(content) => entry.content = content,
            Fate::OtherName => match identity.and_then(|identity| self.copied.get(&identity)) {
                Some(content) => entry.content = content.clone(),
                None => {
                    let why = "it is another name of a file that cannot be read".to_owned();
                    self.trouble(Trouble { path: source_of(&entry.path), kind: TroubleKind::Unreadable, why });
                    return Ok(());
                }
            },
            Fate::Read { parts, .. } => {
                let inline = match self.receive(&entry.path, &parts)? {
                    Received::Done(read, inline) => {
                        read.map_err(|error| BackupError::Original(error.into()))?;
                        inline
                    }
                    Received::Failed(why) => {
                        self.trouble(Trouble { path: source_of(&entry.path), kind: TroubleKind::Unreadable, why });
                        return Ok(());
                    }
                    Received::Interrupted => return Ok(()),
                };
                entry.content = self.content_of(inline)?;
                self.open = None;
            }
        }
        if !is_read {
            self.attempt.progress.now_in_tree(&entry.path);
            self.attempt.progress.add_done(entry.size);
        }
        if let Some(identity) = identity {
            self.copied.insert(identity, entry.content.clone());
        }
        let fate = match is_new {
            None => progress::Fate::Unchanged,
            Some(true) => progress::Fate::New,
            Some(false) => progress::Fate::Changed,
        };
        self.add(&entry, fate)?;
        Ok(())
    }
}
