//! Archive: writes a part of a snapshot as a tar archive in the POSIX (pax) format.

use std::collections::HashMap;
use std::io::Write;

use copal_engine::restore::leaves::Leaves;
use copal_format::id::ChunkId;
use copal_format::path::TreePath;
use copal_format::tree::{Entry, EntryKind};
use copal_reader::archive::{BLOCK, Header, padding};

use super::{DumpError, ZEROS, write_file};
use crate::reader::{ChunkReader, PageReader};
use crate::restore::{Identities, Scope};

/// Writes a part of a snapshot as a tar archive. Entries have the names that a restore would give them. An entry that
/// cannot be read ends the archive without its end mark, so that it does not look complete.
pub fn dump_tar(pages: &PageReader, root: ChunkId, scope: &Scope, out: &mut dyn Write) -> Result<(), DumpError> {
    let (chunks, identities) = (ChunkReader::new(pages), Identities::default());
    let mut archive = Archive { pages, chunks, out, identities, firsts: HashMap::new() };
    let mut stream = scope.entries(pages, root);
    let mut leaves = Leaves::default();
    while let Some(entry) = stream.next()?
        && scope.holds(&entry.path)
    {
        // The program that unpacks the archive might follow a link there.
        if !leaves.admits(&entry) {
            return Err(DumpError::Misplaced { path: entry.path });
        }
        archive.add(&entry, scope.inside(&entry.path))?;
    }
    archive.out.write_all(&ZEROS[..2 * BLOCK])?;
    Ok(())
}

struct Archive<'a> {
    pages: &'a PageReader,
    chunks: ChunkReader<'a>,
    out: &'a mut dyn Write,
    identities: Identities,
    /// The first names of files with several names.
    firsts: HashMap<(u64, u64), TreePath>,
}

impl Archive<'_> {
    fn add(&mut self, entry: &Entry, name: TreePath) -> Result<(), DumpError> {
        let identity = self.identities.of(entry);
        let first = identity.and_then(|identity| self.firsts.get(&identity));
        let Some(header) = Header::of(entry, &name, first) else { return Ok(()) };
        self.out.write_all(&header.to_bytes())?;
        if first.is_some() {
            return Ok(());
        }
        if entry.kind() == EntryKind::File {
            write_file(self.pages, &mut self.chunks, entry, self.out)?;
            self.out.write_all(&ZEROS[..padding(entry.size)])?;
        }
        if let Some(identity) = identity {
            self.firsts.insert(identity, name);
        }
        Ok(())
    }
}
