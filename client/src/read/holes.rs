//! Holes: the parts of a sparse file that are not stored on disk.

use std::ops::Range;

/// The ranges of a file between its holes.
pub(super) fn data(holes: &[Range<u64>], size: u64) -> Vec<Range<u64>> {
    let starts = std::iter::once(0).chain(holes.iter().map(|hole| hole.end));
    let ends = holes.iter().map(|hole| hole.start).chain([size]);
    starts.zip(ends).map(|(start, end)| start..end).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_lies_between_the_holes() {
        for (holes, size, parts) in [
            (&[][..], 10, &[(0, 10)][..]),
            (&[], 0, &[]),
            (&[(0, 10)], 10, &[]),
            (&[(0, 2), (4, 6)], 10, &[(2, 4), (6, 10)]),
            (&[(4, 10)], 10, &[(0, 4)]),
        ] {
            let holes: Vec<_> = holes.iter().map(|&(start, end)| start..end).collect();
            let found: Vec<_> = data(&holes, size).into_iter().map(|part| (part.start, part.end)).collect();
            assert_eq!(found, parts, "{holes:?}");
        }
    }
}
