use super::*;
use crate::id::{RepositoryId, SessionId};
use crate::keys::secret::Secret;
use crate::keys::session::SessionKey;
use crate::limits::BLOCK_BYTES;
use crate::seal::{Counters, OpenError};
use proptest::prelude::*;

fn cipher() -> SessionCipher {
    SessionCipher::new(&SessionKey::new(Secret::new([3; 32])), RepositoryId([1; 16]), SessionId([2; 16]))
}

fn tools() -> SealTools {
    SealTools::new(Parameters::of_level(3))
}

fn noise(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    bytes
}

fn job(chunks: &[&[u8]]) -> SealJob {
    let mut builder = BlockBuilder::new(BlockKind::Data, 4 << 20);
    chunks.iter().for_each(|chunk| builder.push(ChunkId([chunk.len() as u8; 24]), chunk, None));
    builder.take(Counters::new().next().unwrap()).unwrap()
}

fn sealed(chunks: &[&[u8]]) -> SealedBlock {
    job(chunks).run(&mut tools(), &cipher()).unwrap()
}

fn open(stored: &[u8]) -> Result<OpenBlock, BlockError> {
    OpenBlock::open(&cipher(), BlockKind::Data, 0, stored, &mut OpenTools::new())
}

/// The error that a sealed plaintext gives.
fn error_of(plaintext: &[u8]) -> &'static str {
    let stored = cipher().seal(BlockKind::Data, Counters::new().next().unwrap(), plaintext);
    match open(&stored) {
        Err(BlockError::Malformed { counter: 0, source }) => source.what,
        other => panic!("{other:?}"),
    }
}

/// The plaintext of a block of two short chunks, stored raw.
fn plaintext() -> Vec<u8> {
    let mut plaintext = Vec::new();
    let mut compressor = Compressor::new(Parameters::of_level(3));
    plaintext::encode(&[5, 6], b"hello world", &mut compressor, &mut plaintext);
    plaintext
}

fn changed(at: usize, byte: u8) -> Vec<u8> {
    let mut plaintext = plaintext();
    plaintext[at] = byte;
    plaintext
}

#[test]
fn a_block_gives_its_chunks_back() {
    for text in [&b"hello "[..], &noise(3000)] {
        let chunks = [text, &[0; 700], b"", text];
        let block = open(&sealed(&chunks).bytes).unwrap();
        assert_eq!(block.len(), 4);
        assert_eq!([0, 1, 2, 3].map(|ordinal| block.chunk(ordinal).unwrap()), chunks);
        assert_eq!((block.chunk(4), block.chunk(usize::MAX)), (None, None));
    }
}

#[test]
fn a_block_that_another_cipher_has_opened_is_the_same_block_or_none() {
    use crate::seal::NONCE;
    let noise = noise(3000);
    for text in [&b"hello hello hello hello "[..], &noise] {
        let stored = sealed(&[text, text]).bytes;
        let nonce: [u8; NONCE] = stored[..NONCE].try_into().unwrap();
        let mut plaintext = Vec::new();
        cipher().open(BlockKind::Data, 0, &stored, &mut plaintext).unwrap();
        let opened = |counter, nonce: &[u8; NONCE], plaintext: &[u8]| {
            let tools = &mut OpenTools::new();
            OpenBlock::opened(&cipher(), BlockKind::Data, counter, nonce, plaintext.to_vec(), tools)
        };
        assert_eq!(opened(0, &nonce, &plaintext), open(&stored));
        let refused = Err(BlockError::Sealed(OpenError::Nonce { session: SessionId([2; 16]), counter: 0 }));
        for at in 0..plaintext.len() {
            let mut altered = plaintext.clone();
            altered[at] ^= 1;
            assert_eq!(opened(0, &nonce, &altered), refused, "byte {at}");
        }
        assert_eq!(opened(0, &nonce, &plaintext[1..]), refused);
        assert_eq!(opened(0, &[0; NONCE], &plaintext), refused);
        assert!(opened(1, &nonce, &plaintext).is_err(), "another block's");
    }
}

#[test]
fn a_blocks_bytes_do_not_depend_on_what_was_sealed_before() {
    let mut used = tools();
    let chunks = [&b"some text, some text, some text"[..], &noise(90)];
    job(&[&[7; 100_000]]).run(&mut used, &cipher()).unwrap();
    assert_eq!(job(&chunks).run(&mut used, &cipher()).unwrap(), sealed(&chunks));
}

#[test]
fn a_block_that_is_not_read_back_is_the_same_block() {
    let chunks = [&b"some text, some text, some text"[..], &noise(90)];
    assert_eq!(job(&chunks).run_unread(&mut tools(), &cipher()), sealed(&chunks));
}

#[test]
fn bytes_that_differ_anywhere_are_not_the_same() {
    for length in [0, 1, 63, 64, 65, 200] {
        let bytes = noise(length);
        assert!(is_same(&bytes, &bytes.clone()), "{length}");
        assert!(!is_same(&bytes, &noise(length + 1)), "{length}");
        for at in 0..length {
            let mut other = bytes.clone();
            other[at] ^= 0x10;
            assert!(!is_same(&bytes, &other), "{at} of {length}");
        }
    }
}

#[test]
fn a_block_that_does_not_read_back_is_never_handed_out() {
    let block = sealed(&[b"hello", b"world"]);
    let verify =
        |bytes: &[u8], lengths: &[u32], raw: &[u8]| tools().verify(&cipher(), BlockKind::Data, 0, bytes, lengths, raw);
    assert_eq!(verify(&block.bytes, &[5, 5], b"helloworld"), Ok(()));
    assert_eq!(verify(&block.bytes, &[5, 5], b"helloworlD"), Err(SealFault::Differs { counter: 0 }));
    assert_eq!(verify(&block.bytes, &[4, 6], b"helloworld"), Err(SealFault::Differs { counter: 0 }));
    let cut = verify(&block.bytes[1..], &[5, 5], b"helloworld");
    assert!(matches!(cut, Err(SealFault::Unreadable { counter: 0, .. })));
}

#[test]
fn lengths_of_stored_blocks_are_padded() {
    // 12 bytes of nonce and 16 of tag around the plaintext: 13, 4 for each chunk, payload, padding.
    let noise_300 = noise(300);
    let several = sealed(&[&noise_300[..100], &noise_300[100..]]).bytes.len() - 28;
    assert_eq!(several, 512);
    let one = sealed(&[&noise(10_000)]).bytes.len() - 28;
    assert_eq!(one as u64, padme(10_017));
}

#[test]
fn padme_keeps_a_few_leading_bits() {
    let pairs =
        [(0, 0), (1, 1), (2, 2), (9, 10), (100, 104), (129, 144), (1000, 1024), (10_017, 10_240), (65_537, 67_584)];
    for (length, padded) in pairs {
        assert_eq!(padme(length), padded, "{length}");
    }
    let most = [0, 1, (1 << 57) - 2].map(|less| padme(u64::MAX - less));
    assert_eq!(most, [u64::MAX; 3], "no length is rounded down");
}

#[test]
fn malformed_plaintexts_are_refused() {
    assert_eq!(plaintext().len(), 256);
    assert_eq!(error_of(&changed(0, 2)), "a codec this version does not know");
    assert_eq!(error_of(&changed(1, 12)), "chunk lengths do not add up or exceed the limit");
    assert_eq!(error_of(&changed(4, 0xff)), "a block is larger than allowed or has no chunk");
    assert_eq!(error_of(&changed(5, 10)), "a raw payload is not as long as it says");
    assert_eq!(error_of(&changed(8, 0xff)), "the bytes end within a field");
    assert_eq!(error_of(&changed(9, 0)), "a block is larger than allowed or has no chunk");
    assert_eq!(error_of(&changed(11, 1)), "a block is larger than allowed or has no chunk");
    assert_eq!(error_of(b""), "the bytes end within a field");
}

#[test]
fn padding_that_is_not_zero_or_of_another_length_is_refused() {
    assert_eq!(error_of(&changed(255, 1)), "reserved bytes are not zero");
    assert_eq!(error_of(&changed(32, 1)), "reserved bytes are not zero");
    let length = "padding of another length than it must have";
    assert_eq!(error_of(&plaintext()[..255]), length);
    assert_eq!(error_of(&[plaintext(), vec![0; 256]].concat()), length);
}

#[test]
fn a_payload_that_does_not_unpack_is_refused() {
    let stored = cipher().seal(BlockKind::Data, Counters::new().next().unwrap(), &changed(0, 1));
    assert!(matches!(open(&stored), Err(BlockError::Compression { counter: 0, .. })));
}

#[test]
fn a_block_is_full_at_its_target_and_large_items_do_not_take_it_past_that() {
    let mut builder = BlockBuilder::new(BlockKind::Data, 1000);
    assert!(builder.wants(5000, None) && !builder.is_full());
    builder.push(ChunkId([1; 24]), &[0; 600], None);
    assert!([400, 499, 500].map(|length| builder.wants(length, None)) == [true, true, false]);
    builder.push(ChunkId([1; 24]), &[0; 499], None);
    assert!(builder.is_full());
    let mut counters = Counters::new();
    assert_eq!(builder.take(counters.next().unwrap()).map(|job| (job.counter(), job.raw_length())), Some((0, 1099)));
    assert!(builder.is_empty() && builder.take(counters.next().unwrap()).is_none());
}

#[test]
fn two_blocks_become_one_if_both_have_items_and_these_fit() {
    let block = |length: usize| {
        let mut builder = BlockBuilder::new(BlockKind::Data, 1000);
        (length > 0).then(|| builder.push(ChunkId([length as u8; 24]), &vec![length as u8; length], None));
        builder
    };
    for (one, other, is_one) in [(600, 400, true), (600, 401, false), (600, 0, false), (0, 400, false)] {
        let (mut first, mut second) = (block(one), block(other));
        first.append(&mut second);
        let lengths = |block: &BlockBuilder| block.items.iter().map(|item| item.length as usize).sum::<usize>();
        let expected = if is_one { (one + other, 0) } else { (one, other) };
        assert_eq!((lengths(&first), lengths(&second)), expected);
        assert_eq!(
            (first.length, second.length, first.raw.len(), second.raw.len()),
            (expected.0, expected.1, expected.0, expected.1)
        );
        assert_eq!(second.is_empty(), expected.1 == 0);
    }
    let rows = |count: u8| {
        let mut builder = BlockBuilder::new(BlockKind::Data, 8 << 20);
        (0..u32::from(count) * 1000).for_each(|_| builder.push(ChunkId([1; 24]), b"1", None));
        builder
    };
    for (one, other, left) in [(20, 20, 0), (21, 21, 21_000)] {
        let (mut first, mut second) = (rows(one), rows(other));
        first.append(&mut second);
        assert_eq!(second.items.len(), left, "a pack's table has room for one block's rows");
        assert!(first.rows <= ROWS_MOST);
    }
    let mut elsewhere = BlockBuilder::new(BlockKind::Data, 1000);
    elsewhere.push_elsewhere(ChunkId([1; 24]), 5);
    elsewhere.append(&mut block(5));
    assert_eq!(elsewhere.items.len(), 1, "nobody would find the bytes");
}

#[test]
fn a_block_is_full_when_its_positions_are_used_up() {
    let mut builder = BlockBuilder::new(BlockKind::Data, 1000);
    (1..BLOCK_ENTRIES).for_each(|_| builder.push(ChunkId([1; 24]), b"", None));
    assert!(!builder.is_full());
    builder.push(ChunkId([1; 24]), b"", None);
    assert!(builder.is_full());
}

#[test]
fn a_block_wants_no_more_rows_than_the_table_of_one_pack_may_have() {
    let page = |references| PageClear { height: 1, references: vec![ChunkId([4; 24]); references], replaces: None };
    for (kind, references) in [(BlockKind::Data, None), (BlockKind::Tree, Some(0)), (BlockKind::Tree, Some(20_000))] {
        let clear = references.map(page);
        let mut builder = BlockBuilder::new(kind, 8 << 20);
        while builder.wants(0, clear.as_ref()) && !builder.is_full() {
            builder.push(ChunkId([3; 24]), b"", clear.clone());
        }
        assert!(!builder.is_full(), "{kind:?} is closed for its rows");
        let job = builder.take(Counters::new().next().unwrap()).unwrap();
        let rows: u64 = job.items.iter().map(BlockItem::row_length).sum();
        let last = job.items[0].row_length();
        assert!((ROWS_MOST - last + 1..=ROWS_MOST).contains(&rows), "{kind:?}: {rows}");
        assert!(builder.wants(0, clear.as_ref()), "and the next one begins with none");
    }
}

#[test]
fn the_largest_block_is_within_the_limits() {
    let raw = TARGET - 1 + CHUNK_BYTES as usize;
    assert!(raw + 4 * BLOCK_ENTRIES as usize + (1 << 20) < BLOCK_BYTES as usize);
}

#[test]
fn what_is_told_of_a_page_stays_with_it() {
    let page = PageClear { height: 2, references: vec![ChunkId([4; 24])], replaces: Some(ChunkId([5; 24])) };
    let mut builder = BlockBuilder::new(BlockKind::Tree, 1000);
    builder.push(ChunkId([3; 24]), b"page", Some(page.clone()));
    let job = builder.take(Counters::new().next().unwrap()).unwrap();
    let block = job.run(&mut tools(), &cipher()).unwrap();
    assert_eq!(block.items, [BlockItem { id: ChunkId([3; 24]), length: 4, page: Some(page) }]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn every_block_reads_back(chunks in prop::collection::vec(prop::collection::vec(0u8..4, 0..400), 1..20)) {
        let chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
        let block = open(&sealed(&chunks).bytes).unwrap();
        prop_assert!((0..chunks.len()).all(|ordinal| block.chunk(ordinal) == Some(chunks[ordinal])));
    }

    #[test]
    fn padme_costs_at_most_an_eighth(x in 0u64..1 << 40) {
        let padded = padme(x);
        prop_assert!(padded >= x && padded - x <= x / 8 + 1);
        prop_assert_eq!(padme(padded), padded);
    }
}
