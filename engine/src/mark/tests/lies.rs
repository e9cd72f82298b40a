//! Lies: tables that claim heights so that a pass over all records meets only one more page of a chain.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use copal_format::id::{ChunkId, DomainId};
use copal_format::pack::{PackKind, PackWriter};
use copal_format::room::{Lent, Room, Scratch};

use super::super::Graph;
use super::{segment_of, view};

#[test]
fn following_references_down_takes_linear_time_whatever_tables_claim() {
    let effort = |pages: u32| {
        let scratch = Counted::default();
        let graph = chain(pages, (0..pages).rev(), &scratch);
        let (reach, effort) = scratch.effort(|| graph.reach([page(0)]));
        assert_eq!((reach.reached.count(), reach.unresolved), (u64::from(pages), vec![page(pages)]));
        effort
    };
    is_linear(effort);
}

#[test]
fn finding_what_lies_above_takes_linear_time_whatever_tables_claim() {
    let effort = |pages: u32| {
        let scratch = Counted::default();
        let graph = chain(pages, 0..pages, &scratch);
        let (above, effort) = scratch.effort(|| graph.above(|number| number.is_none(), |_| false));
        assert_eq!(above.count(), u64::from(pages));
        effort
    };
    is_linear(effort);
}

/// Four times the pages take about four times the effort. With a pass for each page it would be sixteen times.
fn is_linear(effort: impl Fn(u32) -> u64) {
    let [few, many] = [500, 2_000].map(effort);
    assert!(many < 6 * few, "{few} accesses for 500 pages, {many} for 2,000");
}

/// Pages that all claim height 1, although each refers to the next one, and the last to an absent id. Their records come
/// in this order.
fn chain(pages: u32, order: impl Iterator<Item = u32>, scratch: &Counted) -> Graph<'_, Vec<u8>> {
    let mut pack = PackWriter::new(PackKind::Tree, DomainId([1; 16]), [0; 16], vec![vec![1]]).unwrap();
    let rows = (0..pages).map(|_| view(1, &[]));
    pack.add_block(&[0; 40], 0, 0, (0..pages).map(page), rows).unwrap();
    let mut graph = Graph::new(vec![segment_of(&pack.finish())], scratch).unwrap();
    for number in order {
        graph.add_page(0, &page(number), view(1, &[page(number + 1)])).unwrap();
    }
    graph.finish().unwrap();
    graph
}

fn page(number: u32) -> ChunkId {
    ChunkId(*blake3::hash(&number.to_le_bytes()).as_bytes().first_chunk().unwrap())
}

/// Memory that counts how often it is read or written: a few times for each record that is visited.
#[derive(Clone, Default)]
struct Counted(Arc<AtomicU64>);

impl Counted {
    /// Runs something; returns its result, and how often it read or wrote.
    fn effort<T>(&self, run: impl FnOnce() -> T) -> (T, u64) {
        let before = self.0.load(Relaxed);
        let result = run();
        (result, self.0.load(Relaxed) - before)
    }
}

impl Scratch for Counted {
    fn room(&self, bytes: usize) -> Room {
        Room::lent(Box::new(CountedRoom { bytes: vec![0; bytes], count: self.0.clone() }))
    }
}

struct CountedRoom {
    bytes: Vec<u8>,
    count: Arc<AtomicU64>,
}

impl Lent for CountedRoom {
    fn bytes(&self) -> &[u8] {
        self.count.fetch_add(1, Relaxed);
        &self.bytes
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.count.fetch_add(1, Relaxed);
        &mut self.bytes
    }
}
