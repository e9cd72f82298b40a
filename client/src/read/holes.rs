//! Holes: the parts of a sparse file that are not stored on disk.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// A part of a file that reads as zeros and takes no space.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct Hole {
    /// Offset of its first byte.
    pub offset: u64,
    /// How many bytes it spans.
    pub length: u64,
}

impl Hole {
    pub(super) fn end(&self) -> u64 {
        self.offset + self.length
    }
}

/// The holes of an open file of `size` bytes, ascending; at most [`HOLES_MAX`], so later holes are read as content.
/// Empty if the file system cannot report holes.
pub(super) fn holes(file: impl AsFd, size: u64) -> io::Result<Vec<Hole>> {
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
            holes.push(Hole { offset: at, length: data - at });
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

/// The holes of an open file of `size` bytes, as ranges.
pub fn holes_of(file: impl AsFd, size: u64) -> io::Result<Vec<Range<u64>>> {
    Ok(holes(file, size)?.into_iter().map(|hole| hole.offset..hole.end()).collect())
}

/// The ranges of a file between its holes.
pub(super) fn data(holes: &[Hole], size: u64) -> Vec<Range<u64>> {
    let starts = std::iter::once(0).chain(holes.iter().map(Hole::end));
    let ends = holes.iter().map(|hole| hole.offset).chain([size]);
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
            (&[(0, 2), (4, 2)], 10, &[(2, 4), (6, 10)]),
            (&[(4, 6)], 10, &[(0, 4)]),
        ] {
            let holes: Vec<_> = holes.iter().map(|&(offset, length)| Hole { offset, length }).collect();
            let found: Vec<_> = data(&holes, size).into_iter().map(|part| (part.start, part.end)).collect();
            assert_eq!(found, parts, "{holes:?}");
        }
    }
}
