//! Tree: the entries of a snapshot, browsed part by part.

use std::cell::RefCell;
use std::rc::Rc;

use copal_format::id::{ChunkId, DomainId};
use copal_format::path::TreePath;
use copal_format::tree::{Content, Entry, EntryKind, LostRange, Mode, Step, TreeWalk, VerifiedPage};

use super::Obstacle;
use super::blocks::Blocks;
use crate::fault::{Code, Fault};
use crate::view::{Read, View};

/// A part of a listing, or the reads that are needed first; never both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Reads to supply before the call is repeated.
    pub needs: Vec<Read>,
    /// The entries.
    pub entries: Vec<Entry>,
    /// The path after which the next part begins; `None` at the end.
    pub next: Option<TreePath>,
    /// What could not be read, and why.
    pub damaged: Vec<String>,
}

impl Listing {
    /// The same where more entries may follow.
    fn up_to_here(mut self) -> Self {
        self.next = self.entries.last().map(|last| last.path.clone());
        self
    }
}

/// A snapshot's tree.
#[derive(Clone)]
pub struct Tree {
    pub(super) view: Rc<RefCell<View>>,
    pub(super) blocks: Rc<RefCell<Blocks>>,
    pub(super) domain: DomainId,
    pub(super) root: ChunkId,
}

/// The next event of a walk.
#[allow(clippy::large_enum_variant, reason = "most turns are entries, which are moved on at once")]
pub(super) enum Turn {
    Entry(Entry),
    Needs(Vec<Read>),
    Done,
}

impl Tree {
    pub(super) fn new(view: Rc<RefCell<View>>, blocks: Rc<RefCell<Blocks>>, domain: DomainId, root: ChunkId) -> Self {
        blocks.borrow_mut().keys(domain);
        Self { view, blocks, domain, root }
    }

    /// The root page.
    pub fn root(&self) -> ChunkId {
        self.root
    }

    /// The direct children of a directory that follow a path, in order.
    pub fn list(&self, directory: &TreePath, after: Option<&TreePath>, limit: usize) -> Listing {
        let mut walk = TreeWalk::new(self.root);
        walk.seek(directory.clone());
        if let Some(after) = after {
            walk.seek(after.behind().unwrap_or_else(|| after.clone()));
        }
        let mut listing = Listing::default();
        loop {
            let mut entry = match self.turn(&mut walk, &mut listing.damaged) {
                Turn::Entry(entry) => entry,
                Turn::Needs(needs) if listing.entries.is_empty() => return Listing { needs, ..Listing::default() },
                // What is read next may push out what a repeated call would need again: hand these over first.
                Turn::Needs(_) => {
                    self.blocks.borrow_mut().forget_asked();
                    return listing.up_to_here();
                }
                Turn::Done => return listing,
            };
            if !entry.path.is_within(directory) {
                return listing;
            }
            // A directory may have no entry of its own.
            let Some(child) = directory.child_towards(&entry.path) else { continue };
            let is_child = child == entry.path;
            let is_told = listing.entries.last().is_some_and(|last| last.path == child);
            if !is_told && after != Some(&child) {
                if listing.entries.len() >= limit.max(1) {
                    return listing.up_to_here();
                }
                // Skip the content of a directory.
                if let Some(behind) = child.behind().filter(|_| !is_child || entry.kind() == EntryKind::Directory) {
                    walk.seek(behind);
                }
                // Nobody reads content in a listing.
                entry.content = Content::None;
                let made = || Entry::new(child, Mode::new(EntryKind::Directory, 0o755));
                listing.entries.push(if is_child { entry } else { made() });
            }
        }
    }

    /// One entry.
    pub fn entry(&self, path: &TreePath) -> Listing {
        let mut walk = TreeWalk::new(self.root);
        walk.seek(path.clone());
        let mut listing = Listing::default();
        match self.turn(&mut walk, &mut listing.damaged) {
            Turn::Entry(entry) if entry.path == *path => listing.entries.push(entry),
            Turn::Entry(_) | Turn::Done => {}
            Turn::Needs(needs) => listing.needs = needs,
        }
        listing
    }

    /// The next entry of a walk. Skips and records what cannot be read.
    pub(super) fn turn(&self, walk: &mut TreeWalk, damaged: &mut Vec<String>) -> Turn {
        loop {
            match walk.step() {
                Step::Entry(entry) => return Turn::Entry(entry),
                Step::Done => return Turn::Done,
                Step::Need(id) => {
                    let why = match self.page(&id) {
                        Ok(page) => match walk.supply(page) {
                            Ok(()) => continue,
                            Err(error) => error.to_string(),
                        },
                        Err(Obstacle::Needs(mut needs)) => {
                            if !self.blocks.borrow_mut().is_asked_again(&needs) {
                                let ahead: Vec<ChunkId> = walk.peek_needed().skip(1).take(AHEAD).collect();
                                self.needs_of(&ahead, &mut needs);
                            }
                            return Turn::Needs(needs);
                        }
                        Err(Obstacle::Lost { why, .. }) => why,
                    };
                    match walk.skip(id) {
                        Some(lost) => damaged.push(lost_words(&lost, &why)),
                        None => return Turn::Done,
                    }
                }
            }
        }
    }

    pub(super) fn page(&self, id: &ChunkId) -> Result<VerifiedPage, Obstacle> {
        let view = self.view.borrow();
        self.blocks.borrow_mut().page(view.index(self.domain), self.domain, id)
    }

    /// Adds the reads for more pages, so that one round of reads serves them all.
    pub(super) fn needs_of(&self, ids: &[ChunkId], needs: &mut Vec<Read>) {
        for id in ids {
            if let Err(Obstacle::Needs(more)) = self.page(id) {
                needs.extend(more);
            }
        }
        Read::tidy(needs);
    }
}

/// A path for hosts: text, or U+0000 and the bytes in hexadecimal if they are not UTF-8.
pub fn id_of(path: &TreePath) -> String {
    match core::str::from_utf8(path.as_bytes()) {
        Ok(text) => text.to_owned(),
        Err(_) => {
            let mut id = String::from('\0');
            path.as_bytes().iter().for_each(|byte| id.push_str(&format!("{byte:02x}")));
            id
        }
    }
}

/// The path for an [`id_of`] or a plain path.
pub fn path_of(id: &str) -> Result<TreePath, Fault> {
    let Some(digits) = id.strip_prefix('\0') else { return Ok(TreePath::new(id)?) };
    let bad = || Fault::new(Code::BadPath, "it is not what an entry is called");
    if !digits.is_ascii() {
        return Err(bad());
    }
    let pairs = digits.as_bytes().chunks(2).map(|pair| core::str::from_utf8(pair).ok());
    let bytes = pairs.map(|pair| pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()));
    Ok(TreePath::new(bytes.collect::<Option<Vec<u8>>>().ok_or_else(bad)?)?)
}

pub(super) fn lost_words(lost: &LostRange, why: &str) -> String {
    match (&lost.after, &lost.through) {
        (Some(after), Some(through)) => format!("behind {after}, up to {through}: {why}"),
        (Some(after), None) => format!("behind {after}: {why}"),
        (None, Some(through)) => format!("up to {through}: {why}"),
        (None, None) => format!("everything: {why}"),
    }
}

/// Pages read ahead.
pub(super) const AHEAD: usize = 16;
