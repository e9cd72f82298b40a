//! Gather: collects entries and chunks for a window.

use copal_engine::restore::leaves::BELOW_LEAF;
use copal_engine::restore::window::Target;
use copal_format::id::ChunkId;
use copal_format::tree::Extents;
use copal_format::tree::{Content, Entry, ListStep, ListWalk, TreeWalk};

use super::super::Obstacle;
use super::super::tree::Turn;
use super::{Current, Damage, OpenFile, Piece, Pieces, Restore, Started};
use crate::view::Read;

impl Restore {
    /// Collects entries and chunks until there are enough for a window. Returns the reads that are needed first.
    pub(super) fn gather(&mut self) -> Vec<Read> {
        while self.gathered.bytes() < WINDOW && self.built.entries.len() < ENTRIES {
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
        let bytes = entry.content_bytes();
        let extents = Extents::of(&entry);
        let wanted = extents.content_before(self.part.start)..extents.content_before(self.part.end);
        let pieces = match &entry.content {
            Content::Chunks(pieces) => Some(Pieces::Few(pieces.clone().into_iter())),
            Content::List { root, height } => {
                let mut walk = ListWalk::new(*root, *height, bytes);
                walk.seek(wanted.start);
                Some(Pieces::List(Box::new(walk)))
            }
            Content::Inline(content) => {
                let pieces =
                    extents.inline(content).map(|(offset, bytes)| Piece { file, offset, bytes: bytes.to_vec() });
                self.built.pieces.extend(pieces);
                entry.content = Content::None;
                None
            }
            Content::None => None,
        };
        let open = OpenFile {
            path: entry.path.clone(),
            extents,
            wanted: wanted.clone(),
            due: 0,
            is_gathered: pieces.is_none(),
        };
        self.open.insert(file, open);
        self.current = pieces.map(|pieces| Current { file, pieces, offset: 0, wanted });
        self.built.entries.push(Started { file, entry });
    }

    /// Gathers the next piece of the current file; `None` without a current file.
    fn gather_content(&mut self) -> Option<Vec<Read>> {
        let current = self.current.as_mut()?;
        let file = current.file;
        if current.offset >= current.wanted.end {
            self.end_content(file);
            return Some(Vec::new());
        }
        let next = match &mut current.pieces {
            Pieces::Few(pieces) => pieces.next(),
            Pieces::List(walk) => match walk.step() {
                ListStep::Piece { offset, piece } => {
                    current.offset = offset;
                    Some(piece)
                }
                ListStep::Done => None,
                ListStep::Need(id) => match self.tree.page(&id) {
                    Ok(page) => match walk.supply(page) {
                        Ok(()) => return Some(Vec::new()),
                        Err(error) => return Some(self.damage_current(&error.to_string())),
                    },
                    Err(Obstacle::Needs(mut needs)) => {
                        let ahead: Vec<ChunkId> = walk.peek_needed().skip(1).take(AHEAD).collect();
                        self.tree.needs_of(&ahead, &mut needs);
                        return Some(needs);
                    }
                    Err(Obstacle::Lost { why, .. }) => return Some(self.damage_current(&why)),
                },
            },
        };
        let Some(piece) = next else {
            self.end_content(file);
            return Some(Vec::new());
        };
        let target = Target { file, offset: current.offset, length: piece.length };
        current.offset += u64::from(piece.length);
        if current.offset <= current.wanted.start {
            return Some(Vec::new());
        }
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

    fn end_content(&mut self, file: u32) {
        self.current = None;
        if let Some(open) = self.open.get_mut(&file) {
            open.is_gathered = true;
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
/// Pages read ahead.
const AHEAD: usize = 16;
