//! Kept: the file of a write-only client's own copy of its last tree. The engine says what is in it
//! ([`copal_engine::backup::kept`]); losing or damaging the file costs reading, never uploading.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use copal_engine::backup::kept::{self, KeptBytes, KeptError, KeptSnapshot, KeptTree};
use copal_format::id::{ChunkId, SourceId};
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::secret::Secret;
use copal_format::tree::{Content, Page, VerifiedPage};

use crate::entropy::random;
use crate::reader::{Pages, ReadError};
use crate::repository::Enrolled;
use crate::system::{FileExt, private_file};

/// An open kept tree.
pub(super) struct KeptFile {
    pub(super) snapshot: KeptSnapshot,
    tree: Mutex<KeptTree<OpenFile>>,
    keys: DomainKeys,
}

struct OpenFile {
    file: File,
    length: u64,
}

impl KeptBytes for OpenFile {
    fn length(&self) -> u64 {
        self.length
    }

    fn read(&self, at: u64, into: &mut [u8]) -> bool {
        self.file.read_exact_at(into, at).is_ok()
    }
}

impl KeptFile {
    /// Opens the kept tree of a source; none if there is none, or if it cannot be read.
    pub(super) fn open(enrolled: &Enrolled, source: SourceId, keys: &DomainKeys) -> Option<Self> {
        let file = File::open(path(enrolled, source)?).ok()?;
        let length = file.metadata().ok()?.len();
        let tree = KeptTree::open(&key(enrolled), enrolled.credentials.repository, OpenFile { file, length })?;
        Some(Self { snapshot: tree.snapshot, tree: Mutex::new(tree), keys: keys.clone() })
    }

    fn stored(&self, id: &ChunkId) -> Option<Vec<u8>> {
        self.tree.lock().expect("no reader panics").stored(id).map(<[u8]>::to_vec)
    }
}

impl Pages for KeptFile {
    fn page(&self, id: &ChunkId) -> Result<VerifiedPage, ReadError> {
        let page = self.tree.lock().expect("no reader panics").page(&self.keys, id);
        page.ok_or(ReadError::Absent { id: *id })
    }
}

/// Writes the next kept tree while the backup builds it.
pub(super) struct KeptWriter {
    path: PathBuf,
    unfinished: PathBuf,
    file: File,
    tree: kept::KeptWriter,
    /// The previous kept tree, from which the content lists of unchanged huge files are copied.
    before: Option<Arc<KeptFile>>,
}

impl KeptWriter {
    /// Begins a kept tree; none if this machine has no cache directory.
    pub(super) fn begin(
        enrolled: &Enrolled,
        source: SourceId,
        before: Option<Arc<KeptFile>>,
    ) -> Option<io::Result<Self>> {
        let path = path(enrolled, source)?;
        remove_leftovers(&path);
        let unfinished = path.with_extension(format!("{:016x}", u64::from_le_bytes(random())));
        let file = private_file().create_new(true).open(&unfinished);
        let tree = kept::KeptWriter::begin(&key(enrolled), enrolled.credentials.repository, random());
        Some(file.map(|file| Self { path, unfinished, file, tree, before }))
    }

    pub(super) fn add(&mut self, pages: &[Page]) -> io::Result<()> {
        let added = self.tree.add(pages);
        self.write(added)
    }

    /// Copies the pages that list an unchanged entry's content from the previous kept tree.
    pub(super) fn take_over(&mut self, content: &Content) -> io::Result<()> {
        let Some(before) = &self.before else { return Ok(()) };
        let taken = self.tree.take_over(content, |id| before.stored(id));
        self.write(taken)
    }

    /// Replaces the previous kept tree with this one.
    pub(super) fn finish(mut self, snapshot: KeptSnapshot) -> io::Result<()> {
        let ended = self.tree.end(snapshot);
        self.write(ended)?;
        copal_store::sync(&self.file)?;
        std::fs::rename(&self.unfinished, &self.path)
    }

    fn write(&mut self, made: Result<(), KeptError>) -> io::Result<()> {
        made.map_err(io::Error::other)?;
        self.tree.take().map_or(Ok(()), |bytes| self.file.write_all(&bytes))
    }
}

impl Drop for KeptWriter {
    fn drop(&mut self) {
        // After `finish` renamed it, nothing has this name. An unfinished file is of no use.
        let _ = std::fs::remove_file(&self.unfinished);
    }
}

fn path(enrolled: &Enrolled, source: SourceId) -> Option<PathBuf> {
    enrolled.cache_dir.as_ref().map(|directory| directory.join(format!("tree-{source}")))
}

/// Removes unfinished files of killed runs. A younger file may belong to a run that goes on.
fn remove_leftovers(path: &Path) {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return };
    let prefix = [name.as_encoded_bytes(), b"."].concat();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|found| found.modified()).ok().and_then(|time| time.elapsed().ok());
        if entry.file_name().as_encoded_bytes().starts_with(&prefix) && age.is_some_and(|age| age > LEFTOVER_AGE) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn key(enrolled: &Enrolled) -> Secret {
    let credentials = &enrolled.credentials;
    credentials.device.derive("kept-tree", credentials.repository.as_bytes())
}

/// No run writes to an unfinished file that is older than this.
const LEFTOVER_AGE: Duration = Duration::from_secs(48 * 3_600);
