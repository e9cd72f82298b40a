//! Mapped objects: the one place with unsafe code.

use std::fs::File;
use std::io;

use bytes::Bytes;
use memmap2::Mmap;

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
    fn an_empty_file_maps_to_no_bytes() -> io::Result<()> {
        assert!(map(&tempfile::tempfile()?)?.is_empty());
        Ok(())
    }
}
