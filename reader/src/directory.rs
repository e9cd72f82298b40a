//! Directory: the objects of a repository as read-only files. An export has all of them in one file.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::export::{Index, NotExport};
use crate::failure::Failure;

/// A repository's directory, or an export.
pub(crate) struct Directory {
    root: PathBuf,
    /// The places of an export's objects; none for a directory.
    index: Option<Index>,
}

/// An object that is open.
pub(crate) struct Object {
    file: File,
    start: u64,
    pub(crate) length: u64,
}

impl Directory {
    /// Opens a directory that contains `keys` or `copal`, or an export.
    pub(crate) fn open(root: &Path) -> Result<Self, Failure> {
        let none = || Failure::NoRepository(root.to_owned());
        let index =
            match root.is_file() {
                true => Some(File::open(root).map_err(NotExport::Io).and_then(|file| Index::read(&file)).map_err(
                    |why| match why {
                        NotExport::Other => none(),
                        why => Failure::Export(why),
                    },
                )?),
                false => None,
            };
        let directory = Self { root: root.to_owned(), index };
        let is_one = directory.index.is_some() || ["keys", "copal"].iter().any(|name| root.join(name).is_dir());
        if is_one { Ok(directory) } else { Err(none()) }
    }

    /// The names in a folder, ascending; empty if it does not exist. Skips names that are not UTF-8: no object has one.
    pub(crate) fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        if let Some(index) = &self.index {
            let above = format!("{folder}/");
            let below = index.objects.range(above.clone()..).map_while(|(name, _)| name.strip_prefix(&above));
            let mut names: Vec<String> =
                below.map(|name| name.split('/').next().unwrap_or_default().to_owned()).collect();
            names.dedup();
            return Ok(names);
        }
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
        if file.length > most {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is longer than any such object"));
        }
        read_range(&file, 0..file.length).map(Some)
    }

    pub(crate) fn file(&self, name: &str) -> io::Result<Object> {
        let Some(index) = &self.index else {
            let file = File::open(self.root.join(name))?;
            let length = file.metadata()?.len();
            return Ok(Object { file, start: 0, length });
        };
        let (range, _) = index.objects.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(Object { file: File::open(&self.root)?, start: range.start, length: range.end - range.start })
    }
}

/// Reads a range of an open object; the caller has bounded its length.
pub(crate) fn read_range(object: &Object, range: Range<u64>) -> io::Result<Vec<u8>> {
    if range.end > object.length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut bytes = vec![0; (range.end - range.start) as usize];
    let mut file = &object.file;
    file.seek(SeekFrom::Start(object.start + range.start))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}
