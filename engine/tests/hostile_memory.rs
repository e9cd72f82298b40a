//! Memory: what a page asks for before its bytes are believed, whoever wrote it, counted by the allocator.

use crate::counting::measured;
use copal_format::id::ChunkId;
use copal_format::limits::{PAGE_BYTES, PAGE_ITEMS};
use copal_format::tree::{self, PageError};

#[test]
fn no_page_of_whatever_content_asks_for_much_memory() {
    let _alone = crate::counting::alone();
    // 50,000 paths of 64 KiB, each of which shares all but its end with the one before: 3.2 GiB in a page of a megabyte.
    let long = entries(50_000, &paths(65_000, 50_000));
    assert!(long.len() < 2_000_000);
    let (result, _) = decoded(&long, &[]);
    assert_eq!(result, Err(PageError::Items(50_000)));

    let long = entries(PAGE_ITEMS, &paths(65_000, PAGE_ITEMS));
    let (result, most) = decoded(&long, &[]);
    assert!(matches!(result, Err(PageError::Column { .. })), "{result:?}");
    assert!(most < 12 << 20, "long paths: {most} bytes");

    // As many entries as a page may have.
    let many = entries(PAGE_ITEMS, &paths(0, PAGE_ITEMS));
    let (result, most) = decoded(&many, &[]);
    assert!(result.is_ok(), "{result:?}");
    assert!(most < 24 << 20, "many entries: {most} bytes");

    // Holes, attributes and chunks take three bytes or two in the page, and many times that in memory.
    let holes = [&[0xa1, 5][..], &cbor_array(500_000), &[0x82, 1, 1].repeat(500_000)].concat();
    let xattrs = [&[0xa1, 4][..], &cbor_array(400_000), &[0x82, 0x41, 1, 0x40].repeat(400_000)].concat();
    for (name, extras) in [("holes", holes), ("attributes", xattrs)] {
        let page =
            page(0, 1, &columns(1, &paths(0, 1), &[0], &[&[0][..], &number(extras.len() as u64), &extras].concat()));
        assert!(page.len() <= PAGE_BYTES, "{name}");
        let (result, most) = decoded(&page, &[]);
        assert!(matches!(result, Err(PageError::Column { .. } | PageError::Entry { .. })), "{name}: {result:?}");
        assert!(most < 64 << 20, "{name}: {most} bytes");
    }
    let files: u64 = 14_000;
    let chunks = [&[2, 64, 0, 1][..], &[1, 1].repeat(63)].concat();
    let repeated = [&[2, 64][..], &[1, 1].repeat(64)].concat();
    let contents = [chunks, repeated.repeat(files as usize - 1)].concat();
    let page = page(0, files, &sized(files, &paths(0, files), &[64].repeat(files as usize), &contents, &[]));
    let (result, most) = decoded(&page, &[ChunkId([7; 24])]);
    assert!(result.is_ok(), "{result:?}");
    assert!(most < 64 << 20, "chunks: {most} bytes");

    let whatever = vec![0xff; PAGE_BYTES + 1];
    let (result, most) = decoded(&whatever, &[]);
    assert!(matches!(result, Err(PageError::Large { .. })) && most < 1 << 10);
}

fn decoded(page: &[u8], references: &[ChunkId]) -> (Result<(), PageError>, usize) {
    measured(|| tree::decode(1, references, page).map(drop))
}

fn number(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// Lengths and bytes of paths: each shares with the one before all but the end of its last four bytes.
fn paths(length: u64, count: u64) -> [Vec<u8>; 2] {
    let deep = "n/".repeat(length as usize / 2);
    let first = format!("{deep}0000");
    let lengths = [number(0), number(first.len() as u64)].concat();
    let shared = |at: u64| TreeDigits::shared(at) + deep.len() as u64;
    let others = (1..count).flat_map(|at| [number(shared(at)), number(4 - TreeDigits::shared(at))].concat());
    let texts = (1..count).flat_map(|at| TreeDigits::of(at)[TreeDigits::shared(at) as usize..].to_vec());
    [[lengths, others.collect()].concat(), [first.into_bytes(), texts.collect()].concat()]
}

/// Names of four letters that ascend.
struct TreeDigits;

impl TreeDigits {
    fn of(at: u64) -> [u8; 4] {
        [12, 8, 4, 0].map(|shift| b'0' + (at >> shift & 15) as u8)
    }

    /// Bytes that a name shares with the one before.
    fn shared(at: u64) -> u64 {
        let (one, other) = (Self::of(at - 1), Self::of(at));
        one.iter().zip(&other).take_while(|(one, other)| one == other).count() as u64
    }
}

fn cbor_array(length: u32) -> Vec<u8> {
    [&[0x9a][..], &length.to_be_bytes()].concat()
}

/// A page of files without content.
fn entries(count: u64, paths: &[Vec<u8>; 2]) -> Vec<u8> {
    page(0, count, &columns(count, paths, &[0].repeat(count as usize), &[]))
}

fn columns(count: u64, paths: &[Vec<u8>; 2], contents: &[u8], extras: &[u8]) -> Vec<Vec<u8>> {
    sized(count, paths, &[0].repeat(count as usize), contents, extras)
}

fn sized(count: u64, [lengths, texts]: &[Vec<u8>; 2], sizes: &[u8], contents: &[u8], extras: &[u8]) -> Vec<Vec<u8>> {
    let zeros = || vec![0; count as usize];
    let modes = number(0o100_644).repeat(count as usize);
    let owners = vec![0, 0, 0, 0];
    let (lengths, texts, extras) = (lengths.clone(), texts.clone(), extras.to_vec());
    // The first time of a page is that of no entry before: as ctime, and every other as that.
    let (ctimes, mtime_codes, birth_codes) = (zeros(), zeros(), zeros());
    let empty = Vec::new;
    vec![
        lengths,
        texts,
        modes,
        zeros(),
        owners,
        ctimes,
        mtime_codes,
        empty(),
        birth_codes,
        empty(),
        zeros(),
        sizes.to_vec(),
        contents.to_vec(),
        empty(),
        extras,
    ]
}

fn page(kind: u8, count: u64, columns: &[Vec<u8>]) -> Vec<u8> {
    let mut page = [&[1, kind][..], &number(count)].concat();
    for column in columns {
        page.extend(number(column.len() as u64));
        page.extend(column);
    }
    page
}
