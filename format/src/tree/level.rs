//! Level: collects items of one level into pages, and stacks levels until a single page is left.

use core::mem;

use super::columns::HEAD_ROOM;
use super::page::Page;
use super::params::TreeParams;
use crate::id::ChunkId;
use crate::keys::domain::DomainKeys;
use crate::limits::{HEIGHT, PAGE_BYTES, PAGE_ITEMS, PAGE_PATH_BYTES, PAGE_REFERENCES};

/// Encodes a page with items of one kind.
pub(super) trait PageWriter: Default {
    /// The kind of items in the page.
    type Item;
    /// The link to the page in the page above.
    type Link;

    /// The key that decides whether a page ends after the item.
    fn key(item: &Self::Item) -> &[u8];

    /// An upper bound of what the item adds to its page.
    fn room(item: &Self::Item) -> Room;

    /// Adds an item; returns its weight.
    fn push(&mut self, item: &Self::Item) -> usize;

    /// Ends the page, and gets ready for the next.
    fn close(&mut self, naming: Naming<'_>) -> (Page, Self::Link);
}

/// How much of a page's limits items use up.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Room {
    /// Bytes of plaintext, with at least [`REFERENCE_ROOM`] for each reference.
    pub(super) bytes: usize,
    /// Bytes of whole paths, including what they share with the previous path.
    pub(super) paths: usize,
}

impl Room {
    fn with(self, more: Self) -> Self {
        Self { bytes: self.bytes + more.bytes, paths: self.paths + more.paths }
    }

    fn is_in_a_page(self) -> bool {
        self.bytes <= PAGE_BYTES - HEAD_ROOM && self.paths <= PAGE_PATH_BYTES
    }
}

/// Bytes for a reference and its length: so many that the limit of bytes implies the limit of references.
pub(super) const REFERENCE_ROOM: usize = 20;
const _: () = assert!(PAGE_BYTES / REFERENCE_ROOM < PAGE_REFERENCES as usize);

/// Computes the id of the page being closed.
#[derive(Debug)]
pub(super) struct Naming<'a> {
    keys: &'a DomainKeys,
    height: u8,
}

impl Naming<'_> {
    pub(super) fn page(self, references: Vec<ChunkId>, plaintext: Vec<u8>) -> Page {
        let Self { keys, height } = self;
        let id = keys.page_id(height, &references, &plaintext);
        Page { id, height, references, plaintext, replaces: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LevelError {
    /// The item alone exceeds a page.
    Large,
    /// The tree would be higher than the format allows.
    TooHigh,
}

/// The root page of a tower.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Top {
    pub(super) root: ChunkId,
    pub(super) height: u8,
}

/// A level of items, and as many levels of pages above as needed.
#[derive(Clone, Debug)]
pub(super) struct Tower<L, B> {
    params: TreeParams,
    keys: DomainKeys,
    bottom: Level<L>,
    levels: Vec<Level<B>>,
    pages: Vec<Page>,
}

impl<L, B> Tower<L, B>
where
    L: PageWriter,
    B: PageWriter<Item = L::Link, Link = L::Link>,
{
    pub(super) fn new(params: TreeParams, keys: DomainKeys) -> Self {
        Self { params, keys, bottom: Level::new(0), levels: Vec::new(), pages: Vec::new() }
    }

    /// Adds an item that refers to pages of height `below` at most.
    pub(super) fn push(&mut self, item: &L::Item, below: u8) -> Result<(), LevelError> {
        let room = L::room(item);
        if !room.is_in_a_page() {
            return Err(LevelError::Large);
        }
        if !self.bottom.has_room(room) {
            self.close_bottom()?;
        }
        self.bottom.push(item, room, below);
        if self.bottom.ends_after(item, &self.params, &self.keys) { self.close_bottom() } else { Ok(()) }
    }

    /// Takes over a page of a tree that was made with the same parameters, instead of its items. Takes nothing and
    /// returns false unless the page would certainly be the same here: no page of its level or below is open, and the
    /// page's last item ends it whatever follows. The page must not be the last one of its level in that tree.
    pub(super) fn take_over(&mut self, number: u8, page: Top, link: &L::Link) -> Result<bool, LevelError> {
        let (level, key) = (usize::from(number), B::key(link));
        let is_open = self.bottom.items > 0 || self.levels.iter().take(level).any(|level| level.items > 0);
        if is_open || !self.params.may_end(number, self.keys.boundary(number, key)) {
            return Ok(false);
        }
        for missing in self.levels.len()..level {
            self.levels.push(Level::new(missing as u8 + 1));
        }
        match self.levels[..level].split_last_mut() {
            None => self.bottom.count(1, page),
            Some((own, below)) => {
                own.count(1, page);
                // A page of links has at least two.
                below.iter_mut().for_each(|level| level.count(2, page));
                self.bottom.count(2, page);
            }
        }
        self.add_link(level, link, page.height).map(|()| true)
    }

    /// The pages finished since the last call, children before parents.
    pub(super) fn take_pages(&mut self) -> Vec<Page> {
        mem::take(&mut self.pages)
    }

    /// Closes all open pages, up to a single root page.
    pub(super) fn finish(mut self) -> Result<(Top, Vec<Page>), LevelError> {
        if self.bottom.items > 0 || self.bottom.pages == 0 {
            self.close_bottom()?;
        }
        let mut top = self.bottom.only_page();
        for index in 0..=usize::from(HEIGHT) {
            if let Some(top) = top {
                return Ok((top, self.pages));
            }
            if self.levels[index].items > 0 {
                self.close(index)?;
            }
            top = self.levels[index].only_page();
        }
        Err(LevelError::TooHigh)
    }

    fn close_bottom(&mut self) -> Result<(), LevelError> {
        let (page, link) = self.bottom.close(&self.keys)?;
        self.rise(0, page, &link)
    }

    fn close(&mut self, index: usize) -> Result<(), LevelError> {
        let (page, link) = self.levels[index].close(&self.keys)?;
        self.rise(index + 1, page, &link)
    }

    /// Puts out a finished page, and adds its link to the level above.
    fn rise(&mut self, index: usize, page: Page, link: &L::Link) -> Result<(), LevelError> {
        let below = page.height;
        self.pages.push(page);
        self.add_link(index, link, below)
    }

    fn add_link(&mut self, index: usize, link: &L::Link, below: u8) -> Result<(), LevelError> {
        if index == self.levels.len() {
            self.levels.push(Level::new(index as u8 + 1));
        }
        let room = B::room(link);
        if !self.levels[index].has_room(room) {
            self.close(index)?;
        }
        let level = &mut self.levels[index];
        level.push(link, room, below);
        if level.ends_after(link, &self.params, &self.keys) { self.close(index) } else { Ok(()) }
    }
}

/// The open page of one level.
#[derive(Clone, Debug)]
struct Level<W> {
    number: u8,
    writer: W,
    items: u64,
    weight: usize,
    room: Room,
    height: u8,
    pages: u64,
    last: Option<Top>,
}

impl<W: PageWriter> Level<W> {
    fn new(number: u8) -> Self {
        Self {
            number,
            writer: W::default(),
            items: 0,
            weight: 0,
            room: Room::default(),
            height: 1,
            pages: 0,
            last: None,
        }
    }

    fn has_room(&self, room: Room) -> bool {
        self.items == 0 || self.items < PAGE_ITEMS && self.room.with(room).is_in_a_page()
    }

    /// Adds an item that uses this much room.
    fn push(&mut self, item: &W::Item, room: Room, below: u8) {
        self.items += 1;
        self.room = self.room.with(room);
        self.weight += self.writer.push(item);
        self.height = self.height.max(below + 1);
    }

    fn ends_after(&self, item: &W::Item, params: &TreeParams, keys: &DomainKeys) -> bool {
        // A page of a single page would not make its level smaller than the one below.
        let may_end = self.number == 0 || self.items > 1;
        may_end && params.ends(self.number, self.weight, || keys.boundary(self.number, W::key(item)))
    }

    fn close(&mut self, keys: &DomainKeys) -> Result<(Page, W::Link), LevelError> {
        let height = mem::replace(&mut self.height, 1);
        if height > HEIGHT {
            return Err(LevelError::TooHigh);
        }
        let (page, link) = self.writer.close(Naming { keys, height });
        (self.items, self.weight, self.room) = (0, 0, Room::default());
        self.count(1, Top { root: page.id, height });
        Ok((page, link))
    }

    fn count(&mut self, pages: u64, last: Top) {
        self.pages += pages;
        self.last = Some(last);
    }

    /// The level's page, if it has exactly one.
    fn only_page(&self) -> Option<Top> {
        self.last.filter(|_| self.pages == 1)
    }
}
