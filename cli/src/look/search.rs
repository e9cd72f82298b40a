//! Search: finds entries that match a pattern in many snapshots. A page without a match is read once, however many
//! snapshots share it.

use std::collections::{HashMap, HashSet};

use copal_client::filter::{BadPattern, Case, Filter, FilterBuilder};
use copal_client::reader::{PageReader, ReadError, TreeError};
use copal_format::id::ChunkId;
use copal_format::path::TreePath;
use copal_format::tree::{Entry, LostRange, PageContent, Step, TreeWalk, VerifiedPage};

use super::is_directory;
use crate::args::look::Wanted;
use crate::report::Failure;

pub struct Search<'a> {
    pages: &'a PageReader,
    pattern: &'a Filter,
    wanted: &'a Wanted,
    /// Pages without a match in or below them.
    barren: HashSet<ChunkId>,
    /// The children of each directory page that was read.
    below: HashMap<ChunkId, Vec<ChunkId>>,
}

/// Parses a pattern: a name, or a path if it has a slash. A leading `!` stands for itself.
pub fn pattern(glob: &str) -> Result<Filter, BadPattern> {
    let mut builder = FilterBuilder::new();
    match glob.strip_prefix('!') {
        Some(_) => builder.add(&format!("\\{glob}"), Case::Exact)?,
        None => builder.add(glob, Case::Exact)?,
    }
    builder.finish()
}

impl<'a> Search<'a> {
    /// Searches for entries of a pattern in trees of this reader's domain.
    pub fn new(pages: &'a PageReader, pattern: &'a Filter, wanted: &'a Wanted) -> Self {
        Self { pages, pattern, wanted, barren: HashSet::new(), below: HashMap::new() }
    }

    /// Passes every match in a directory of a tree to `found`, in order. Returns what could not be searched.
    pub fn run(
        &mut self,
        root: ChunkId,
        directory: &TreePath,
        mut found: impl FnMut(&Entry) -> Result<(), Failure>,
    ) -> Result<Vec<(LostRange, ReadError)>, Failure> {
        let mut walk = TreeWalk::new(root);
        let mut lost = Vec::new();
        walk.seek(directory.clone());
        loop {
            match walk.step() {
                Step::Done => return Ok(lost),
                Step::Entry(entry) if !entry.path.is_within(directory) => return Ok(lost),
                Step::Entry(entry) if self.matches(&entry) => found(&entry)?,
                Step::Entry(_) => {}
                Step::Need(id) if self.is_barren(&id) => {
                    walk.skip(id);
                }
                Step::Need(id) => match self.pages.page(&id) {
                    Ok(page) if self.learn(&page) => {
                        walk.skip(id);
                    }
                    Ok(page) => walk.supply(page).map_err(TreeError::from)?,
                    Err(error @ ReadError::Store(_)) => return Err(error.into()),
                    Err(error) => lost.extend(walk.skip(id).map(|range| (range, error))),
                },
            }
        }
    }

    fn matches(&self, entry: &Entry) -> bool {
        self.pattern.excludes(&entry.path, is_directory(entry)) && self.wanted.fits(entry)
    }

    /// Whether it is known that nothing in or below a page matches.
    fn is_barren(&mut self, id: &ChunkId) -> bool {
        if self.barren.contains(id) {
            return true;
        }
        // A child's height is less than its parent's, so this ends.
        let Some(children) = self.below.remove(id) else { return false };
        let is_barren = children.iter().all(|child| self.is_barren(child));
        if is_barren {
            self.barren.insert(*id);
        } else {
            self.below.insert(*id, children);
        }
        is_barren
    }

    /// Remembers a page that was read; tells whether it has no match.
    fn learn(&mut self, page: &VerifiedPage) -> bool {
        match page.content() {
            PageContent::Entries(entries) if !entries.iter().any(|entry| self.matches(entry)) => {
                self.barren.insert(page.id())
            }
            PageContent::Directory(children) => {
                self.below.insert(page.id(), children.iter().map(|child| child.id).collect());
                false
            }
            _ => false,
        }
    }
}
