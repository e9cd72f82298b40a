//! Gather: collects entries and chunks for a window.

use copal_engine::restore::leaves::BELOW_LEAF;
use copal_engine::restore::window::Target;
use copal_format::id::ChunkId;
use copal_format::tree::Extents;
use copal_format::tree::{Content, Entry, ListStep, ListWalk, TreeWalk};

use super::super::Obstacle;
use super::super::tree::{AHEAD, Turn};
use super::{Current, Damage, OpenFile, Piece, Restore, Started};
use crate::view::Read;

impl Restore {
    /// Collects entries and chunks until there are enough for a window. Returns the reads that are needed first.
    pub(super) fn gather(&mut self) -> Vec<Read> {
        while self.gathered.bytes() + self.inline < WINDOW && self.built.entries.len() < ENTRIES {
            if let Some(needs) = self.gather_content() {
                if !needs.is_empty() {
                    return needs;
                }
                continue;
            }
            let Some((target, walk)) = &mut self.walk else {
                let Some(target) = self.targets.pop_front() else {
                    self.is_walked = true;
                    break;
                };
                let mut walk = TreeWalk::new(self.tree.root);
                walk.seek(target.clone());
                self.walk = Some((target, walk));
                continue;
            };
            let mut lost = Vec::new();
            let turn = self.tree.turn(walk, &mut lost);
            let damage = |why: String| Damage { file: None, path: target.to_string(), why };
            self.built.damaged.extend(lost.into_iter().map(damage));
            match turn {
                Turn::Needs(needs) => return needs,
                Turn::Entry(entry) if entry.path.is_within(target) && !self.leaves.admits(&entry) => {
                    let damage = Damage { file: None, path: entry.path.to_string(), why: BELOW_LEAF.to_owned() };
                    self.built.damaged.push(damage);
                }
                Turn::Entry(entry) if entry.path.is_within(target) => self.start(entry),
                Turn::Entry(_) | Turn::Done => self.walk = None,
            }
        }
        Vec::new()
    }

    fn start(&mut self, mut entry: Entry) {
        let file = self.files;
        self.files += 1;
        let extents = Extents::of(&entry);
        let wanted = extents.content_before(self.part.start)..extents.content_before(self.part.end);
        let mut walk = ListWalk::of(&entry);
        walk.seek(wanted.start);
        if let Content::Inline(content) = &entry.content {
            let pieces = extents.inline(content).map(|(offset, bytes)| Piece { file, offset, bytes: bytes.to_vec() });
            self.built.pieces.extend(pieces);
            self.inline += extents.content_before(u64::MAX);
            entry.content = Content::None;
        }
        self.current = Some(Current { file, walk, reached: 0, end: wanted.end });
        self.open.insert(file, OpenFile { path: entry.path.clone(), extents, wanted, due: 0, is_gathered: false });
        self.built.entries.push(Started { file, entry });
    }

    /// Gathers the next piece of the current file; `None` without a current file.
    fn gather_content(&mut self) -> Option<Vec<Read>> {
        let current = self.current.as_mut()?;
        let file = current.file;
        let step = if current.reached < current.end { current.walk.step() } else { ListStep::Done };
        let (offset, piece) = match step {
            ListStep::Piece { offset, piece } => (offset, piece),
            ListStep::Done => {
                self.current = None;
                if let Some(open) = self.open.get_mut(&file) {
                    open.is_gathered = true;
                }
                return Some(Vec::new());
            }
            ListStep::Need(id) => match self.tree.page(&id) {
                Ok(page) => match current.walk.supply(page) {
                    Ok(()) => return Some(Vec::new()),
                    Err(error) => return Some(self.damage_current(&error.to_string())),
                },
                Err(Obstacle::Needs(mut needs)) => {
                    if !self.tree.blocks.borrow_mut().is_asked_again(&needs) {
                        let ahead: Vec<ChunkId> = current.walk.peek_needed().skip(1).take(AHEAD).collect();
                        self.tree.needs_of(&ahead, &mut needs);
                    }
                    return Some(needs);
                }
                Err(Obstacle::Lost { why, .. }) => return Some(self.damage_current(&why)),
            },
        };
        let target = Target { file, offset, length: piece.length };
        current.reached = offset + u64::from(piece.length);
        let location = {
            let view = self.tree.view.borrow();
            self.tried.next(view.index(self.tree.domain), &piece.id)
        };
        match location {
            Some(location) => {
                self.gathered.add(piece.id, &location, target);
                if let Some(open) = self.open.get_mut(&file) {
                    open.due += u64::from(piece.length);
                }
                Some(Vec::new())
            }
            None => Some(self.damage_current(&format!("no pack holds a sound copy of chunk {}", piece.id))),
        }
    }

    fn damage_current(&mut self, why: &str) -> Vec<Read> {
        if let Some(current) = self.current.take()
            && let Some(open) = self.open.remove(&current.file)
        {
            let path = open.path.to_string();
            self.built.damaged.push(Damage { file: Some(current.file), path, why: why.to_owned() });
        }
        Vec::new()
    }
}

/// Bytes of files per window.
const WINDOW: u64 = 16 << 20;
/// Entries per window.
const ENTRIES: usize = 2_000;
