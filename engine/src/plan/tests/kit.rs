//! Domains of a few packs, and what a plan does to them.

use super::*;
use crate::mark::{InventoryBuilder, PackItem};
use copal_format::id::{DomainId, PackId};
use copal_format::index::{Segment, SegmentWriter};
use copal_format::layout::Place;
use copal_format::pack::{PackKind, PackTable, PackWriter, PageView};
use copal_format::room::Memory;

pub(super) fn day(day: i64) -> Time {
    Time(0) + days(day as u64)
}

pub(super) fn days(days: u64) -> Duration {
    Duration::from_secs(days * 24 * 3600)
}

pub(super) fn id(number: u8) -> ChunkId {
    ChunkId([number; ChunkId::LEN])
}

/// A pack; at first healthy, proven, and accepted on day 0.
#[derive(Clone)]
pub(super) struct Made {
    pub(super) item: PackItem,
    pub(super) table: PackTable,
}

impl Made {
    /// A pack of chunks. Each block has a stored length and its chunks.
    pub(super) fn data(number: u8, blocks: &[(usize, &[u8])]) -> Self {
        let mut pack = begin(PackKind::Data);
        for (length, chunks) in blocks {
            pack.add_block(&vec![0; *length], 0, 0, chunks.iter().map(|chunk| id(*chunk)), []).unwrap();
        }
        Self::of(number, pack)
    }

    /// A pack of pages, each in a block of one byte: their numbers, heights and references.
    pub(super) fn tree(number: u8, pages: &[(u8, u8, &[u8])]) -> Self {
        let mut pack = begin(PackKind::Tree);
        for &(page, height, references) in pages {
            let references: Vec<ChunkId> = references.iter().map(|reference| id(*reference)).collect();
            pack.add_block(&[0], 0, 0, [id(page)], [PageView { replaces: None, height, references: &references }])
                .unwrap();
        }
        Self::of(number, pack)
    }

    fn of(number: u8, pack: PackWriter) -> Self {
        let pack = pack.finish();
        let (id, kind, length) = (PackId([number; 32]), pack.table.kind, pack.bytes.len() as u64);
        let (place, trust) = (Place::Packs, Trust::Proven);
        let item = PackItem { id, place, kind, length, is_healthy: true, trust, accepted: day(0), unlisted: 0 };
        Self { item, table: pack.table }
    }

    pub(super) fn trusted(mut self, trust: Trust) -> Self {
        self.item.trust = trust;
        self
    }

    pub(super) fn accepted(mut self, on: i64) -> Self {
        self.item.accepted = day(on);
        self
    }

    pub(super) fn damaged(mut self) -> Self {
        self.item.is_healthy = false;
        self
    }
}

fn begin(kind: PackKind) -> PackWriter {
    PackWriter::new(kind, DomainId([1; 16]), [0; 16], vec![vec![1]]).unwrap()
}

/// A copy: the numbers of its chunk or page, and of its pack.
pub(super) type Copy = (u8, u8);

/// A domain. Plans are made on day 100.
pub(super) struct Domain {
    pub(super) inventory: Inventory<'static, Vec<u8>>,
    flagged: Vec<(Copy, i64)>,
}

impl Domain {
    /// `table_of` is what can be read of a pack's table; the index names all its blocks.
    pub(super) fn with_tables<'m>(packs: &'m [Made], table_of: impl Fn(&'m Made) -> Option<&'m PackTable>) -> Self {
        let mut segment = SegmentWriter::new(DomainId([1; 16]), [0; 16]);
        packs.iter().for_each(|pack| segment.add_pack(pack.item.id, Place::Packs, &pack.table).unwrap());
        let segment = Segment::parse(segment.finish().unwrap().bytes).unwrap();
        let mut builder = InventoryBuilder::new(vec![segment], &Memory).unwrap();
        packs.iter().for_each(|pack| builder.add_pack(pack.item.clone(), table_of(pack)).unwrap());
        Self { inventory: builder.finish().unwrap(), flagged: Vec::new() }
    }

    /// A domain of these packs, whose numbers ascend.
    pub(super) fn of(packs: &[Made]) -> Self {
        Self::with_tables(packs, |pack| Some(&pack.table))
    }

    /// The same with copies that were flagged on a day.
    pub(super) fn flagged(mut self, on: i64, copies: &[Copy]) -> Self {
        self.flagged.extend(copies.iter().map(|copy| (*copy, on)));
        self
    }

    fn marks(&self) -> Marks {
        let mut marks = Marks::new(&Memory, self.inventory.entries());
        for (copy, item) in self.inventory.copies() {
            let named = self.name(&item);
            let flagged = self.flagged.iter().find(|(of, _)| *of == named).map(|(_, on)| day(*on));
            marks.set(copy, Mark { flagged, wanted: false });
        }
        marks
    }

    fn name(&self, item: &CopyItem) -> Copy {
        (self.inventory.graph.id(item.id).unwrap().0[0], self.inventory.pack_of(item).id.0[0])
    }

    pub(super) fn plan_copied(&self, roots: &[u8], is_copied: impl Fn(u32) -> bool, rules: &Rules) -> Plan {
        let roots: Vec<ChunkId> = roots.iter().map(|root| id(*root)).collect();
        plan(&self.inventory, &roots, &self.marks(), is_copied, rules)
    }

    pub(super) fn plan_by(&self, roots: &[u8], rules: &Rules) -> Plan {
        self.plan_copied(roots, |_| false, rules)
    }

    pub(super) fn plan(&self, roots: &[u8]) -> Plan {
        self.plan_by(roots, &rules())
    }

    /// The copies that pass, ascending.
    pub(super) fn copies(&self, is_meant: impl Fn(u32) -> bool) -> Vec<Copy> {
        let copies = self.inventory.copies().filter(|(copy, _)| is_meant(*copy));
        let mut named: Vec<Copy> = copies.map(|(_, item)| self.name(&item)).collect();
        named.sort_unstable();
        named
    }

    pub(super) fn removed_by(&self, roots: &[u8], rules: &Rules) -> Vec<Copy> {
        let plan = self.plan_by(roots, rules);
        self.copies(|copy| plan.removed.has(copy))
    }

    pub(super) fn removed(&self, roots: &[u8]) -> Vec<Copy> {
        self.removed_by(roots, &rules())
    }

    pub(super) fn newly_flagged(&self, roots: &[u8]) -> Vec<Copy> {
        let plan = self.plan(roots);
        self.copies(|copy| plan.marks.get(copy).flagged == Some(rules().now))
    }

    pub(super) fn best(&self, roots: &[u8]) -> Vec<Copy> {
        let plan = self.plan(roots);
        self.copies(|copy| plan.best.has(copy))
    }

    pub(super) fn wanted_by(&self, roots: &[u8], rules: &Rules) -> Vec<Copy> {
        let plan = self.plan_by(roots, rules);
        self.copies(|copy| plan.marks.get(copy).wanted)
    }

    pub(super) fn wanted(&self, roots: &[u8]) -> Vec<Copy> {
        self.wanted_by(roots, &rules())
    }
}

/// A grace period of 10 days and a floor of 20; no pack is small, and nothing limits what is copied.
pub(super) fn rules() -> Rules {
    Rules {
        grace: days(10),
        floor: days(20),
        spared: None,
        now: day(100),
        dead_most: 100,
        trapped_most: 100,
        pack_target: [0, 0],
        rewrite_most: u64::MAX,
        rewrite_entries: u64::MAX,
    }
}
