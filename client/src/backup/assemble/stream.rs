//! Stream: takes content that comes in one stream, and saves one stream as the only entry of a snapshot.

use std::io::Read;
use std::sync::atomic::Ordering;

use copal_format::path::TreePath;
use copal_format::tree::{Content, Extras};

use super::super::BackupError;
use super::super::content::Tools;
use super::Assembly;
use crate::progress::Fate;
use crate::stat::EntryStat;

impl Assembly<'_, '_> {
    /// Saves a stream as the snapshot's only file; returns its size.
    pub(super) fn take_stream(&mut self, name: &[u8], bytes: impl Read, tools: &Tools<'_>) -> Result<u64, BackupError> {
        let path = TreePath::new(name.to_vec()).map_err(|error| BackupError::Stream(std::io::Error::other(error)))?;
        let (size, content) = self.take_bytes(&path, bytes, &mut Vec::new(), None, tools)?;
        let stat = EntryStat {
            mode: 0o100_600,
            uid: crate::system::user(),
            gid: crate::system::group(),
            size,
            mtime: self.started,
            ctime: self.started,
            birth: None,
            inode: 0,
            device: 0,
            links: 1,
            rdev: (0, 0),
            blocks: 0,
        };
        if let Some(entry) = self.recorder.entry(path, &stat, content.into(), Extras::default()) {
            self.add(&entry, Fate::New)?;
        }
        Ok(size)
    }

    /// Takes content that comes in one stream; returns its size. A whole content of at most `inline_max` bytes is not
    /// stored as a chunk. `window` is memory to use, which callers with many streams use again.
    pub(super) fn take_bytes(
        &mut self,
        path: &TreePath,
        mut bytes: impl Read,
        window: &mut Vec<u8>,
        inline_max: Option<usize>,
        tools: &Tools<'_>,
    ) -> Result<(u64, Taken), BackupError> {
        self.begin(path);
        window.clear();
        let most = STREAM_WINDOW.max(2 * tools.chunker.sizes().max());
        let mut size = 0;
        let mut is_last = false;
        while !is_last || !window.is_empty() {
            if !is_last {
                let wanted = (most - window.len()) as u64;
                let got = Read::by_ref(&mut bytes).take(wanted).read_to_end(window).map_err(BackupError::Stream)?;
                is_last = (got as u64) < wanted;
            }
            if is_last && size == 0 && inline_max.is_some_and(|most| window.len() <= most) {
                self.open = None;
                self.attempt.progress.add_done(window.len() as u64);
                return Ok((window.len() as u64, Taken::Inline(std::mem::take(window))));
            }
            let mut end = 0;
            for (id, range) in tools.certain_cuts(window, is_last) {
                end = range.end;
                self.add_chunk(id, &window[range])?;
            }
            size += end as u64;
            self.attempt.progress.add_done(end as u64);
            window.drain(..end);
            self.claim_if_due()?;
            if self.attempt.interrupted.load(Ordering::Relaxed) {
                return Err(BackupError::Interrupted);
            }
        }
        Ok((size, Taken::Stored(self.end()?)))
    }
}

/// Content that was taken.
pub(super) enum Taken {
    /// Small content, which belongs into the tree.
    Inline(Vec<u8>),
    /// Content in chunks.
    Stored(Content),
}

impl From<Taken> for Content {
    fn from(taken: Taken) -> Self {
        match taken {
            Taken::Inline(bytes) if bytes.is_empty() => Content::None,
            Taken::Inline(bytes) => Content::Inline(bytes.into()),
            Taken::Stored(content) => content,
        }
    }
}

/// Bytes of a stream that are held at once, unless chunks may be larger.
const STREAM_WINDOW: usize = 8 << 20;
