//! Report: what is said besides lists and archives, and what the exit code will be.

use std::collections::BTreeSet;
use std::io::Write;

use copal_engine::path::TreePath;
use copal_engine::shown;
use copal_engine::tree::LostRange;

use crate::failure::Failure;

/// Says what goes wrong, and remembers how bad it was.
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

    /// Says something that is nobody's fault.
    pub(crate) fn note(&mut self, text: &str) {
        self.line(text);
    }

    /// Asks, without ending the line.
    pub(crate) fn ask(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }

    /// Names an object of the repository that is damaged; once.
    pub(crate) fn damaged_object(&mut self, object: &str, why: &str) {
        self.is_damaged = true;
        let text = format!("damaged: {object}: {why}");
        if self.said.len() < SAID && self.said.insert(text.clone()) {
            self.line(&text);
        }
    }

    /// Names an entry that is not wholly restored because the repository is damaged.
    pub(crate) fn damaged_entry(&mut self, path: &TreePath, why: &str) {
        self.is_damaged = true;
        self.line(&format!("not wholly restored: /{}: {why}", shown::path(path.as_bytes())));
    }

    /// Names entries that cannot even be told.
    pub(crate) fn lost(&mut self, range: &LostRange, why: &str) {
        self.is_damaged = true;
        let end = |path: &Option<TreePath>, none: &str| {
            path.as_ref().map_or(none.to_owned(), |path| format!("/{}", shown::path(path.as_bytes())))
        };
        let (after, through) = (end(&range.after, "the start"), end(&range.through, "the end"));
        self.line(&format!("lost: entries behind {after} up to {through}: {why}"));
    }

    /// Names an entry that could not be written here.
    pub(crate) fn unwritten(&mut self, path: &TreePath, why: &str) {
        self.is_partial = true;
        self.line(&format!("not restored: /{}: {why}", shown::path(path.as_bytes())));
    }

    /// Says why the program ends early; gives the exit code.
    pub(crate) fn fail(&mut self, failure: &Failure) -> u8 {
        self.line(&format!("error: {failure}"));
        match failure {
            // It may be one of what is damaged.
            Failure::Snapshot(_) if self.is_damaged => 4,
            failure => failure.exit_code(),
        }
    }

    /// How a run ends that did all it could.
    pub(crate) fn exit_code(&self) -> u8 {
        match (self.is_damaged, self.is_partial) {
            (true, _) => 4,
            (false, true) => 3,
            (false, false) => 0,
        }
    }

    /// Who cannot be told anything is not kept from his files.
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}");
    }
}

/// Damaged objects that are named; all count.
const SAID: usize = 10_000;
