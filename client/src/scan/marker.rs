//! Marker: a file whose presence excludes its directory from backup.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};

use crate::stat::EntryStat;
use crate::system::{AsFd, FileType, Mode, OFlags, bytes_of, openat, os_string};

/// A file name, and the bytes that the file must begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    name: OsString,
    header: Vec<u8>,
}

/// A text that is not `NAME` or `NAME:HEADER`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} does not name a file: write NAME or NAME:HEADER, without a slash")]
pub struct BadMarker(OsString);

impl Marker {
    /// Reads `NAME` or `NAME:HEADER`.
    pub fn parse(text: &OsStr) -> Result<Self, BadMarker> {
        let bytes = &*bytes_of(text);
        let colon = bytes.iter().position(|&byte| byte == b':');
        let (name, header) = colon.map_or((bytes, &[][..]), |at| (&bytes[..at], &bytes[at + 1..]));
        if matches!(name, b"" | b"." | b"..") || name.contains(&b'/') {
            return Err(BadMarker(text.into()));
        }
        Ok(Self { name: os_string(name.into()), header: header.into() })
    }

    /// The marker of cache directories, `CACHEDIR.TAG` (bford.info/cachedir).
    pub fn cache_directory() -> Self {
        Self { name: "CACHEDIR.TAG".into(), header: b"Signature: 8a477f597d28d172789f06886806bc55".into() }
    }

    /// The file's name.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Whether the marker's file in the directory begins with the header.
    pub(super) fn marks(&self, directory: impl AsFd) -> bool {
        self.header.is_empty() || self.header_is_there(directory).unwrap_or(false)
    }

    fn header_is_there(&self, directory: impl AsFd) -> io::Result<bool> {
        let Some(file) = open_regular(directory, &self.name)? else { return Ok(false) };
        let mut start = Vec::with_capacity(self.header.len());
        file.take(self.header.len() as u64).read_to_end(&mut start)?;
        Ok(start == self.header)
    }
}

/// Opens a file of a directory; none if it is not a regular file.
pub(super) fn open_regular(directory: impl AsFd, name: &OsStr) -> io::Result<Option<std::fs::File>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::empty())?;
    let regular = EntryStat::of(&file)?.kind() == FileType::RegularFile;
    Ok(regular.then(|| file.into()))
}
