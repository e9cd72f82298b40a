//! Restore: passes a snapshot's entries and their content to a sink, in order. Reports damage and goes on.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use copal_engine::restore::leaves::{BELOW_LEAF, Leaves};
use copal_format::id::ChunkId;
use copal_format::path::TreePath;
use copal_format::shown;
use copal_format::tree::Extents;
use copal_format::tree::{Content, Entry, EntryKind, Inline, ListStep, ListWalk};

use crate::content::{Fetched, Wanted};
use crate::failure::Failure;
use crate::links::Identities;
use crate::pages::{Entries, Pages};
use crate::report::Report;
use crate::sink::{Sink, SinkError};

/// A restore into a sink.
pub(crate) struct Restore<'r, 'p, 'o> {
    pages: &'r mut Pages<'p>,
    sink: &'r mut dyn Sink,
    report: &'r mut Report<'o>,
    acts: Vec<Act>,
    /// Approximate bytes of memory that the acts take.
    weight: usize,
    wanted: Wanted,
    identities: Identities,
    /// The first names of files with several names.
    firsts: HashMap<(u64, u64), TreePath>,
    /// Files that are incomplete.
    partial: HashSet<TreePath>,
    /// The file that is being written.
    current: Option<Current>,
}

/// What to do once the gathered content is fetched.
enum Act {
    Other(Box<Entry>),
    Link(Box<Entry>, TreePath),
    Begin(Box<Entry>),
    Inline(Inline),
    /// A chunk by its number in [`Wanted`].
    Chunk(usize),
    Missing(u64, String),
    End,
}

/// A file that is being written.
struct Current {
    path: TreePath,
    extents: Rc<Extents>,
    /// Bytes of content that were read or skipped as missing.
    taken: u64,
    /// Whether the sink takes the file; and whether the file was reported already.
    is_taken: bool,
    is_named: bool,
}

impl<'r, 'p, 'o> Restore<'r, 'p, 'o> {
    pub(crate) fn new(pages: &'r mut Pages<'p>, sink: &'r mut dyn Sink, report: &'r mut Report<'o>) -> Self {
        let (acts, wanted, identities, firsts, partial) = Default::default();
        Self { pages, sink, report, acts, weight: 0, wanted, identities, firsts, partial, current: None }
    }

    /// Restores everything at or below a path of the tree with this root page.
    pub(crate) fn run(mut self, root: ChunkId, path: &TreePath) -> Result<(), Failure> {
        let mut entries = Entries::new(root, path);
        let mut leaves = Leaves::default();
        let mut is_empty = true;
        while let Some(entry) = entries.next(self.pages, self.report) {
            is_empty = false;
            if !leaves.admits(&entry) {
                self.report.damaged_entry(&entry.path, BELOW_LEAF);
                continue;
            }
            self.take(entry)?;
            if self.weight >= MOST_WEIGHT || self.wanted.is_enough() {
                self.flush()?;
            }
        }
        self.flush()?;
        if is_empty && !path.is_top() {
            return Err(Failure::Snapshot(format!("the snapshot holds no /{}", shown::path(path.as_bytes()))));
        }
        Ok(())
    }

    fn take(&mut self, mut entry: Entry) -> Result<(), Failure> {
        if entry.kind() == EntryKind::Socket {
            return Ok(());
        }
        self.weight += weight(&entry);
        if let Some(identity) = self.identities.of(&entry) {
            if let Some(first) = self.firsts.get(&identity) {
                self.acts.push(Act::Link(Box::new(entry), first.clone()));
                return Ok(());
            }
            self.firsts.insert(identity, entry.path.clone());
        }
        if entry.kind() != EntryKind::File {
            self.acts.push(Act::Other(Box::new(entry)));
            return Ok(());
        }
        let walk = ListWalk::of(&entry);
        let content = std::mem::take(&mut entry.content);
        self.acts.push(Act::Begin(Box::new(entry)));
        if let Content::Inline(content) = content {
            self.acts.push(Act::Inline(content));
        }
        self.content(walk)?;
        self.acts.push(Act::End);
        Ok(())
    }

    /// Adds the pieces of a file. An unreadable page of its list loses only the pieces that it names.
    fn content(&mut self, mut walk: ListWalk) -> Result<(), Failure> {
        loop {
            match walk.step() {
                ListStep::Done => return Ok(()),
                ListStep::Piece { piece, .. } => {
                    self.acts.push(Act::Chunk(self.wanted.add(piece)));
                    if self.wanted.is_enough() {
                        self.flush()?;
                    }
                }
                ListStep::Need(id) => {
                    let page = self.pages.page(&id, self.report);
                    let supplied = page.and_then(|page| walk.supply(page).map_err(|error| error.to_string()));
                    let Err(why) = supplied else { continue };
                    let Some(range) = walk.skip(id) else {
                        self.acts.push(Act::Missing(0, why));
                        return Ok(());
                    };
                    self.acts.push(Act::Missing(range.end - range.start, why));
                }
            }
        }
    }

    /// Fetches the wanted chunks, and does the acts that wait for them.
    fn flush(&mut self) -> Result<(), Failure> {
        let fetched = std::mem::take(&mut self.wanted).fetch(self.pages, self.report);
        self.weight = 0;
        for act in std::mem::take(&mut self.acts) {
            self.act(act, &fetched)?;
        }
        Ok(())
    }

    fn act(&mut self, act: Act, fetched: &Fetched) -> Result<(), Failure> {
        match act {
            Act::Other(entry) => {
                let done = self.sink.other(&entry);
                self.settle(done, &entry.path)
            }
            Act::Link(entry, first) => {
                if self.partial.contains(&first) {
                    let first = shown::path(first.as_bytes());
                    self.report
                        .damaged_entry(&entry.path, &format!("it is another name of /{first}, which is not whole"));
                }
                let done = self.sink.link(&entry, &first);
                self.settle(done, &entry.path)
            }
            Act::Begin(entry) => {
                let (path, extents) = (entry.path.clone(), Rc::new(Extents::of(&entry)));
                self.current = Some(Current { path, extents, taken: 0, is_taken: true, is_named: false });
                self.go_on(|sink| sink.begin(entry))
            }
            Act::Inline(content) => match self.extents() {
                Some(extents) => self.write(extents.inline(&content)),
                None => Ok(()),
            },
            Act::Chunk(at) => match fetched.chunk(at) {
                Ok(bytes) => self.piece(bytes),
                Err((length, why)) => self.missing(length, why),
            },
            Act::Missing(length, why) => self.missing(length, &why),
            Act::End => {
                self.go_on(|sink| sink.end())?;
                self.current = None;
                Ok(())
            }
        }
    }

    fn missing(&mut self, length: u64, why: &str) -> Result<(), Failure> {
        if let Some(current) = &mut self.current {
            current.taken += length;
            if !core::mem::replace(&mut current.is_named, true) {
                self.partial.insert(current.path.clone());
                self.report.damaged_entry(&current.path, why);
            }
        }
        self.go_on(|sink| sink.missing())
    }

    /// Writes the next piece of the current file.
    fn piece(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let (Some(extents), Some(current)) = (self.extents(), &mut self.current) else { return Ok(()) };
        let offset = current.taken;
        current.taken += bytes.len() as u64;
        self.write(extents.parts(offset, bytes))
    }

    fn write<'b>(&mut self, parts: impl Iterator<Item = (u64, &'b [u8])>) -> Result<(), Failure> {
        for (offset, bytes) in parts {
            self.go_on(|sink| sink.write(offset, bytes))?;
        }
        Ok(())
    }

    fn extents(&self) -> Option<Rc<Extents>> {
        self.current.as_ref().map(|current| current.extents.clone())
    }

    /// Makes a call for the current file, unless the sink has refused the file.
    fn go_on(&mut self, step: impl FnOnce(&mut dyn Sink) -> Result<(), SinkError>) -> Result<(), Failure> {
        let Some(current) = self.current.as_mut().filter(|current| current.is_taken) else { return Ok(()) };
        let done = step(self.sink);
        current.is_taken = done.is_ok();
        let path = current.path.clone();
        self.settle(done, &path)
    }

    fn settle(&mut self, done: Result<(), SinkError>, path: &TreePath) -> Result<(), Failure> {
        match done {
            Ok(()) => Ok(()),
            Err(SinkError::All(failure)) => Err(failure),
            Err(SinkError::Entry(why)) => {
                self.report.unwritten(path, &why);
                Ok(())
            }
        }
    }
}

fn weight(entry: &Entry) -> usize {
    let extras = &entry.extras;
    let xattrs: usize = extras.xattrs.iter().map(|(name, value)| name.len() + value.len() + 64).sum();
    let inline = if let Content::Inline(_) = &entry.content { entry.content_bytes() as usize } else { 0 };
    let target = extras.link_target.as_ref().map_or(0, Vec::len);
    512 + entry.path.as_bytes().len() + xattrs + inline + target + 16 * extras.holes.len()
}

/// Bytes of memory that waiting entries may take.
const MOST_WEIGHT: usize = 16 << 20;
