//! Mapped files: the one place with unsafe code.

use std::fs::File;
use std::io;
use std::path::Path;

use bytes::Bytes;
use memmap2::{Mmap, MmapMut};
use rustix::fs::{FallocateFlags, fallocate};

/// Maps a whole file for reading. The bytes outlive the file's name: deletion does not disturb them.
#[allow(unsafe_code)]
pub(super) fn map(file: &File) -> io::Result<Bytes> {
    // SAFETY: the mapping is sound while nobody changes or truncates the file. It is an object, and objects
    // are create-only: this crate writes a file before it has its name and never opens it for writing again,
    // and deletion takes the name away but leaves the mapped pages. Somebody who changes files inside a
    // repository behind Copal's back is outside what can be guarded against, as with every mapped file; the
    // bytes are verified by whoever uses them.
    let mapping = unsafe { Mmap::map(file) }?;
    Ok(Bytes::from_owner(mapping))
}

/// Zeros to be written over, in a file without a name: the kernel may write them out instead of keeping them in memory.
/// What the file takes is set aside first, so that a full disk is an error here and not later.
#[derive(Debug)]
pub struct Unnamed(MmapMut);

impl Unnamed {
    /// So many bytes, at least one, in a directory.
    #[allow(unsafe_code)]
    pub fn new(directory: &Path, bytes: usize) -> io::Result<Self> {
        let file = tempfile::tempfile_in(directory)?;
        fallocate(&file, FallocateFlags::empty(), 0, bytes as u64)?;
        // SAFETY: the mapping is sound while nobody else changes or truncates the file. It never had a name that
        // anybody was told, or has lost it already, and the only handle is closed when this function returns.
        let mapping = unsafe { MmapMut::map_mut(&file) }?;
        Ok(Self(mapping))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, to be written over.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn mapped_bytes_are_the_files_and_outlive_its_name() -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(b"some bytes")?;
        let mapped = map(file.as_file())?;
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
        assert!(map(&tempfile::tempfile()?)?.is_empty());
        Ok(())
    }
}
