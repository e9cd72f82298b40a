//! Verifies a whole segment: checks what lookups rely on, and what [`Segment::parse`] skips for speed.

use std::ops::Range;

use super::rows::{PAGE, RawEntry, SegmentBlock, SegmentPack};
use super::segment::{Segment, SegmentError};
use crate::limits::{BLOCK_BYTES, HEIGHT, PACK_BYTES};
use crate::pack::PackKind;
use crate::wire::DecodeError;

impl<B: AsRef<[u8]>> Segment<B> {
    /// Checks everything that the format requires. The error's offset is the position of a pack, block or entry.
    pub fn verify(&self) -> Result<(), SegmentError> {
        let packs = self.verified_packs()?;
        let blocks = self.verified_blocks(&packs)?;
        self.verify_entries(&packs, &blocks)?;
        Ok(())
    }

    fn verified_packs(&self) -> Result<Vec<SegmentPack>, DecodeError> {
        let mut packs: Vec<SegmentPack> = Vec::with_capacity(self.pack_count() as usize);
        for at in 0..self.pack_count() {
            let error = |what| DecodeError::new(at as usize, what);
            let pack = self.pack(at).ok_or(error("a pack has an unknown kind or place"))?;
            if packs.last().is_some_and(|before| before.id >= pack.id) {
                return Err(error("a segment's packs do not ascend"));
            }
            if pack.length > PACK_BYTES || pack.blocks().is_none() {
                return Err(error("a pack has a length that cannot be"));
            }
            if self.pack_row(at)[50..] != [0, 0] {
                return Err(error("reserved bytes are not zero"));
            }
            packs.push(pack);
        }
        Ok(packs)
    }

    fn verified_blocks(&self, packs: &[SegmentPack]) -> Result<Vec<SegmentBlock>, DecodeError> {
        let mut blocks: Vec<SegmentBlock> = Vec::with_capacity(self.block_count() as usize);
        let mut next_pack = 0;
        for (at, block) in self.blocks().enumerate() {
            let error = |what| DecodeError::new(at, what);
            let pack = packs.get(block.pack as usize).ok_or(error("a block's pack does not exist"))?;
            let (start, end) = (u64::from(block.offset), u64::from(block.offset) + u64::from(block.length));
            let lies_in = |blocks: Range<u64>| blocks.start <= start && end <= blocks.end;
            if !(1..=BLOCK_BYTES).contains(&block.length) || !pack.blocks().is_some_and(lies_in) {
                return Err(error("a block does not lie in its pack"));
            }
            let follows = blocks.last().is_some_and(|before| {
                before.pack == block.pack && u64::from(before.offset) + u64::from(before.length) <= block.offset.into()
            });
            if !follows && block.pack != next_pack {
                return Err(error("a segment's blocks do not ascend, or a pack has none"));
            }
            next_pack = block.pack + 1;
            blocks.push(block);
        }
        if next_pack as usize == packs.len() {
            Ok(blocks)
        } else {
            Err(DecodeError::new(blocks.len(), "a pack has no block"))
        }
    }

    fn verify_entries(&self, packs: &[SegmentPack], blocks: &[SegmentBlock]) -> Result<(), DecodeError> {
        let mut used = vec![false; blocks.len()];
        let mut before: Option<RawEntry> = None;
        for at in 0..self.len() {
            let error = |what| DecodeError::new(at, what);
            let raw = self.raw(at).ok_or(error("an entry is missing"))?;
            let block = blocks.get(raw.block as usize).ok_or(error("an entry's block does not exist"))?;
            used[raw.block as usize] = true;
            let key = |raw: RawEntry| (raw.id, raw.block, raw.ordinal);
            if before.is_some_and(|before| key(before) >= key(raw)) {
                return Err(error("a segment's entries do not ascend"));
            }
            if u32::from(raw.ordinal) >= block.items {
                return Err(error("an entry's position is not in its block"));
            }
            let fits = match packs[block.pack as usize].kind {
                PackKind::Data => raw.flags == 0,
                PackKind::Tree => (PAGE + 1..=PAGE + u16::from(HEIGHT)).contains(&raw.flags),
            };
            if !fits {
                return Err(error("an entry's flags do not fit its pack's kind"));
            }
            before = Some(raw);
        }
        match used.iter().position(|used| !used) {
            None => Ok(()),
            Some(at) => Err(DecodeError::new(at, "a block has no entry")),
        }
    }
}
