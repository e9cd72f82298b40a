//! Copy: another name for an entry of the target, or a copy of a file where the file system refuses a hard link.

use std::fs::File;
use std::io;

use copal_format::path::TreePath;
use copal_format::tree::Extents;

use super::WriteError;
use super::file::TargetFile;
use super::metadata::Metadata;
use super::shortfalls::Lack;
use super::target::Target;
use crate::read::{Extras, holes_of};
use crate::stat::EntryStat;
use crate::system::{Errno, FileExt, FileType, keep_holes};

impl Target {
    /// Makes another name for an entry of the target; copies a file if the file system refuses a hard link. Returns
    /// whether the name is there. A refused link, FIFO or device has to be made as the snapshot says.
    pub fn second_name(&self, path: &TreePath, existing: &TreePath) -> Result<bool, WriteError> {
        let refused = match self.hardlink(path, existing) {
            Ok(()) => return Ok(true),
            Err(WriteError::Io { source, .. }) if takes_no_link(&source) => source,
            Err(error) => return Err(error),
        };
        // To open a FIFO or device is an act upon it.
        if self.existing(existing)?.is_none_or(|stat| stat.kind() != FileType::RegularFile) {
            self.lacks(Lack::Names, path, refused);
            return Ok(false);
        }
        let from = self.open_to_read(existing)?;
        let stat = EntryStat::of(&from).map_err(|error| WriteError::io("read", existing, error))?;
        let xattrs = Extras::of_file(&from).xattrs;
        let file = self.copy(path, &from, &stat).map_err(|error| WriteError::io("copy", existing, error))?;
        let EntryStat { mode, uid, gid, mtime, birth, .. } = stat;
        self.set_file_metadata(&file, &Metadata { mode, uid, gid, mtime, birth: birth.into(), xattrs: &xattrs });
        self.lacks(Lack::Names, path, refused);
        Ok(true)
    }

    /// Copies a file without its holes.
    pub(super) fn copy(&self, path: &TreePath, from: &File, stat: &EntryStat) -> io::Result<TargetFile> {
        let holes = holes_of(from, stat.size)?;
        let file = self.create_file(path, 0o600).map_err(io::Error::other)?;
        if !holes.is_empty() {
            keep_holes(&file.file)?;
        }
        file.file.set_len(stat.size)?;
        let mut buffer = vec![0; COPY_BYTES];
        for mut part in Extents::new(stat.size, &holes).place(0..stat.size) {
            while part.start < part.end {
                let bytes = &mut buffer[..(part.end - part.start).min(COPY_BYTES as u64) as usize];
                from.read_exact_at(bytes, part.start)?;
                file.file.write_all_at(bytes, part.start)?;
                part.start += bytes.len() as u64;
            }
        }
        Ok(file)
    }
}

/// True if the file system does not support the hard link.
fn takes_no_link(error: &io::Error) -> bool {
    let reasons = [Errno::PERM, Errno::MLINK, Errno::XDEV, Errno::NOTSUP, Errno::NOSYS];
    Errno::from_io_error(error).is_some_and(|errno| reasons.contains(&errno))
}

/// Bytes copied at a time.
const COPY_BYTES: usize = 1 << 20;
