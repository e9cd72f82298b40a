//! Files: takes the compared files one after another, in the same order.

use copal_engine::backup::content::FileContent;
use copal_format::id::ChunkId;
use copal_format::limits::CHUNK_BYTES;
use copal_format::path::TreePath;
use copal_format::tree::{Content, Entry, EntryKind, Piece};

use super::compare::{Compared, FILE_MODE, FileFacts, Verdict, entry};
use super::{Backup, Stage};
use crate::fault::Fault;

/// A file whose chunks are being added.
pub(super) struct Open {
    path: TreePath,
    verdict: Verdict,
    content: FileContent,
    bytes: u64,
}

impl Open {
    /// Its path and the content so far.
    pub(super) fn so_far(&self) -> (&TreePath, &FileContent) {
        (&self.path, &self.content)
    }
}

impl Backup {
    /// Takes over the next file, or adds the next directory.
    pub fn take_same(&mut self) -> Result<(), Fault> {
        match self.next_file()? {
            Compared::Same(entry) => {
                if entry.kind() == EntryKind::File {
                    self.tally.summary.unmodified += 1;
                    self.tally.bytes_unchanged += entry.size;
                }
                let before = &mut self.kept_before;
                let stored = |id: &ChunkId| before.iter_mut().find_map(|tree| tree.stored(id).map(<[u8]>::to_vec));
                self.kept.take_over(&entry.content, stored)?;
                self.add(&entry)
            }
            other => {
                self.compared.push_front(other);
                Err(Fault::misuse("the next file is to be read"))
            }
        }
    }

    /// Adds the next file with all its bytes, which must fit into a page.
    pub fn take_inline(&mut self, file: &FileFacts, bytes: &[u8]) -> Result<(), Fault> {
        if bytes.len() > self.parameters.inline_max as usize || file.size != bytes.len() as u64 {
            return Err(Fault::misuse("a file taken at once is not longer than a page takes, and as long as it says"));
        }
        self.begin_file()?;
        let content = if bytes.is_empty() { Content::None } else { Content::Inline(bytes.to_vec().into()) };
        self.end_with(file, content)
    }

    /// Begins the next file.
    pub fn begin_file(&mut self) -> Result<(), Fault> {
        if self.open.is_some() {
            return Err(Fault::misuse("a file is being taken"));
        }
        match self.next_file()? {
            Compared::Read { path, verdict } => {
                self.open = Some(Open { path, verdict, content: FileContent::default(), bytes: 0 });
                Ok(())
            }
            other => {
                self.compared.push_front(other);
                Err(Fault::misuse("the next file is taken over as it was"))
            }
        }
    }

    /// Adds the next chunks of the file and returns which are new. The host keeps the bytes of new chunks, in order,
    /// until their block is to be sealed.
    pub fn take_chunks(&mut self, ids: &[ChunkId], lengths: &[u32]) -> Result<Vec<bool>, Fault> {
        if ids.len() != lengths.len() || lengths.iter().any(|length| !(1..=CHUNK_BYTES).contains(length)) {
            return Err(Fault::misuse("every chunk has an id and a length"));
        }
        let is_known = self.known();
        let Some(open) = &mut self.open else { return Err(Fault::misuse("no file is being taken")) };
        let mut new = Vec::with_capacity(ids.len());
        for (id, length) in ids.iter().zip(lengths) {
            let is_new = !is_known(id) && self.session.add_chunk_elsewhere(*id, *length)?;
            if !is_new {
                self.tally.bytes_known += u64::from(*length);
            }
            self.session.add_piece(&mut open.content, Piece { id: *id, length: *length }, &is_known)?;
            open.bytes += u64::from(*length);
            new.push(is_new);
        }
        self.keep_pages()?;
        Ok(new)
    }

    /// Drops the chunks of the file so far, because it is read again.
    pub fn again(&mut self) -> Result<(), Fault> {
        let open = self.open.as_mut().ok_or_else(|| Fault::misuse("no file is being taken"))?;
        open.content = FileContent::default();
        open.bytes = 0;
        Ok(())
    }

    /// Ends the file with the facts after it was read completely.
    pub fn end_file(&mut self, file: &FileFacts) -> Result<(), Fault> {
        let open = self.open.as_mut().ok_or_else(|| Fault::misuse("no file is being taken"))?;
        if open.bytes != file.size {
            return Err(Fault::misuse("a file has as many bytes as its chunks"));
        }
        let content = core::mem::take(&mut open.content);
        let content = self.session.content_of(content, self.known())?;
        self.end_with(file, content)
    }

    /// Skips the next file, or the one being added, because it could not be read.
    pub fn fail(&mut self) -> Result<(), Fault> {
        if self.open.is_none() {
            self.begin_file()?;
        }
        if let Some(open) = self.open.take() {
            self.miss(open.path.as_bytes());
        }
        Ok(())
    }

    /// Notes an entry that is missing from the snapshot: it could not be listed, or no restore could use its name.
    pub fn miss(&mut self, path: &[u8]) {
        self.tally.summary.errors += 1;
        self.info.troubles.unreadable(path);
    }

    /// Notes that the file being taken, or the next one, was written to each time it was read.
    pub fn changing(&mut self, path: &[u8]) {
        self.info.troubles.changing(path);
    }

    fn end_with(&mut self, file: &FileFacts, content: Content) -> Result<(), Fault> {
        let Some(open) = self.open.take() else { return Err(Fault::misuse("no file is being taken")) };
        if open.path != file.path {
            let words = format!("{} was begun, not {}", open.path, file.path);
            self.open = Some(open);
            return Err(Fault::misuse(&words));
        }
        *match open.verdict {
            Verdict::New => &mut self.tally.summary.new,
            _ => &mut self.tally.summary.changed,
        } += 1;
        self.add(&entry(open.path, FILE_MODE, file.modified, file.size, content))
    }

    /// The next compared file. First adds the directories before it.
    fn next_file(&mut self) -> Result<Compared, Fault> {
        if self.stage != Stage::Taking {
            return Err(Fault::misuse("what was taken is to be claimed first"));
        }
        if self.open.is_some() {
            return Err(Fault::misuse("a file is being taken"));
        }
        self.add_above()?;
        self.compared.pop_front().ok_or_else(|| Fault::misuse("nothing more was compared"))
    }

    /// Adds the next directories that the host did not name.
    fn add_above(&mut self) -> Result<(), Fault> {
        while matches!(self.compared.front(), Some(Compared::Above(_))) {
            if let Some(Compared::Above(entry)) = self.compared.pop_front() {
                self.add(&entry)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, entry: &Entry) -> Result<(), Fault> {
        let counts = &mut self.tally.counts;
        match entry.kind() {
            EntryKind::File => {
                counts.files += 1;
                counts.bytes += entry.size;
            }
            EntryKind::Directory => counts.directories += 1,
            _ => counts.others += 1,
        }
        self.session.add_entry(entry, self.known())?;
        self.keep_pages()
    }
}
