mod lies;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::merged::Merged;
use super::*;
use copal_format::id::{ChunkId, DomainId, PackId};
use copal_format::index::{Segment, SegmentWriter, merge};
use copal_format::pack::{Pack, PackWriter, PageView};
use copal_format::room::Memory;

/// A page: its number, the height that its table claims, and the numbers of what it refers to.
type MadePage = (u8, u8, Vec<u8>);

/// Numbers below this are chunks, from this on pages; what is in no pack is missing.
const PAGES: u8 = 40;

fn id(number: u8) -> ChunkId {
    ChunkId(*blake3::hash(&[number]).as_bytes().first_chunk().unwrap())
}

/// Packs of chunks and pages; each pack becomes a segment.
#[derive(Clone, Debug)]
struct Made {
    chunks: Vec<Vec<u8>>,
    pages: Vec<Vec<MadePage>>,
}

fn made() -> impl Strategy<Value = Made> {
    let chunks = prop::collection::vec(prop::collection::vec(0..PAGES, 1..20), 0..4);
    // Mostly references go down; now and then a table lies.
    let page = (PAGES..80, 1u8..6, prop::collection::vec(prop_oneof![4 => 0..PAGES, 2 => PAGES..85], 0..8));
    let pages = prop::collection::vec(prop::collection::vec(page, 1..12), 0..5);
    (chunks, pages).prop_map(|(chunks, pages)| Made { chunks, pages })
}

impl Made {
    fn segments(&self) -> Vec<Segment<Vec<u8>>> {
        let (domain, session) = (DomainId([1; 16]), || vec![vec![1]]);
        let mut packs = Vec::new();
        for chunks in &self.chunks {
            let mut pack = PackWriter::new(PackKind::Data, domain, [packs.len() as u8; 16], session()).unwrap();
            pack.add_block(&[0; 40], 0, 0, chunks.iter().map(|chunk| id(*chunk)), []).unwrap();
            packs.push(pack.finish());
        }
        for pages in &self.pages {
            let mut pack = PackWriter::new(PackKind::Tree, domain, [packs.len() as u8; 16], session()).unwrap();
            let rows = pages.iter().map(|(_, height, _)| PageView { replaces: None, height: *height, references: &[] });
            pack.add_block(&[0; 40], 0, 0, pages.iter().map(|(page, ..)| id(*page)), rows).unwrap();
            packs.push(pack.finish());
        }
        packs.iter().map(segment_of).collect()
    }

    fn graph(&self) -> Graph<'static, Vec<u8>> {
        let mut graph = Graph::new(self.segments(), &Memory).unwrap();
        for (pack, (page, height, references)) in self.rows() {
            let references: Vec<ChunkId> = references.iter().map(|reference| id(*reference)).collect();
            graph.add_page(pack, &id(*page), view(*height, &references)).unwrap();
        }
        graph.finish().unwrap();
        graph
    }

    /// All pages, each with the number of its pack.
    fn rows(&self) -> impl Iterator<Item = (u32, &MadePage)> {
        (0..).zip(&self.pages).flat_map(|(pack, pages)| pages.iter().map(move |page| (pack, page)))
    }

    fn present(&self) -> BTreeSet<u8> {
        let pages = self.pages.iter().flatten().map(|(page, ..)| *page);
        self.chunks.iter().flatten().copied().chain(pages).collect()
    }

    /// What each page refers to, of all its copies.
    fn references(&self) -> BTreeMap<u8, BTreeSet<u8>> {
        let mut all: BTreeMap<u8, BTreeSet<u8>> = BTreeMap::new();
        for (page, _, references) in self.pages.iter().flatten() {
            all.entry(*page).or_default().extend(references);
        }
        all
    }

    fn reach(&self, from: &[u8]) -> BTreeSet<u8> {
        let references = self.references();
        let (mut reached, mut open) = (BTreeSet::new(), from.to_vec());
        while let Some(number) = open.pop() {
            if reached.insert(number) {
                open.extend(references.get(&number).into_iter().flatten());
            }
        }
        reached
    }
}

fn segment_of(pack: &Pack) -> Segment<Vec<u8>> {
    let mut segment = SegmentWriter::new(pack.table.domain, [0; 16]);
    segment.add_pack(pack.id, Place::Packs, &pack.table).unwrap();
    Segment::parse(segment.finish().unwrap().bytes).unwrap()
}

fn view(height: u8, references: &[ChunkId]) -> PageView<'_> {
    PageView { replaces: None, height, references }
}

fn ids<'a>(numbers: impl IntoIterator<Item = &'a u8>) -> BTreeSet<ChunkId> {
    numbers.into_iter().map(|number| id(*number)).collect()
}

fn ids_in(graph: &Graph<'_, Vec<u8>>, bits: &Bits) -> BTreeSet<ChunkId> {
    bits.iter().map(|number| graph.id(number).unwrap()).collect()
}

/// An inventory of these packs, whose tables can be read or not, with these segments besides.
fn inventory(mut packs: Vec<(Pack, Trust, bool)>, more: Vec<Segment<Vec<u8>>>) -> Inventory<'static, Vec<u8>> {
    packs.sort_unstable_by_key(|(pack, ..)| pack.id);
    let segments = packs.iter().map(|(pack, ..)| segment_of(pack)).chain(more);
    let mut builder = InventoryBuilder::new(segments.collect(), &Memory).unwrap();
    for (pack, trust, is_healthy) in packs {
        let (kind, place, length) = (pack.table.kind, Place::Packs, pack.bytes.len() as u64);
        let item = PackItem { id: pack.id, place, kind, length, is_healthy, trust, accepted: Time(0), unlisted: 0 };
        builder.add_pack(item, is_healthy.then_some(&pack.table)).unwrap();
    }
    builder.finish().unwrap()
}

/// A pack with these chunks in each block.
fn data(random: u8, blocks: &[&[u8]]) -> Pack {
    let mut pack = PackWriter::new(PackKind::Data, DomainId([1; 16]), [random; 16], vec![vec![1]]).unwrap();
    for chunks in blocks {
        pack.add_block(&[0; 40], 0, 0, chunks.iter().map(|chunk| id(*chunk)), []).unwrap();
    }
    pack.finish()
}

proptest! {
    #[test]
    fn what_is_reached_is_what_following_references_one_by_one_reaches(
        made in made(),
        roots in prop::collection::vec(PAGES..85, 0..4),
    ) {
        let (graph, present) = (made.graph(), made.present());
        let (there, absent): (BTreeSet<u8>, BTreeSet<u8>) =
            made.reach(&roots).into_iter().partition(|number| present.contains(number));
        let reach = graph.reach(roots.iter().map(|root| id(*root)));
        prop_assert_eq!(ids_in(&graph, &reach.reached), ids(&there));
        prop_assert_eq!(reach.unresolved, ids(&absent).into_iter().collect::<Vec<_>>());
        prop_assert!(reach.unread.is_empty());
        let numbers = roots.iter().filter_map(|root| graph.number(&id(*root)));
        prop_assert_eq!(ids_in(&graph, &graph.reach_from(numbers).reached), ids(&there));
    }

    #[test]
    fn ids_that_any_page_refers_to_and_nobody_has_are_known(made in made()) {
        let present = made.present();
        let absent = made.references().into_values().flatten().filter(|number| !present.contains(number)).collect::<BTreeSet<_>>();
        prop_assert_eq!(made.graph().absent_ids().copied().collect::<BTreeSet<_>>(), ids(&absent));
    }

    #[test]
    fn packs_that_refer_to_what_nobody_has_are_known(made in made(), sought in 0u8..85) {
        let present = made.present();
        let lacks = |number: &u8| !present.contains(number) && *number != sought;
        let rows = made.rows().filter(|(_, (_, _, references))| references.iter().any(lacks));
        let packs: BTreeSet<u32> = rows.map(|(pack, _)| pack).collect();
        prop_assert_eq!(made.graph().packs_lacking(|absent| *absent != id(sought)), packs);
    }

    #[test]
    fn ids_have_ascending_numbers_and_these_lead_back(made in made()) {
        let graph = made.graph();
        let present = ids(&made.present());
        prop_assert_eq!(graph.count() as usize, present.len());
        for (number, id) in (0..).zip(&present) {
            prop_assert_eq!((graph.number(id), graph.id(number)), (Some(number), Some(*id)));
        }
        prop_assert_eq!(graph.number(&id(200)), None);
    }

    #[test]
    fn pages_above_something_are_those_that_reach_it(made in made(), sought in 0u8..85, spared in PAGES..80) {
        let graph = made.graph();
        let target = graph.number(&id(sought));
        let above = graph.above(
            |number| if target.is_some() { number == target } else { number.is_none() },
            |_| false,
        );
        let present = made.present();
        let is_hit = |number: &u8| if target.is_some() { *number == sought } else { !present.contains(number) };
        let expected: BTreeSet<u8> = made.references().into_iter()
            .filter(|(_, references)| {
                let references: Vec<u8> = references.iter().copied().collect();
                made.reach(&references).iter().any(is_hit)
            })
            .map(|(page, _)| page)
            .collect();
        prop_assert_eq!(ids_in(&graph, &above), ids(&expected));
        let spared = graph.number(&id(spared));
        let without = graph.above(|number| number.is_none(), |number| Some(number) == spared);
        prop_assert!(spared.is_none_or(|spared| !without.has(spared)));
    }

    #[test]
    fn the_order_of_reading_numbers_everything_that_is_reached(made in made(), roots in prop::collection::vec(PAGES..80, 1..3)) {
        // Of pages whose copies disagree one copy is followed: here all agree.
        let mut made = made;
        let references = made.references();
        for (page, _, own) in made.pages.iter_mut().flatten() {
            *own = references[page].iter().copied().collect();
        }
        let (graph, present) = (made.graph(), made.present());
        let order = graph.order(roots.iter().map(|root| id(*root)));
        let mut met: Vec<(u32, u32)> = order.iter().zip(0..).filter(|(place, _)| *place > 0).collect();
        met.sort_unstable();
        prop_assert!(met.iter().map(|(place, _)| *place).eq(1..=met.len() as u32));
        let reached: BTreeSet<u8> = made.reach(&roots).into_iter().filter(|number| present.contains(number)).collect();
        prop_assert_eq!(met.iter().map(|(_, number)| graph.id(*number).unwrap()).collect::<BTreeSet<_>>(), ids(&reached));
        if let Some((_, first)) = met.first() {
            let root = roots.iter().find(|root| present.contains(root)).unwrap();
            prop_assert_eq!(graph.id(*first), Some(id(*root)));
        }
    }
}

#[test]
fn a_page_whose_references_nobody_knows_is_unread_only_if_it_is_reached() {
    let made = Made { chunks: vec![], pages: vec![vec![(41, 1, vec![]), (42, 2, vec![])]] };
    let mut graph = Graph::new(made.segments(), &Memory).unwrap();
    graph.add_page(0, &id(42), view(2, &[id(41)])).unwrap();
    graph.finish().unwrap();
    assert_eq!(graph.reach([id(42)]).unread, [id(41)]);
    let mut other = Graph::new(made.segments(), &Memory).unwrap();
    other.add_page(0, &id(42), view(2, &[])).unwrap();
    other.finish().unwrap();
    assert_eq!(other.reach([id(42)]).unread, []);
}

#[test]
fn a_page_is_unread_if_only_less_trusted_packs_than_an_unreadable_one_tell_what_it_refers_to() {
    let tree = |random: u8, reference: u8| {
        let session = vec![vec![1]];
        let mut pack = PackWriter::new(PackKind::Tree, DomainId([1; 16]), [random; 16], session).unwrap();
        pack.add_block(&[0; 40], 0, 0, [id(41)], [view(1, &[id(reference)])]).unwrap();
        pack.finish()
    };
    let unread = |readable: Trust, unreadable: Trust| {
        inventory([(tree(1, 2), readable, true), (tree(2, 3), unreadable, false)].to_vec(), vec![])
            .graph
            .reach([id(41)])
            .unread
    };
    for less in [Trust::Excluded, Trust::Doubted, Trust::Claimed] {
        assert_eq!(unread(less, Trust::Proven), [id(41)], "{less:?}");
    }
    assert_eq!(unread(Trust::Proven, Trust::Proven), [], "healed, and proven");
    assert_eq!(unread(Trust::Claimed, Trust::Claimed), [], "healed, where nobody has proven anything");
    assert_eq!(unread(Trust::Proven, Trust::Claimed), []);
}

#[test]
fn an_empty_domain_has_no_ids() {
    let graph = Graph::<Vec<u8>>::new(vec![], &Memory).unwrap();
    assert_eq!((graph.count(), graph.id(0), graph.number(&id(1))), (0, None, None));
}

#[test]
fn a_page_that_the_index_lists_as_a_chunk_is_not_followed() {
    let mut graph = Graph::new(vec![segment_of(&data(1, &[&[1, 2]]))], &Memory).unwrap();
    graph.add_page(0, &id(1), view(1, &[id(2)])).unwrap();
    graph.finish().unwrap();
    assert_eq!(ids_in(&graph, &graph.reach([id(1)]).reached), ids(&[1]));
}

#[test]
fn every_missing_reference_of_a_page_is_told() {
    let mut graph =
        Graph::new(Made { chunks: vec![], pages: vec![vec![(240, 1, vec![])]] }.segments(), &Memory).unwrap();
    let gone: Vec<ChunkId> = (0..200).map(id).collect();
    graph.add_page(0, &id(240), view(1, &gone)).unwrap();
    graph.finish().unwrap();
    assert_eq!(graph.reach([id(240)]).unresolved.into_iter().collect::<BTreeSet<_>>(), gone.into_iter().collect());
}

#[test]
fn a_large_domain_is_walked_from_any_place() {
    let id = |number: u32| ChunkId(*blake3::hash(&number.to_le_bytes()).as_bytes().first_chunk().unwrap());
    let segments = (0u8..3).map(|nth| {
        let mut pack = PackWriter::new(PackKind::Data, DomainId([1; 16]), [nth; 16], vec![vec![1]]).unwrap();
        pack.add_block(&[0; 40], 0, 0, (0..300).map(|at| id(3 * at + u32::from(nth))), []).unwrap();
        segment_of(&pack.finish())
    });
    let merged = Merged::new(segments.collect(), &Memory, |_| {}).unwrap();
    let all: Vec<(u32, ChunkId)> = merged.walk(0).map(|placed| (placed.place, placed.entry.id)).collect();
    assert!(all.is_sorted() && all.iter().map(|(place, _)| *place).eq(0..900));
    for from in [1, 255, 256, 257, 511, 512, 513, 767, 768, 899, 900] {
        let rest = merged.walk(from).map(|placed| (placed.place, placed.entry.id));
        assert!(rest.eq(all[from as usize..].iter().copied()), "from {from}");
    }
}

/// The copies of an inventory, after all ways to find them have agreed.
fn copies(inventory: &Inventory<'_, Vec<u8>>) -> Vec<(ChunkId, PackId)> {
    let copies = inventory.copies_with_ids().inspect(|(copy, id, item)| {
        assert_eq!((inventory.copy(*copy), inventory.graph.number(id)), (*item, Some(item.id)));
        assert!(inventory.copies_of(item.id).any(|other| other == *copy));
    });
    let mut found: Vec<(ChunkId, PackId)> = copies.map(|(_, id, item)| (id, inventory.pack_of(&item).id)).collect();
    assert!(inventory.copies().eq(inventory.copies_with_ids().map(|(copy, _, item)| (copy, item))));
    found.sort_unstable();
    found
}

#[test]
fn a_copy_counts_once_and_only_in_a_known_pack() {
    let [one, two, lost] = [data(1, &[&[1, 2], &[3]]), data(2, &[&[1], &[3, 4, 4]]), data(3, &[&[1, 5], &[5]])];
    let longer = Pack { table: data(1, &[&[1, 2], &[3], &[7]]).table, ..one.clone() };
    let more = [&one, &longer, &lost, &data(4, &[&[1, 6]])].map(segment_of).to_vec();
    let unlisted = (id(7), one.id);
    let packs = [(one, true), (two, true), (lost, false)].map(|(pack, is_read)| (pack, Trust::Proven, is_read));
    let mut expected: Vec<(ChunkId, PackId)> =
        packs.iter().flat_map(|(pack, ..)| pack.table.ids.iter().map(|id| (*id, pack.id))).collect();
    expected.push(unlisted);
    expected.sort_unstable();
    let inventory = inventory(packs.to_vec(), more);
    assert_eq!(copies(&inventory), expected);
    let mut entries: Vec<u32> = inventory.blocks().map(|(_, block)| block.entries).collect();
    entries.sort_unstable();
    assert_eq!(entries, [1, 1, 1, 1, 2, 2, 3], "the index tells, also of an unreadable pack");
}

#[test]
fn bytes_of_blocks_whose_entries_have_left_the_index_are_told_of_their_pack() {
    let pack = data(1, &[&[1, 2], &[3], &[4]]);
    let whole = segment_of(&pack);
    let left = |ids: &[u8]| {
        let of = ids.iter().map(|number| {
            let part = merge(pack.table.domain, [0; 16], &[&whole], |entry| entry.id == id(*number)).unwrap();
            Segment::parse(part.unwrap().bytes).unwrap()
        });
        let mut builder = InventoryBuilder::new(of.collect(), &Memory).unwrap();
        let (kind, place, length) = (PackKind::Data, Place::Packs, pack.bytes.len() as u64);
        let (trust, accepted) = (Trust::Proven, Time(0));
        let item = PackItem { id: pack.id, place, kind, length, is_healthy: true, trust, accepted, unlisted: 0 };
        builder.add_pack(item, None).unwrap();
        let inventory = builder.finish().unwrap();
        let blocks: Vec<u32> = inventory.blocks().map(|(_, block)| block.entries).collect();
        (inventory.packs[0].unlisted, blocks)
    };
    // Each block has forty bytes, and as many items as it was made with.
    assert_eq!(left(&[1, 2, 3, 4]), (0, vec![2, 1, 1]));
    assert_eq!(left(&[2, 3]), (40, vec![2, 1]));
    assert_eq!(left(&[4]), (80, vec![1]));
}

#[test]
fn each_copy_of_a_crowd_of_one_id_counts_once() {
    let [one, two] = [data(1, &[&[1; 20], &[2, 3], &[1; 20]]), data(2, &[&[4], &[1; 20]])];
    let packs = [one.clone(), two].map(|pack| (pack, Trust::Proven, true)).to_vec();
    assert_eq!(copies(&inventory(packs, vec![segment_of(&one)])).len(), 63);
}
