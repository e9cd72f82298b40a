//! Holes: the parts of a sparse file that are not stored on disk.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// The holes of an open file of `size` bytes: ranges that read as zeros and take no space, ascending. At most `HOLES_MAX`:
/// later holes are read as content.
/// Empty if the file system cannot report holes.
pub fn holes_of(file: impl AsFd, size: u64) -> io::Result<Vec<Range<u64>>> {
    let mut holes = Vec::new();
    let mut at = 0;
    while at < size && holes.len() < HOLES_MAX {
        let data = match seek(&file, SeekFrom::Data(at)) {
            Ok(data) => data.min(size),
            Err(Errno::NXIO) => size,
            // Not every file system supports SEEK_DATA.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => break,
            Err(error) => return Err(error.into()),
        };
        if data > at {
            holes.push(at..data);
        }
        if data >= size {
            break;
        }
        match seek(&file, SeekFrom::Hole(data)) {
            Ok(hole) if hole > data => at = hole,
            Ok(_) | Err(Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(holes)
}

/// The ranges of a file between its holes.
pub(super) fn data(holes: &[Range<u64>], size: u64) -> Vec<Range<u64>> {
    let starts = std::iter::once(0).chain(holes.iter().map(|hole| hole.end));
    let ends = holes.iter().map(|hole| hole.start).chain([size]);
    starts.zip(ends).map(|(start, end)| start..end).filter(|part| !part.is_empty()).collect()
}

/// Most holes of an entry: its record stays small, however the file was written.
const HOLES_MAX: usize = 16 << 10;

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
