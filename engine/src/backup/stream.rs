//! Stream: the open blocks and the open pack of one kind.

use copal_format::block::{BlockBuilder, BlockItem, SealedBlock};
use copal_format::limits::CLEAR_SHARE;
use copal_format::pack::{PackKind, PackLimit, PackWriter, PageView};
use copal_format::seal::BlockKind;

/// Which of the open blocks.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum OpenBlock {
    Data,
    /// For chunks that look random: compressed only if they repeat. At a flush, the rest of them joins `Data`.
    Noise,
    Tree,
}

impl OpenBlock {
    pub(super) fn pack(self) -> PackKind {
        if self == Self::Tree { PackKind::Tree } else { PackKind::Data }
    }
}

pub(super) struct Stream {
    block: BlockBuilder,
    /// Stays empty where pages are stored.
    noise: BlockBuilder,
    pub(super) pack: Option<PackWriter>,
    pack_target: usize,
    /// Length of the last pack that reached its target.
    pack_length: usize,
    /// Buffers of blocks already copied into packs, to be reused.
    buffers: Vec<Vec<u8>>,
}

impl Stream {
    pub(super) fn new(kind: BlockKind, block_target: u32, pack_target: u32) -> Self {
        Self {
            block: BlockBuilder::new(kind, block_target as usize),
            noise: BlockBuilder::new(kind, block_target as usize),
            pack: None,
            pack_target: pack_target as usize,
            pack_length: 0,
            buffers: Vec::new(),
        }
    }

    pub(super) fn block(&mut self, which: OpenBlock) -> &mut BlockBuilder {
        if which == OpenBlock::Noise { &mut self.noise } else { &mut self.block }
    }

    /// Moves the rest of the noise to the other chunks if it fits: a block of its own would cost a row and padding.
    pub(super) fn join(&mut self) {
        self.block.append(&mut self.noise);
    }

    /// Sets the size at which packs are full from now on.
    pub(super) fn aim(&mut self, pack_target: u32) {
        self.pack_target = pack_target as usize;
    }

    /// Adds a block to the open pack; false if no pack is open, or it has no room.
    pub(super) fn add(&mut self, block: &SealedBlock) -> Result<bool, PackLimit> {
        match &mut self.pack {
            // Headers and tables of a manifest with the most packs must stay within their limit.
            Some(open) if open.clear_length() + rows(block) > CLEAR_SHARE => Ok(false),
            Some(open) => match add(open, block) {
                // The pack has the most blocks or entries before it reaches its target.
                Err(PackLimit::Full { .. }) => Ok(false),
                added => added.map(|()| true),
            },
            None => Ok(false),
        }
    }

    pub(super) fn begin(&mut self, mut pack: PackWriter, block: &SealedBlock) -> Result<(), PackLimit> {
        // The last pack's length and a little more: growing would copy the pack.
        pack.reserve(self.pack_length + self.pack_length / 8);
        add(&mut pack, block)?;
        self.pack = Some(pack);
        Ok(())
    }

    /// Takes the open pack once it has reached its target.
    pub(super) fn take_full(&mut self) -> Option<PackWriter> {
        let full = self.pack.take_if(|pack| pack.len() >= self.pack_target);
        self.pack_length = full.as_ref().map_or(self.pack_length, PackWriter::len);
        full
    }

    /// A buffer for the next block; a used one if there is one.
    pub(super) fn take_buffer(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    pub(super) fn keep_buffer(&mut self, buffer: Vec<u8>) {
        if self.buffers.len() < BUFFERS {
            self.buffers.push(buffer);
        }
    }
}

/// Bytes that a block adds to its pack's table.
fn rows(block: &SealedBlock) -> u64 {
    BLOCK_ROW + block.items.iter().map(BlockItem::row_length).sum::<u64>()
}

fn add(writer: &mut PackWriter, block: &SealedBlock) -> Result<(), PackLimit> {
    let ids = block.items.iter().map(|item| item.id);
    let pages = block.items.iter().filter_map(|item| item.page.as_ref()).map(|page| PageView {
        replaces: page.replaces,
        height: page.height,
        references: &page.references,
    });
    writer.add_block(&block.bytes, 0, block.counter, ids, pages)
}

/// Buffers to keep: more blocks are rarely being sealed at once.
const BUFFERS: usize = 4;
/// Bytes of a block's own row in a pack's table.
const BLOCK_ROW: u64 = 24;
