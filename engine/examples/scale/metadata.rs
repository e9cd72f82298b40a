//! Metadata of a large repository, made up: ids, tables, pages and segments as backups of random data would make them,
//! without any payload.

use std::time::Duration;

use copal_engine::mark::{InventoryBuilder, InventoryLimit, PackItem, Trust};
use copal_engine::plan::Rules;
use copal_format::id::{ChunkId, DomainId, PackId};
use copal_format::index::ranged::SegmentHead;
use copal_format::index::{NewSegment, Segment, SegmentWriter, Sequence, merge};
use copal_format::layout::Place;
use copal_format::pack::{Pack, PackKind, PackTable, PackWriter, PageView};
use copal_format::state::SegmentRecord;
use copal_format::time::Time;

/// A repository of so many chunks, each referred to by one page; a tenth as many pages are leaves.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Metadata {
    /// Chunks.
    pub(crate) chunks: u64,
}

/// One pack.
pub(crate) struct MadePack {
    /// What a prune knows of it.
    pub(crate) item: PackItem,
    /// Its table.
    pub(crate) table: PackTable,
    /// The object.
    pub(crate) bytes: Vec<u8>,
}

impl Metadata {
    /// Pages of each height, the leaves first.
    pub(crate) fn levels(&self) -> Vec<u64> {
        let mut levels = vec![self.chunks.div_ceil(LEAF)];
        while let Some(last) = levels.last().copied().filter(|last| *last > 1) {
            levels.push(last.div_ceil(INNER));
        }
        levels
    }

    /// All pages.
    pub(crate) fn pages(&self) -> u64 {
        self.levels().iter().sum()
    }

    /// The root page.
    pub(crate) fn root(&self) -> ChunkId {
        page_id(self.levels().len() as u64, 0)
    }

    /// The id of a chunk.
    pub(crate) fn chunk(&self, number: u64) -> ChunkId {
        id(number)
    }

    /// All packs, as uploads made them.
    pub(crate) fn packs(&self) -> impl Iterator<Item = MadePack> + '_ {
        (0..self.pack_count()).map(|number| self.pack(number))
    }

    fn pack_count(&self) -> u64 {
        let trees = self.levels().into_iter().map(|pages| pages.div_ceil(PACK_PAGES));
        self.chunks.div_ceil(PACK_CHUNKS) + trees.sum::<u64>()
    }

    fn pack(&self, number: u64) -> MadePack {
        let data = self.chunks.div_ceil(PACK_CHUNKS);
        if number < data {
            return self.data_pack(number);
        }
        let mut pack = number - data;
        let mut below = self.chunks;
        for (pages, height) in self.levels().into_iter().zip(1..) {
            if pack < pages.div_ceil(PACK_PAGES) {
                return tree_pack(pack, height, pages, below);
            }
            pack -= pages.div_ceil(PACK_PAGES);
            below = pages;
        }
        unreachable!("there are no more packs than are counted")
    }

    fn data_pack(&self, pack: u64) -> MadePack {
        let mut writer = writer(PackKind::Data, pack);
        let end = self.chunks.min((pack + 1) * PACK_CHUNKS);
        for block in (pack * PACK_CHUNKS..end).step_by(BLOCK_CHUNKS as usize) {
            let ids = (block..end.min(block + BLOCK_CHUNKS)).map(id);
            writer.add_block(&[0; 40], 0, 0, ids, []).expect("there is room");
        }
        made(writer.finish())
    }

    /// The index: segments of at most so many entries, as uploads made them.
    ///
    /// # Panics
    /// If the number is larger than a segment may be.
    pub(crate) fn segments(&self, most: u64) -> Vec<Segment<Vec<u8>>> {
        let parse = |segment: NewSegment| Segment::parse(segment.bytes).expect("it was just written");
        self.new_segments(most).into_iter().map(parse).collect()
    }

    /// The same, as objects.
    ///
    /// # Panics
    /// If the number is larger than a segment may be.
    pub(crate) fn new_segments(&self, most: u64) -> Vec<NewSegment> {
        let mut segments = Vec::new();
        let mut writer = SegmentWriter::new(DOMAIN, random(0));
        let mut close = |writer: &mut SegmentWriter| {
            let full = std::mem::replace(writer, SegmentWriter::new(DOMAIN, random(segments.len() as u64 + 1)));
            segments.extend(full.finish());
        };
        for pack in self.packs() {
            if writer.len() as u64 + PACK_CHUNKS > most {
                close(&mut writer);
            }
            writer.add_pack(pack.item.id, Place::Packs, &pack.table).expect("there is room");
        }
        close(&mut writer);
        segments
    }

    /// Adds all packs to an inventory, ascending as a prune meets them.
    pub(crate) fn fill<B: AsRef<[u8]>>(&self, inventory: &mut InventoryBuilder<'_, B>) -> Result<(), InventoryLimit> {
        // Names of packs are hashes: which one comes next is only known once all were made.
        let numbers = 0..self.pack_count();
        let mut order: Vec<(PackId, u32)> = numbers.map(|number| (self.pack(number).item.id, number as u32)).collect();
        order.sort_unstable();
        for (_, number) in order {
            let pack = self.pack(number.into());
            inventory.add_pack(pack.item, Some(&pack.table))?;
        }
        Ok(())
    }
}

/// The same entries in segments of about a million that follow each other, as the service merges them.
pub(crate) fn merged(segments: &[Segment<Vec<u8>>]) -> Result<Vec<Segment<Vec<u8>>>, Box<dyn std::error::Error>> {
    let entries: usize = segments.iter().map(Segment::len).sum();
    let mut readers = Vec::new();
    for segment in segments {
        let (first, last) = segment.bounds().ok_or("a segment without entries")?;
        let length = segment.bytes().len() as u64;
        let record = SegmentRecord { entries: segment.len() as u64, length, first, last };
        readers.push((Sequence::new(&SegmentHead::parse(segment.bytes(), &record)?), segment.bytes()));
    }
    let pieces = entries.div_ceil(MERGED) as u64;
    let mut merged = Vec::new();
    for piece in 1..=pieces {
        // Ids are spread evenly.
        let end = (u128::from(u64::MAX) * u128::from(piece) / u128::from(pieces)) as u64;
        let mut taken = Vec::new();
        for (reader, bytes) in &mut readers {
            while !reader.is_read() && reader.last().is_none_or(|last| head(&last) <= end) {
                let left = reader.wanted(u64::MAX);
                reader.feed(&bytes[left.start as usize..left.end.min(left.start + PIECE) as usize]);
            }
            taken.extend(reader.take(|id| piece == pieces || head(id) <= end)?);
        }
        let taken: Vec<&Segment<Vec<u8>>> = taken.iter().collect();
        let segment = merge(DOMAIN, random(1 << 40 | piece), &taken, |_| true)?.ok_or("a piece without entries")?;
        merged.push(Segment::parse(segment.bytes)?);
    }
    Ok(merged)
}

/// What a prune is asked that copies nothing.
pub(crate) fn rules() -> Rules {
    Rules {
        floor: Duration::ZERO,
        grace: Duration::from_secs(24 * 3600),
        spared: None,
        now: Time(1 << 60),
        dead_most: 2,
        trapped_most: 5,
        pack_target: [32 << 20, 8 << 20],
        rewrite_most: 0,
        rewrite_entries: 0,
    }
}

fn head(id: &ChunkId) -> u64 {
    u64::from_be_bytes(*id.as_bytes().first_chunk().expect("an id is longer"))
}

fn tree_pack(pack: u64, height: u8, count: u64, below: u64) -> MadePack {
    let mut writer = writer(PackKind::Tree, (u64::from(height) << 40) | pack);
    let end = count.min((pack + 1) * PACK_PAGES);
    for block in (pack * PACK_PAGES..end).step_by(BLOCK_PAGES as usize) {
        let numbers = block..end.min(block + BLOCK_PAGES);
        let references: Vec<Vec<ChunkId>> = numbers.clone().map(|page| below_page(height, page, below)).collect();
        let rows = references.iter().map(|of| PageView { replaces: None, height, references: of });
        let ids = numbers.map(|page| page_id(height.into(), page));
        writer.add_block(&[0; 40], 0, 0, ids, rows).expect("there is room");
    }
    made(writer.finish())
}

fn writer(kind: PackKind, seed: u64) -> PackWriter {
    PackWriter::new(kind, DOMAIN, random(seed), vec![vec![1]]).expect("one session")
}

fn made(pack: Pack) -> MadePack {
    let item = PackItem {
        id: pack.id,
        place: Place::Packs,
        kind: pack.table.kind,
        length: pack.table.pack_length(),
        is_healthy: true,
        trust: Trust::Proven,
        accepted: Time(1),
        unlisted: 0,
    };
    MadePack { item, table: pack.table, bytes: pack.bytes }
}

fn below_page(height: u8, page: u64, below: u64) -> Vec<ChunkId> {
    let of = |number: u64| if height == 1 { id(number) } else { page_id(u64::from(height) - 1, number) };
    let fan = if height == 1 { LEAF } else { INNER };
    (page * fan..below.min((page + 1) * fan)).map(of).collect()
}

fn page_id(height: u64, number: u64) -> ChunkId {
    id((height << 48) | number)
}

fn id(number: u64) -> ChunkId {
    let mut bytes = [0; 24];
    for (part, word) in bytes.chunks_exact_mut(8).zip(0u64..) {
        part.copy_from_slice(&mixed(number.wrapping_mul(3).wrapping_add(word)).to_be_bytes());
    }
    ChunkId(bytes)
}

fn random(number: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// Spreads numbers as hashes are spread (SplitMix64).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The domain of everything.
pub(crate) const DOMAIN: DomainId = DomainId([4; 16]);
/// Entries of a merged segment, about, and bytes that are fed to a merge at once.
const MERGED: usize = 1 << 20;
const PIECE: u64 = 1 << 17;
/// Chunks of a leaf, pages of an inner page.
const LEAF: u64 = 10;
const INNER: u64 = 64;
const BLOCK_CHUNKS: u64 = 10;
const PACK_CHUNKS: u64 = 300;
const BLOCK_PAGES: u64 = 20;
const PACK_PAGES: u64 = 300;
