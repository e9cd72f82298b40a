//! Directory: the objects of a repository as read-only files.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A repository's directory.
pub(crate) struct Directory {
    root: PathBuf,
}

impl Directory {
    /// Opens a directory that contains `keys` or `copal`.
    pub(crate) fn open(root: &Path) -> Result<Self, Failure> {
        let directory = Self { root: root.to_owned() };
        let is_one = ["keys", "copal"].iter().any(|name| root.join(name).is_dir());
        if is_one { Ok(directory) } else { Err(Failure::NoRepository(root.to_owned())) }
    }

    /// The names in a folder, ascending; empty if it does not exist. Skips names that are not UTF-8: no object has one.
    pub(crate) fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        let listed = match fs::read_dir(self.root.join(folder)) {
            Ok(listed) => listed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in listed {
            names.extend(entry?.file_name().into_string().ok());
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Reads an object of at most `most` bytes; `None` if it does not exist.
    pub(crate) fn read(&self, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let file = match self.file(name) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is longer than any such object"));
        }
        Ok(Some(bytes))
    }

    /// Opens an object.
    pub(crate) fn file(&self, name: &str) -> io::Result<File> {
        File::open(self.root.join(name))
    }
}

/// Reads a range of an open file; the caller has bounded its length.
pub(crate) fn read_range(mut file: &File, range: Range<u64>) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; (range.end - range.start) as usize];
    file.seek(SeekFrom::Start(range.start))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}
