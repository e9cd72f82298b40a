//! Direct writes: bytes that go from memory to the disk without a copy in the system's page cache.
//!
//! A backup writes much that nobody reads soon. In the page cache it would displace what the user works with, and the
//! kernel would have to find memory for each page, and copy it.

use std::fs::File;
use std::io::{self, ErrorKind, Write};

use rustix::fs::{AtFlags, OFlags, StatxFlags};

/// Writes bytes at a new file's position, past the page cache as far as the file system says how.
pub(crate) fn write_direct(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    let written = match Alignment::of(file) {
        Some(alignment) => aligned(file, bytes, alignment)?,
        None => 0,
    };
    file.write_all(&bytes[written..])
}

/// What the file system requires of a direct write.
struct Alignment {
    memory: usize,
    /// Of the position in the file, and of the length.
    offset: usize,
}

impl Alignment {
    /// None if `statx` does not say it (btrfs, tmpfs, file systems of another machine, Linux before 6.1).
    fn of(file: &File) -> Option<Self> {
        let told = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
        let [memory, offset] = [told.stx_dio_mem_align, told.stx_dio_offset_align].map(|bytes| bytes as usize);
        let is_told = StatxFlags::from_bits_retain(told.stx_mask).contains(StatxFlags::DIOALIGN);
        let is_usable = |bytes: usize| bytes.is_power_of_two() && bytes <= LARGEST;
        (is_told && is_usable(memory) && is_usable(offset)).then_some(Self { memory, offset })
    }
}

/// Writes the first bytes, a multiple of a unit; says how many.
fn aligned(file: &mut File, bytes: &[u8], alignment: Alignment) -> io::Result<usize> {
    let flags = rustix::fs::fcntl_getfl(&*file)?;
    if rustix::fs::fcntl_setfl(&*file, flags | OFlags::DIRECT).is_err() {
        return Ok(0);
    }
    // The rest lies in a page of its own, or the kernel would have to read what was written.
    let unit = alignment.offset.max(PAGE);
    let written = in_pieces(file, &bytes[..bytes.len() / unit * unit], &alignment);
    // The rest, and what is written later, may have any length.
    rustix::fs::fcntl_setfl(&*file, flags)?;
    written
}

fn in_pieces(file: &mut File, bytes: &[u8], &Alignment { memory, .. }: &Alignment) -> io::Result<usize> {
    let mut buffer = vec![0; PIECE.min(bytes.len()) + memory];
    let start = buffer.as_ptr().align_offset(memory).min(memory);
    let mut written = 0;
    while written < bytes.len() {
        let length = PIECE.min(bytes.len() - written);
        let piece = &mut buffer[start..start + length];
        piece.copy_from_slice(&bytes[written..written + length]);
        match file.write(piece) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => written += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => (),
            // The position is no multiple of the unit: an earlier write was cut short.
            Err(error) if error.kind() == ErrorKind::InvalidInput => break,
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

/// The smallest page of the page cache.
const PAGE: usize = 4096;

/// Bytes of one write: enough that a rotating disk spends most of its time writing.
const PIECE: usize = 4 << 20;

/// The largest alignment that is taken.
const LARGEST: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use std::io::{IoSliceMut, Read, Seek};

    use rustix::io::{Errno, ReadWriteFlags, preadv2};

    use super::*;

    /// A file beside the tests' programs, which are on a disk more often than what is temporary.
    fn on_disk() -> File {
        let program = std::env::current_exe().unwrap();
        tempfile::tempfile_in(program.parent().unwrap()).unwrap()
    }

    #[test]
    fn whatever_the_length_and_the_position_all_bytes_are_written() {
        for length in [0, 1, 511, 4_095, 4_096, 4_097, PIECE - 1, PIECE, PIECE + 513, 2 * PIECE + 4_103] {
            for first in [0, 1, 512, 4_096] {
                let bytes: Vec<u8> =
                    (0..(first + length) as u32).map(|at| (at.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect();
                let mut file = on_disk();
                file.write_all(&bytes[..first]).unwrap();
                write_direct(&mut file, &bytes[first..]).unwrap();
                assert!(!rustix::fs::fcntl_getfl(&file).unwrap().contains(OFlags::DIRECT));
                file.rewind().unwrap();
                let mut read = Vec::new();
                file.read_to_end(&mut read).unwrap();
                assert!(read == bytes, "{length} bytes behind {first}");
            }
        }
    }

    #[test]
    fn the_page_cache_holds_nothing_of_it_where_the_file_system_says_how() {
        for (first, is_direct) in [(0, true), (4_096, true), (1, false)] {
            let mut file = on_disk();
            file.write_all(&vec![1; first]).unwrap();
            write_direct(&mut file, &vec![2; PIECE + PAGE]).unwrap();
            let mut byte = [0];
            let mut buffers = [IoSliceMut::new(&mut byte)];
            let read = preadv2(&file, &mut buffers, (PAGE + PIECE) as u64 - 1, ReadWriteFlags::NOWAIT);
            if read == Err(Errno::OPNOTSUPP) {
                // Such as overlayfs: there nobody can ask.
                return;
            }
            let expected = if is_direct && Alignment::of(&file).is_some() { Err(Errno::AGAIN) } else { Ok(1) };
            assert_eq!(read, expected, "behind {first} bytes");
        }
    }
}
