//! Mapped files: the only module of this crate with unsafe code.

use std::fs::File;
use std::io;
use std::path::Path;

use bytes::Bytes;
use memmap2::{MmapMut, MmapOptions};

use crate::system::{FileExt, allocate, populate};

/// Maps a file of known length for reading. The bytes stay readable after the file is deleted.
///
/// Reads all pages of a file of at most [`LOOKED_THROUGH`] bytes, so that a bad sector is an error here. Later it would
/// end the process with SIGBUS.
#[allow(unsafe_code)]
pub(super) fn map(file: &File, length: u64) -> io::Result<Bytes> {
    let mapped = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    // SAFETY: the mapping is sound while nobody changes or truncates the file. It is an object, and objects
    // are create-only: this crate writes a file before it has its name and never opens it for writing again,
    // and deletion takes the name away but leaves the mapped pages. Somebody who changes files inside a
    // repository behind Copal's back is outside what can be guarded against, as with every mapped file; the
    // bytes are verified by whoever uses them.
    let mapping = unsafe { MmapOptions::new().len(mapped).map(file) }?;
    // The kernel does not say why a page cannot be read; reading the file does.
    if length <= LOOKED_THROUGH && populate(&mapping).is_err() {
        read_through(file, length)?;
    }
    Ok(Bytes::from_owner(mapping))
}

/// Reads a file and drops the bytes.
fn read_through(file: &File, length: u64) -> io::Result<()> {
    let mut piece = vec![0; PIECE.min(length) as usize];
    for start in (0..length).step_by(PIECE as usize) {
        let wanted = PIECE.min(length - start) as usize;
        file.read_exact_at(&mut piece[..wanted], start)?;
    }
    Ok(())
}

/// Writable zeros in a file without a name: the kernel may write them to disk instead of keeping them in memory. The
/// space is allocated first, so that a full disk is an error here and not later.
#[derive(Debug)]
pub struct Unnamed(MmapMut);

impl Unnamed {
    /// This many bytes, at least one, in a directory.
    #[allow(unsafe_code)]
    pub fn new(directory: &Path, bytes: usize) -> io::Result<Self> {
        let file = tempfile::tempfile_in(directory)?;
        allocate(&file, bytes as u64)?;
        // SAFETY: the mapping is sound while nobody else changes or truncates the file. It never had a name that
        // anybody was told, or has lost it already, and the only handle is closed when this function returns.
        let mapping = unsafe { MmapMut::map_mut(&file) }?;
        Ok(Self(mapping))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, for writing.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// Longer files are not read in advance: on a hard disk that takes longer than a backup with few changes.
const LOOKED_THROUGH: u64 = 256 << 20;
/// Bytes per read.
const PIECE: u64 = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn mapped_bytes_are_the_files_and_outlive_its_name() -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(b"some bytes")?;
        let mapped = map(file.as_file(), 10)?;
        drop(file);
        assert_eq!(mapped.slice(5..), Bytes::from_static(b"bytes"));
        Ok(())
    }

    #[test]
    fn an_unnamed_file_holds_what_is_written_and_leaves_nothing_behind() -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        let mut unnamed = Unnamed::new(directory.path(), 10_000)?;
        assert_eq!(unnamed.bytes(), [0; 10_000]);
        unnamed.bytes_mut()[9_999] = 7;
        assert_eq!(unnamed.bytes()[9_998..], [0, 7]);
        assert_eq!(std::fs::read_dir(directory.path())?.count(), 0);
        Ok(())
    }

    #[test]
    fn more_than_the_disk_has_is_an_error() -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        assert!(Unnamed::new(directory.path(), 1 << 60).is_err());
        assert!(Unnamed::new(&directory.path().join("missing"), 1).is_err());
        Ok(())
    }

    #[test]
    fn an_empty_file_maps_to_no_bytes() -> io::Result<()> {
        assert!(map(&tempfile::tempfile()?, 0)?.is_empty());
        Ok(())
    }

    /// For the kernel, a page after the end of a file is like one in a bad sector: it cannot fill it.
    #[test]
    fn pages_that_cannot_be_read_are_an_error_that_says_why() -> io::Result<()> {
        let file = tempfile::tempfile()?;
        file.set_len(2 * PIECE)?;
        assert_eq!(map(&file, 2 * PIECE)?.len() as u64, 2 * PIECE);
        let failed = map(&file, 3 * PIECE).err();
        assert_eq!(failed.map(|error| error.kind()), Some(io::ErrorKind::UnexpectedEof));
        Ok(())
    }

    #[test]
    fn where_the_kernel_does_not_do_it_every_byte_is_read() -> io::Result<()> {
        let mut file = tempfile::tempfile()?;
        file.write_all(&vec![1; PIECE as usize + 1])?;
        read_through(&file, PIECE + 1)?;
        assert_eq!(read_through(&file, PIECE + 2).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        read_through(&tempfile::tempfile()?, 0)
    }

    #[test]
    fn of_a_file_that_is_longer_than_that_no_page_is_read() -> io::Result<()> {
        let file = tempfile::tempfile()?;
        assert!(map(&file, LOOKED_THROUGH).is_err());
        assert_eq!(map(&file, LOOKED_THROUGH + 1)?.len() as u64, LOOKED_THROUGH + 1);
        Ok(())
    }
}
