//! Pages: checked pages of a tree, its entries as a stream, and the copies of chunks of a domain.

use std::rc::Rc;

use copal_engine::read;
use copal_format::block::OpenBlock;
use copal_format::id::{ChunkId, DomainId, PackId};
use copal_format::index::Location;
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::owner::OwnerSecret;
use copal_format::layout;
use copal_format::path::TreePath;
use copal_format::seal::BlockKind;
use copal_format::state::State;
use copal_format::tree::{Entry, LostRange, Step, TreeWalk, VerifiedPage};

use crate::blocks::Blocks;
use crate::directory::Directory;
use crate::lookup::{Lookup, Source};
use crate::report::Report;
use crate::scan::scan;

/// A reader of pages of one domain.
pub(crate) struct Pages<'a> {
    directory: &'a Directory,
    domain: DomainId,
    keys: DomainKeys,
    blocks: Blocks<'a>,
    lookup: Lookup,
    /// Whether the packs' own tables were read, as far as possible.
    is_scanned: bool,
    recent: Vec<((PackId, u32), Rc<OpenBlock>)>,
}

impl<'a> Pages<'a> {
    /// Opens the segments that a state names.
    pub(crate) fn open(
        directory: &'a Directory,
        owner: &'a OwnerSecret,
        state: &State,
        domain: DomainId,
        report: &mut Report<'_>,
    ) -> Self {
        let mut lookup = Lookup::default();
        for (_, hash) in state.segments.keys().filter(|(of, _)| *of == domain) {
            let name = layout::segment(*hash);
            let added = directory.file(&name).and_then(|file| lookup.add(domain, Source::File(file)));
            if let Err(error) = added {
                report.damaged_object(&name, &error.to_string());
            }
        }
        Self {
            directory,
            domain,
            keys: DomainKeys::new(&owner.domain_key(domain)),
            blocks: Blocks::new(directory, owner, domain),
            lookup,
            is_scanned: false,
            recent: Vec::new(),
        }
    }

    pub(crate) fn keys(&self) -> &DomainKeys {
        &self.keys
    }

    pub(crate) fn blocks(&mut self) -> &mut Blocks<'a> {
        &mut self.blocks
    }

    /// The copies of a chunk or page in the index.
    pub(crate) fn copies(&mut self, id: &ChunkId, report: &mut Report<'_>) -> Vec<Location> {
        let (copies, fault) = self.lookup.copies(id);
        if let Some(error) = fault {
            report.damaged_object("index/", &error.to_string());
        }
        copies
    }

    /// Tries all copies of a chunk or page, last those that only packs' own tables name. Returns the last copy's error.
    pub(crate) fn first_good<T>(
        &mut self,
        id: &ChunkId,
        report: &mut Report<'_>,
        mut attempt: impl FnMut(&mut Self, &Location) -> Result<T, String>,
    ) -> Result<T, String> {
        let mut why = "no pack holds it".to_owned();
        let mut tried: Vec<Location> = Vec::new();
        loop {
            for location in self.copies(id, report) {
                if tried.iter().any(|before| is_same(before, &location)) {
                    continue;
                }
                match attempt(self, &location) {
                    Ok(good) => return Ok(good),
                    Err(fault) => {
                        let object = layout::pack(location.place, location.pack);
                        report.damaged_object(&object, &fault);
                        why = format!("{object}: {fault}");
                    }
                }
                tried.push(location);
            }
            if self.is_scanned {
                return Err(why);
            }
            self.scan(report);
        }
    }

    fn scan(&mut self, report: &mut Report<'_>) {
        self.is_scanned = true;
        if let Some(bytes) = scan(self.directory, self.domain, report) {
            self.lookup.add(self.domain, Source::Memory(bytes)).expect("a segment that was just written is sound");
        }
    }

    /// A page that matches its id; otherwise why there is none.
    pub(crate) fn page(&mut self, id: &ChunkId, report: &mut Report<'_>) -> Result<VerifiedPage, String> {
        self.first_good(id, report, |pages, location| pages.page_at(id, location))
    }

    fn page_at(&mut self, id: &ChunkId, location: &Location) -> Result<VerifiedPage, String> {
        let pack = self.blocks.pack(location.place, location.pack)?;
        let key = (location.pack, location.offset);
        let block = match self.recent.iter().find(|(other, _)| *other == key) {
            Some((_, block)) => block.clone(),
            None => {
                let block = Rc::new(self.blocks.open(&pack, location.offset, BlockKind::Tree)?);
                if self.recent.len() >= RECENT {
                    self.recent.remove(0);
                }
                self.recent.push((key, block.clone()));
                block
            }
        };
        read::page(&self.keys, id, location, &pack.table, &block).map_err(|fault| fault.to_string())
    }
}

/// The entries of a tree at or below a path, in order. Reports and skips what cannot be read.
pub(crate) struct Entries {
    walk: TreeWalk,
    path: TreePath,
}

impl Entries {
    pub(crate) fn new(root: ChunkId, path: &TreePath) -> Self {
        let mut walk = TreeWalk::new(root);
        walk.seek(path.clone());
        Self { walk, path: path.clone() }
    }

    pub(crate) fn next(&mut self, pages: &mut Pages<'_>, report: &mut Report<'_>) -> Option<Entry> {
        loop {
            match self.walk.step() {
                Step::Entry(entry) => return Some(entry).filter(|entry| entry.path.is_within(&self.path)),
                Step::Done => return None,
                Step::Need(id) => {
                    let page = pages.page(&id, report);
                    let supplied = page.and_then(|page| self.walk.supply(page).map_err(|error| error.to_string()));
                    if let Err(why) = supplied {
                        let skipped = self.walk.skip(id);
                        let to_the_end = skipped.is_none();
                        report.lost(&skipped.unwrap_or(LostRange { after: None, through: None }), &why);
                        if to_the_end {
                            return None;
                        }
                    }
                }
            }
        }
    }
}

fn is_same(a: &Location, b: &Location) -> bool {
    (a.pack, a.place, a.offset, a.ordinal) == (b.pack, b.place, b.offset, b.ordinal)
}

/// Blocks kept open.
const RECENT: usize = 8;
