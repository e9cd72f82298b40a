//! Extents: maps a file's content to its offsets in the file, between the holes. Every host that writes, prints or
//! compares files uses this mapping. Ranges that no extent covers read as zeros.

use core::ops::Range;

use super::entry::{Entry, Inline};

/// The ranges of a file that are not holes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extents {
    /// None is empty; ascending.
    parts: Vec<Extent>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Extent {
    /// Its offset in the content, which has no holes.
    content: u64,
    /// Its range in the file.
    file: Range<u64>,
}

impl Extents {
    /// The extents of an entry's file.
    pub fn of(entry: &Entry) -> Self {
        Self::new(entry.size, &entry.extras.holes)
    }

    /// The extents of a file of `size` bytes with these holes, which ascend.
    pub fn new(size: u64, holes: &[Range<u64>]) -> Self {
        let starts = core::iter::once(0).chain(holes.iter().map(|hole| hole.end));
        let ends = holes.iter().map(|hole| hole.start).chain([size]);
        let mut content = 0;
        let mut parts = Vec::with_capacity(1);
        for file in starts.zip(ends).map(|(start, end)| start..end).filter(|file| !file.is_empty()) {
            let length = file.end - file.start;
            parts.push(Extent { content, file });
            content += length;
        }
        Self { parts }
    }

    /// Splits a piece of content into parts with their offsets in the file. Drops bytes beyond the content.
    pub fn parts<'a>(&'a self, offset: u64, mut bytes: &'a [u8]) -> impl Iterator<Item = (u64, &'a [u8])> + 'a {
        self.place(offset..offset.saturating_add(bytes.len() as u64)).map(move |place| {
            let (part, after) = bytes.split_at((place.end - place.start) as usize);
            bytes = after;
            (place.start, part)
        })
    }

    /// Splits inline content, like [`Extents::parts`].
    pub fn inline<'a>(&'a self, content: &'a Inline) -> impl Iterator<Item = (u64, &'a [u8])> + 'a {
        self.parts(0, content.bytes())
    }

    /// The number of content bytes before an offset of the file.
    pub fn content_before(&self, offset: u64) -> u64 {
        let before = self.parts.iter().map(|part| part.file.end.min(offset).saturating_sub(part.file.start));
        before.sum()
    }

    /// The ranges of the file that a range of the content maps to. Ignores what is beyond the content.
    pub fn place(&self, content: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let first = self.parts.partition_point(|part| part.content <= content.start).saturating_sub(1);
        self.parts[first.min(self.parts.len())..].iter().map_while(move |part| {
            let start = content.start.max(part.content);
            let end = content.end.min(part.content + (part.file.end - part.file.start));
            (start < end).then(|| part.file.start + (start - part.content)..part.file.start + (end - part.content))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(size: u64, holes: &[(u64, u64)], content: Range<u64>) -> Vec<(u64, u64)> {
        let holes: Vec<_> = holes.iter().map(|&(start, end)| start..end).collect();
        Extents::new(size, &holes).place(content).map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn content_without_holes_lies_where_it_is() {
        assert_eq!(placed(10, &[], 2..7), [(2, 7)]);
        assert_eq!(placed(10, &[], 0..10), [(0, 10)]);
        assert_eq!(placed(0, &[], 0..0), []);
    }

    #[test]
    fn content_is_split_around_holes() {
        let holes = [(0, 5), (10, 20), (22, 30)];
        assert_eq!(placed(40, &holes, 0..17), [(5, 10), (20, 22), (30, 40)]);
        assert_eq!(placed(40, &holes, 4..8), [(9, 10), (20, 22), (30, 31)]);
        assert_eq!(placed(40, &holes, 5..6), [(20, 21)]);
        assert_eq!(placed(40, &holes, 7..17), [(30, 40)]);
        assert_eq!(placed(30, &holes, 0..7), [(5, 10), (20, 22)]);
    }

    #[test]
    fn what_lies_beyond_the_content_lies_nowhere() {
        assert_eq!(placed(10, &[(4, 10)], 2..9), [(2, 4)]);
        assert_eq!(placed(10, &[(4, 10)], 5..9), []);
        assert_eq!(placed(10, &[(0, 10)], 0..9), []);
    }

    #[test]
    fn bytes_come_with_their_offsets_in_the_file() {
        let extents = Extents::new(30, &[0..5, 10..20]);
        let parts: Vec<_> = extents.parts(3, b"abcdefg").collect();
        assert_eq!(parts, [(8, &b"ab"[..]), (20, b"cdefg")]);
        let inline = Inline::from(b"0123456789abcde".to_vec());
        let parts: Vec<_> = extents.inline(&inline).collect();
        assert_eq!(parts, [(5, &b"01234"[..]), (20, b"56789abcde")]);
        assert_eq!(
            extents.parts(14, b"xyz").collect::<Vec<_>>(),
            [(29, &b"x"[..])],
            "the rest lies beyond the content"
        );
    }

    #[test]
    fn the_first_bytes_of_a_file_have_so_much_content() {
        let extents = Extents::new(30, &[0..5, 10..20]);
        let before = [0, 5, 6, 10, 15, 21, 30, 31, u64::MAX].map(|offset| extents.content_before(offset));
        assert_eq!(before, [0, 0, 1, 5, 5, 6, 15, 15, 15]);
    }

    #[test]
    fn every_byte_has_one_place() {
        let holes = [3..4, 4..6, 9..12];
        let extents = Extents::new(15, &holes);
        let whole: Vec<u64> = extents.place(0..9).flatten().collect();
        assert_eq!(whole, [0, 1, 2, 6, 7, 8, 12, 13, 14]);
        for start in 0..9 {
            for end in start..9 {
                let part: Vec<u64> = extents.place(start as u64..end as u64).flatten().collect();
                assert_eq!(part, whole[start..end], "{start}..{end}");
            }
        }
    }
}
