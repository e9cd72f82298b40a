use super::*;
use crate::keys::secret::Secret;
use proptest::prelude::*;

fn sizes() -> ChunkSizes {
    ChunkSizes::new(256, 1024, 4096).unwrap()
}

fn keys(choice: u8) -> CutKeys {
    CutKeys::new(&Secret::new([5; 32]), Secret::new([choice; 32]))
}

fn chunker() -> Chunker {
    Chunker::new(sizes(), &keys(1))
}

/// The first chunk's length, by the words of the format.
fn first_cut(keys: &CutKeys, content: &[u8]) -> usize {
    let end = content.len().min(4096);
    let is_cut = |&length: &usize| {
        let hash = content[length - 64..length]
            .iter()
            .fold(0u64, |hash, &byte| hash.wrapping_mul(2).wrapping_add(keys.gear()[usize::from(byte)]));
        hash >> 55 == 0 && (length >= 1024 || keys.choice(hash) >> 62 == 0)
    };
    (256..end).find(is_cut).unwrap_or(end)
}

/// Bytes without structure.
fn noise(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    bytes
}

/// The chunks of content that arrives in pieces and is cut as early as possible.
fn cuts(content: &[u8], piece: usize) -> Vec<Range<usize>> {
    let (mut cuts, mut start, mut end) = (Vec::new(), 0, 0);
    while end < content.len() {
        end = content.len().min(end + piece);
        while let Some(length) = chunker().next_cut(&content[start..end], end == content.len()) {
            cuts.push(start..start + length);
            start += length;
        }
    }
    cuts
}

#[test]
fn cut_points_do_not_depend_on_how_bytes_arrive() {
    let content = noise(20_001);
    let whole: Vec<_> = chunker().cuts(&content).collect();
    for piece in [13, 64, 255, 256, 1000, 4096, 5000] {
        assert_eq!(cuts(&content, piece), whole, "piece {piece}");
    }
}

#[test]
fn chunks_tile_the_content_and_keep_to_the_sizes() {
    let content = noise(100_000);
    let cuts: Vec<_> = chunker().cuts(&content).collect();
    assert_eq!((cuts[0].start, cuts[cuts.len() - 1].end), (0, content.len()));
    assert!(cuts.windows(2).all(|pair| pair[0].end == pair[1].start));
    assert!(cuts[..cuts.len() - 1].iter().all(|cut| (256..=4096).contains(&cut.len())));
    assert!((60..150).contains(&cuts.len()), "{} chunks", cuts.len());
}

#[test]
fn content_without_structure_is_cut_at_the_largest_size() {
    assert_eq!(chunker().cuts(&[0; 9000]).collect::<Vec<_>>(), [0..4096, 4096..8192, 8192..9000]);
}

#[test]
fn runs_of_one_byte_are_cut_where_the_format_says() {
    let mut candidates = 0;
    for seed in 0..8 {
        let keys = CutKeys::new(&Secret::new([seed; 32]), Secret::new([1; 32]));
        let chunker = Chunker::new(sizes(), &keys);
        // In a run the hash h comes to be 2h + gear, so all of the run are candidates or none is.
        let is_candidate = |byte: u8| keys.gear()[usize::from(byte)].wrapping_neg() >> 55 == 0;
        candidates += (0..=255).filter(|byte| is_candidate(*byte)).count();
        for byte in (0..=255).filter(|byte| *byte < 4 || is_candidate(*byte)) {
            for before in [0, 300, 777] {
                let content = [noise(before), vec![byte; 1500], noise(900), vec![byte; 2000]].concat();
                for cut in chunker.cuts(&content) {
                    assert_eq!(cut.len(), first_cut(&keys, &content[cut.start..]), "{seed} {byte} {before} {cut:?}");
                }
            }
        }
    }
    assert!(candidates > 0);
}

#[test]
fn a_file_not_longer_than_the_smallest_chunk_is_one_chunk_and_an_empty_one_has_none() {
    assert_eq!(chunker().cuts(&noise(256)).collect::<Vec<_>>(), core::iter::once(0..256).collect::<Vec<_>>());
    assert_eq!(chunker().cuts(b"").count(), 0);
    assert_eq!(chunker().next_cut(b"", true), None);
}

#[test]
fn an_insertion_moves_only_the_cuts_near_it() {
    let before = noise(100_000);
    let after = [&before[..5000], b"inserted", &before[5000..]].concat();
    let ends = |content: &[u8]| chunker().cuts(content).map(|cut| content.len() - cut.end).collect::<Vec<_>>();
    let (before, after) = (ends(&before), ends(&after));
    let same = after.iter().rev().zip(before.iter().rev()).take_while(|(a, b)| a == b).count();
    assert!(same + 15 > before.len(), "{same} of {} cuts stay", before.len());
}

#[test]
fn whether_content_is_cut_depends_on_the_64_bytes_before_alone() {
    let content = noise(20_000);
    let cut = chunker().cuts(&content).find(|cut| cut.len() < 1024).unwrap();
    let window = &content[cut.end - 64..cut.end];
    for length in 256..1000 {
        // Zeros are never a candidate with these keys.
        let other = [&vec![0; length - 64], window, &[0; 5000]].concat();
        assert_eq!(chunker().next_cut(&other, true), Some(length));
    }
}

#[test]
fn who_knows_the_gear_table_does_not_know_the_cuts() {
    let sizes = ChunkSizes::new(16 << 10, 64 << 10, 256 << 10).unwrap();
    let content = noise(8 << 20);
    let ends = |choice: u8| Chunker::new(sizes, &keys(choice)).cuts(&content).map(|cut| cut.end).collect::<Vec<_>>();
    let (truth, guess) = (ends(1), ends(2));
    let same = guess.iter().filter(|end| truth.contains(end)).count();
    assert!(same * 10 < truth.len(), "{same} of {} cuts were guessed", truth.len());
}

#[test]
fn sizes_that_are_not_allowed_are_refused() {
    assert!(ChunkSizes::new(256, 256, 256).is_ok());
    assert!(ChunkSizes::new(256, 16 << 20, 16 << 20).is_ok());
    assert_eq!(ChunkSizes::new(128, 1024, 4096), Err(BadChunkSizes::Size { size: 128 }));
    assert_eq!(ChunkSizes::new(256, 1000, 4096), Err(BadChunkSizes::Size { size: 1000 }));
    assert_eq!(ChunkSizes::new(256, 1024, 32 << 20), Err(BadChunkSizes::Size { size: 32 << 20 }));
    assert_eq!(ChunkSizes::new(256, 0, 4096), Err(BadChunkSizes::Size { size: 0 }));
    assert!(matches!(ChunkSizes::new(2048, 1024, 4096), Err(BadChunkSizes::Order { .. })));
    assert!(matches!(ChunkSizes::new(256, 4096, 1024), Err(BadChunkSizes::Order { .. })));
}

#[test]
fn the_gear_table_is_never_printed() {
    let text = format!("{:?}", chunker());
    assert_eq!(text, "Chunker(ChunkSizes { min: 256, average: 1024, max: 4096 })");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_cut_that_is_given_early_is_the_one_of_the_whole(length in 0usize..12_000, shown in 0usize..12_000, seed: u8) {
        let content: Vec<u8> = noise(length).iter().map(|byte| byte ^ seed).collect();
        let early = chunker().next_cut(&content[..shown.min(length)], shown >= length);
        let whole = chunker().next_cut(&content, true);
        prop_assert!(early.is_none() || early == whole);
        prop_assert!(early.is_some() || shown < 4096);
    }

    #[test]
    fn cuts_are_where_the_format_says(length in 0usize..6000, period in 1usize..6000, seed: u8) {
        let content: Vec<u8> = noise(period).iter().map(|byte| byte ^ seed).cycle().take(length).collect();
        prop_assert_eq!(chunker().next_cut(&content, true).unwrap_or(0), first_cut(&keys(1), &content));
    }
}
