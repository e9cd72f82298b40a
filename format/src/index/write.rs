//! Writes segments, from packs and from other segments.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::rows::{BLOCK_ROW, ENTRY, HEADER, MAGIC, PACK_ROW, RawEntry, SegmentBlock, SegmentPack, flags, locate};
use super::segment::{Entry, Segment};
use crate::id::{ChunkId, DomainId, ObjectHash, PackId};
use crate::layout::Place;
use crate::limits::SEGMENT_ENTRIES;
use crate::pack::PackTable;
use crate::state::SegmentRecord;

/// A newly written segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSegment {
    /// The SHA-256 of the bytes, which is its name.
    pub hash: ObjectHash,
    /// Its record for the state.
    pub record: SegmentRecord,
    /// The object to be stored.
    pub bytes: Vec<u8>,
}

/// Why entries do not fit one segment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum SegmentLimit {
    /// Too many entries: use several segments.
    #[error("a segment cannot hold more than {SEGMENT_ENTRIES} entries")]
    Full,
    /// The entries are of another domain.
    #[error("entries of domain {found} do not belong into a segment of domain {expected}")]
    Domain { expected: DomainId, found: DomainId },
}

/// Builds a segment from accepted packs.
#[derive(Clone, Debug)]
pub struct SegmentWriter {
    domain: DomainId,
    random: [u8; 16],
    added: BTreeSet<PackId>,
    packs: Vec<SegmentPack>,
    blocks: Vec<SegmentBlock>,
    entries: Vec<RawEntry>,
}

impl SegmentWriter {
    /// Starts a segment. The random bytes make its name unique.
    pub fn new(domain: DomainId, random: [u8; 16]) -> Self {
        Self { domain, random, added: BTreeSet::new(), packs: Vec::new(), blocks: Vec::new(), entries: Vec::new() }
    }

    /// Adds all entries of a pack. Does nothing if the pack was added before.
    pub fn add_pack(&mut self, id: PackId, place: Place, table: &PackTable) -> Result<(), SegmentLimit> {
        if table.domain != self.domain {
            return Err(SegmentLimit::Domain { expected: self.domain, found: table.domain });
        }
        if (self.entries.len() + table.ids.len()) as u64 > SEGMENT_ENTRIES {
            return Err(SegmentLimit::Full);
        }
        if !self.added.insert(id) {
            return Ok(());
        }
        let pack = self.packs.len() as u32;
        // A pack's first block follows its header.
        let header_length = table.blocks.first().map_or(0, |block| block.offset);
        let (length, table_length) = (table.pack_length(), table.table_length());
        self.packs.push(SegmentPack { id, length, header_length, table_length, kind: table.kind, place });
        self.entries.reserve(table.ids.len());
        for row in &table.blocks {
            let block = self.blocks.len() as u32;
            let items = row.entries.len() as u32;
            self.blocks.push(SegmentBlock { pack, offset: row.offset, length: row.length, items });
            for (ordinal, id) in table.block_ids(row).iter().enumerate() {
                let ordinal = u16::try_from(ordinal).expect("blocks hold at most 65,535 entries");
                let flags = flags(table.kind, table.height(row.entries.start as usize + usize::from(ordinal)));
                self.entries.push(RawEntry { id: *id, block, ordinal, flags });
            }
        }
        Ok(())
    }

    /// The number of entries added.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no pack was added.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Sorts and writes the segment; none if no pack was added.
    pub fn finish(mut self) -> Option<NewSegment> {
        let (packs, pack_ranks) = sorted(&self.packs, |pack| pack.id);
        self.blocks.iter_mut().for_each(|block| block.pack = pack_ranks[block.pack as usize]);
        let (blocks, block_ranks) = sorted(&self.blocks, |block| (block.pack, block.offset));
        self.entries.iter_mut().for_each(|entry| entry.block = block_ranks[entry.block as usize]);
        self.entries.sort_unstable();
        let mut bytes = front(self.domain, self.random, &packs, &blocks, self.entries.len());
        bytes.reserve_exact(self.entries.len() * ENTRY);
        self.entries.iter().for_each(|entry| entry.put(&mut bytes));
        Some(seal(bytes, self.entries.first()?.id, self.entries.last()?.id, self.entries.len()))
    }
}

/// Merges segments of one domain. Drops entries for which `keep` is false, then unused blocks and packs; none if
/// nothing is left. `keep` gets each distinct entry once, in order. The bytes do not depend on how entries were spread.
pub fn merge<B: AsRef<[u8]>>(
    domain: DomainId,
    random: [u8; 16],
    segments: &[&Segment<B>],
    mut keep: impl FnMut(&Entry) -> bool,
) -> Result<Option<NewSegment>, SegmentLimit> {
    if let Some(other) = segments.iter().find(|segment| segment.domain() != domain) {
        return Err(SegmentLimit::Domain { expected: domain, found: other.domain() });
    }
    let dictionary = Dictionary::join(segments);
    let mut entries = MergedEntries::new(segments, &dictionary);
    let mut used = vec![false; dictionary.blocks.len()];

    // Leave room for the largest possible front, and move the entries up once its size is known.
    let room = front_length(dictionary.packs.len(), dictionary.blocks.len());
    let most: usize = segments.iter().map(|segment| segment.len()).sum();
    let mut bytes = Vec::with_capacity(room + most * ENTRY);
    bytes.resize(room, 0);
    let (mut count, mut first, mut last) = (0, None, None);
    while let Some(raw) = entries.next_distinct() {
        if !keep(&dictionary.resolve(&raw)) {
            continue;
        }
        count += 1;
        if count as u64 > SEGMENT_ENTRIES {
            return Err(SegmentLimit::Full);
        }
        used[raw.block as usize] = true;
        first = first.or(Some(raw.id));
        last = Some(raw.id);
        raw.put(&mut bytes);
    }
    let (Some(first), Some(last)) = (first, last) else { return Ok(None) };

    let (packs, blocks, ranks) = dictionary.restricted(&used);
    for entry in bytes[room..].chunks_exact_mut(ENTRY) {
        let field = &mut entry[ChunkId::LEN..ChunkId::LEN + 4];
        let block = u32::from_le_bytes([field[0], field[1], field[2], field[3]]);
        field.copy_from_slice(&ranks[block as usize].to_le_bytes());
    }
    let front = front(domain, random, &packs, &blocks, count);
    bytes.copy_within(room.., front.len());
    bytes.truncate(front.len() + count * ENTRY);
    bytes[..front.len()].copy_from_slice(&front);
    Ok(Some(seal(bytes, first, last, count)))
}

/// The merged packs and blocks of several segments.
struct Dictionary {
    packs: Vec<SegmentPack>,
    blocks: Vec<SegmentBlock>,
    /// For each segment, the new position of each of its blocks; `None` if the block's pack cannot be read.
    block_maps: Vec<Vec<Option<u32>>>,
}

impl Dictionary {
    fn join<B: AsRef<[u8]>>(segments: &[&Segment<B>]) -> Self {
        // Sort by all fields, so that among differing rows of a pack or block the same one wins in any grouping.
        let mut packs: Vec<SegmentPack> = segments.iter().flat_map(|segment| segment.packs()).collect();
        packs.sort_unstable();
        packs.dedup_by_key(|pack| pack.id);
        let mut renamed: Vec<Vec<Option<SegmentBlock>>> = Vec::with_capacity(segments.len());
        for segment in segments {
            let rank = |at| packs.binary_search_by_key(&segment.pack(at)?.id, |pack| pack.id).ok();
            let ranks: Vec<Option<usize>> = (0..segment.pack_count()).map(rank).collect();
            let rename = |block: SegmentBlock| {
                let pack = (*ranks.get(block.pack as usize)?)?;
                Some(SegmentBlock { pack: pack as u32, ..block })
            };
            renamed.push(segment.blocks().map(rename).collect());
        }
        let mut blocks: Vec<SegmentBlock> = renamed.iter().flatten().flatten().copied().collect();
        blocks.sort_unstable();
        blocks.dedup_by_key(|block| (block.pack, block.offset));
        let place = |block: &SegmentBlock| {
            let key = |block: &SegmentBlock| (block.pack, block.offset);
            blocks.binary_search_by_key(&key(block), key).ok().map(|at| at as u32)
        };
        let map = |renamed: &Vec<Option<SegmentBlock>>| renamed.iter().map(|block| place(block.as_ref()?)).collect();
        let block_maps = renamed.iter().map(map).collect();
        Self { packs, blocks, block_maps }
    }

    fn resolve(&self, raw: &RawEntry) -> Entry {
        let block = &self.blocks[raw.block as usize];
        let pack = &self.packs[block.pack as usize];
        Entry { id: raw.id, block: raw.block, location: locate(pack, block, raw.ordinal, raw.flags) }
    }

    /// The packs and blocks in use, and each block's new position.
    fn restricted(&self, used: &[bool]) -> (Vec<SegmentPack>, Vec<SegmentBlock>, Vec<u32>) {
        let (mut packs, mut blocks) = (Vec::new(), Vec::new());
        let mut ranks = Vec::with_capacity(used.len());
        let mut newest = None;
        for (block, used) in self.blocks.iter().zip(used) {
            ranks.push(blocks.len() as u32);
            if !used {
                continue;
            }
            if newest != Some(block.pack) {
                newest = Some(block.pack);
                packs.push(self.packs[block.pack as usize]);
            }
            blocks.push(SegmentBlock { pack: packs.len() as u32 - 1, ..*block });
        }
        (packs, blocks, ranks)
    }
}

/// The entries of several segments in one ascending order, with renumbered blocks.
struct MergedEntries<'a, B> {
    segments: &'a [&'a Segment<B>],
    maps: &'a [Vec<Option<u32>>],
    positions: Vec<usize>,
    heads: BinaryHeap<Reverse<(RawEntry, usize)>>,
    before: Option<RawEntry>,
}

impl<'a, B: AsRef<[u8]>> MergedEntries<'a, B> {
    fn new(segments: &'a [&'a Segment<B>], dictionary: &'a Dictionary) -> Self {
        let mut merged = Self {
            segments,
            maps: &dictionary.block_maps,
            positions: vec![0; segments.len()],
            heads: BinaryHeap::with_capacity(segments.len()),
            before: None,
        };
        for source in 0..segments.len() {
            let first = merged.advance(source);
            merged.heads.extend(first);
        }
        merged
    }

    /// The next entry that differs from the previous one.
    fn next_distinct(&mut self) -> Option<RawEntry> {
        loop {
            let Reverse((entry, source)) = *self.heads.peek()?;
            match self.advance(source) {
                Some(next) => *self.heads.peek_mut()? = next,
                None => drop(self.heads.pop()),
            }
            let key = |entry: RawEntry| (entry.id, entry.block, entry.ordinal);
            if self.before.replace(entry).is_none_or(|before| key(before) != key(entry)) {
                return Some(entry);
            }
        }
    }

    fn advance(&mut self, source: usize) -> Option<Reverse<(RawEntry, usize)>> {
        loop {
            let raw = self.segments[source].raw(self.positions[source])?;
            self.positions[source] += 1;
            if let Some(Some(block)) = self.maps[source].get(raw.block as usize) {
                return Some(Reverse((RawEntry { block: *block, ..raw }, source)));
            }
        }
    }
}

/// The items sorted by key, and the new position of each.
fn sorted<T: Copy, K: Ord>(items: &[T], key: impl Fn(&T) -> K) -> (Vec<T>, Vec<u32>) {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_unstable_by_key(|&at| key(&items[at]));
    let mut ranks = vec![0; items.len()];
    order.iter().enumerate().for_each(|(rank, &at)| ranks[at] = rank as u32);
    (order.iter().map(|&at| items[at]).collect(), ranks)
}

fn front_length(packs: usize, blocks: usize) -> usize {
    (HEADER + packs * PACK_ROW + blocks * BLOCK_ROW).next_multiple_of(ENTRY)
}

/// The header, packs and blocks, padded: everything before the entries.
pub(super) fn front(
    domain: DomainId,
    random: [u8; 16],
    packs: &[SegmentPack],
    blocks: &[SegmentBlock],
    entries: usize,
) -> Vec<u8> {
    let length = front_length(packs.len(), blocks.len());
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(domain.as_bytes());
    bytes.extend_from_slice(&random);
    bytes.extend_from_slice(&(packs.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(blocks.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(entries as u64).to_le_bytes());
    bytes.extend_from_slice(&[0; 8]);
    for pack in packs {
        bytes.extend_from_slice(pack.id.as_bytes());
        bytes.extend_from_slice(&pack.length.to_le_bytes());
        bytes.extend_from_slice(&pack.header_length.to_le_bytes());
        bytes.extend_from_slice(&pack.table_length.to_le_bytes());
        bytes.extend_from_slice(&[pack.kind as u8, pack.place as u8, 0, 0]);
    }
    for block in blocks {
        bytes.extend_from_slice(&block.pack.to_le_bytes());
        bytes.extend_from_slice(&block.offset.to_le_bytes());
        bytes.extend_from_slice(&block.length.to_le_bytes());
        bytes.extend_from_slice(&block.items.to_le_bytes());
    }
    bytes.resize(length, 0);
    bytes
}

fn seal(bytes: Vec<u8>, first: ChunkId, last: ChunkId, entries: usize) -> NewSegment {
    let record = SegmentRecord { entries: entries as u64, length: bytes.len() as u64, first, last };
    NewSegment { hash: ObjectHash::of(&bytes), record, bytes }
}
