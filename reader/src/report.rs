//! Report: messages, and the exit code that follows from them.

use std::collections::BTreeSet;
use std::io::Write;

use copal_format::path::TreePath;
use copal_format::shown;
use copal_format::tree::LostRange;

use crate::failure::Failure;

/// Prints problems and remembers the worst.
pub(crate) struct Report<'a> {
    out: &'a mut dyn Write,
    is_damaged: bool,
    is_partial: bool,
    said: BTreeSet<String>,
}

impl<'a> Report<'a> {
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, is_damaged: false, is_partial: false, said: BTreeSet::new() }
    }

    pub(crate) fn note(&mut self, text: &str) {
        self.line(text);
    }

    /// Prints a question without a line end.
    pub(crate) fn ask(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }

    /// Reports a damaged object, once.
    pub(crate) fn damaged_object(&mut self, object: &str, why: &str) {
        self.is_damaged = true;
        let text = format!("damaged: {object}: {why}");
        if self.said.len() < SAID && self.said.insert(text.clone()) {
            self.line(&text);
        }
    }

    /// Reports an entry that is incomplete because the repository is damaged.
    pub(crate) fn damaged_entry(&mut self, path: &TreePath, why: &str) {
        self.is_damaged = true;
        self.line(&format!("not wholly restored: /{}: {why}", shown::path(path.as_bytes())));
    }

    pub(crate) fn lost(&mut self, range: &LostRange, why: &str) {
        self.is_damaged = true;
        let end = |path: &Option<TreePath>, none: &str| {
            path.as_ref().map_or(none.to_owned(), |path| format!("/{}", shown::path(path.as_bytes())))
        };
        let (after, through) = (end(&range.after, "the start"), end(&range.through, "the end"));
        self.line(&format!("lost: entries behind {after} up to {through}: {why}"));
    }

    pub(crate) fn unwritten(&mut self, path: &TreePath, why: &str) {
        self.is_partial = true;
        self.line(&format!("not restored: /{}: {why}", shown::path(path.as_bytes())));
    }

    /// Reports why the program ends early; returns the exit code.
    pub(crate) fn fail(&mut self, failure: &Failure) -> u8 {
        self.line(&format!("error: {failure}"));
        match failure {
            // The damage may have hidden the snapshot.
            Failure::Snapshot(_) if self.is_damaged => 4,
            failure => failure.exit_code(),
        }
    }

    /// The exit code of a run that did all it could.
    pub(crate) fn exit_code(&self) -> u8 {
        match (self.is_damaged, self.is_partial) {
            (true, _) => 4,
            (false, true) => 3,
            (false, false) => 0,
        }
    }

    /// Ignores errors: without messages the restore still goes on.
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}");
    }
}

/// Most damaged objects that are named; more still count.
const SAID: usize = 10_000;
