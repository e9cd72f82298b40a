//! Holes: the parts of a sparse file that are not stored on disk.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use crate::system::HOLES_MAX;

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
            Err(Errno::INVAL | Errno::NOTSUP) => break,
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
