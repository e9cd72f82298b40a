//! Lists: the pieces of huge files.

use proptest::prelude::*;

use super::super::*;
use super::kit::*;
use crate::limits::CHUNK_BYTES;

fn pieces(count: u64) -> Vec<Piece> {
    let keys = keys();
    (0..count).map(|i| Piece { id: keys.chunk_id(&i.to_le_bytes()), length: 1 + (i as u32 * 77) % 5_000 }).collect()
}

fn build_list(pieces: &[Piece], every: usize) -> (FinishedList, Store) {
    let mut builder = ListBuilder::new(small_pages(), keys());
    let mut store = Store::default();
    for (i, &piece) in pieces.iter().enumerate() {
        builder.push(piece).unwrap();
        if i % every == every - 1 {
            store.add(builder.take_pages());
        }
    }
    let mut finished = builder.finish().unwrap();
    store.add(std::mem::take(&mut finished.pages));
    (finished, store)
}

/// All pieces a walk gives with their offsets, and the ranges it loses.
fn read_list(mut walk: ListWalk, store: &mut Store) -> (Vec<(u64, Piece)>, Vec<std::ops::Range<u64>>) {
    let (mut pieces, mut lost) = (Vec::new(), Vec::new());
    loop {
        match walk.step() {
            ListStep::Piece { offset, piece } => pieces.push((offset, piece)),
            ListStep::Done => return (pieces, lost),
            ListStep::Need(id) => match store.fetch(id) {
                Some(page) => walk.supply(page).unwrap(),
                None => lost.push(walk.skip(id).unwrap()),
            },
        }
    }
}

fn at_offsets(pieces: &[Piece]) -> Vec<(u64, Piece)> {
    let mut end = 0;
    let place = |&piece: &Piece| {
        let offset = end;
        end += u64::from(piece.length);
        (offset, piece)
    };
    pieces.iter().map(place).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn lists_read_back_however_their_pages_are_taken(
        numbers in proptest::collection::vec((0..60u64, 1..CHUNK_BYTES), 1..300),
        every in 1..50usize,
    ) {
        let keys = keys();
        let pieces: Vec<Piece> =
            numbers.iter().map(|(i, length)| Piece { id: keys.chunk_id(&i.to_le_bytes()), length: *length }).collect();
        let (finished, mut store) = build_list(&pieces, every);
        prop_assert_eq!(finished.root, build_list(&pieces, usize::MAX).0.root);
        let walk = ListWalk::new(finished.root, finished.height, finished.bytes);
        prop_assert_eq!(read_list(walk, &mut store), (at_offsets(&pieces), vec![]));
    }
}

#[test]
fn a_repeated_chunk_makes_lists_that_share_their_pages() {
    let zeros = vec![Piece { id: chunk(0), length: CHUNK_BYTES }; 5_000];
    let (finished, mut store) = build_list(&zeros, 100);
    assert!(store.pages.len() < 50, "{} pages", store.pages.len());
    assert_eq!(finished.bytes, 5_000 * u64::from(CHUNK_BYTES));
    let walk = ListWalk::new(finished.root, finished.height, finished.bytes);
    assert_eq!(read_list(walk, &mut store).0, at_offsets(&zeros));
}

#[test]
fn reading_from_an_offset_gives_the_pieces_from_there_and_few_pages() {
    let all = at_offsets(&pieces(500));
    let (finished, mut store) = build_list(&pieces(500), usize::MAX);
    for (i, &(start, piece)) in all.iter().enumerate() {
        for offset in [start, start + u64::from(piece.length) - 1] {
            let mut walk = ListWalk::new(finished.root, finished.height, finished.bytes);
            walk.seek(offset);
            store.fetched.clear();
            let first = loop {
                match walk.step() {
                    ListStep::Need(id) => walk.supply(store.fetch(id).unwrap()).unwrap(),
                    step => break step,
                }
            };
            assert_eq!(first, ListStep::Piece { offset: start, piece });
            assert_eq!(store.fetched.len(), usize::from(finished.height));
            assert_eq!(read_list(walk, &mut store).0, all[i + 1..]);
        }
    }
}

#[test]
fn skipping_a_page_of_a_list_tells_which_bytes_are_lost() {
    let all = at_offsets(&pieces(300));
    let (finished, mut store) = build_list(&pieces(300), usize::MAX);
    let victim = store.below(finished.root)[1];
    store.pages.remove(&victim);
    let (given, lost) = read_list(ListWalk::new(finished.root, finished.height, finished.bytes), &mut store);
    let [lost] = lost.try_into().unwrap();
    let left: Vec<_> = all.into_iter().filter(|(offset, _)| !lost.contains(offset)).collect();
    assert_eq!(given, left);
    assert!(
        !lost.is_empty()
            && left.iter().all(|(at, piece)| at + u64::from(piece.length) <= lost.start || *at >= lost.end)
    );
}

#[test]
fn a_list_of_another_length_or_height_than_its_file_says_is_refused() {
    let (finished, store) = build_list(&pieces(300), usize::MAX);
    let root = open(&store.pages[&finished.root]);
    let id = finished.root;
    let mut longer = ListWalk::new(id, finished.height, finished.bytes + 1);
    assert_eq!(longer.supply(root.clone()), Err(WalkError::Claim { id }));
    let mut higher = ListWalk::new(id, finished.height + 1, finished.bytes);
    assert_eq!(higher.supply(root), Err(WalkError::Height { id, height: finished.height }));
}

#[test]
fn a_list_has_pieces_and_none_is_empty() {
    let mut builder = ListBuilder::new(small_pages(), keys());
    let empty = Piece { id: chunk(1), length: 0 };
    assert_eq!(builder.push(empty), Err(BuildError::Piece { length: 0 }));
    assert!(builder.finish().is_err());
}

#[test]
fn a_file_with_a_list_lifts_the_pages_above_it() {
    let (list, _) = build_list(&pieces(500), usize::MAX);
    let mut entries = files(300);
    entries[150] = Entry { size: list.bytes, content: list.content(), ..entries[150].clone() };
    let (flat, _) = build(small_pages(), &files(300), usize::MAX);
    let (finished, mut store) = build(small_pages(), &entries, usize::MAX);
    assert_eq!(finished.height, flat.height + list.height);
    assert_eq!(read(TreeWalk::new(finished.root), &mut store).0, entries);
}
