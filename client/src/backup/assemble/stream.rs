//! Stream: saves one stream of bytes as the only entry of a snapshot.

use std::io::Read;
use std::sync::atomic::Ordering;

use copal_format::path::TreePath;
use copal_format::tree::Extras;

use super::super::BackupError;
use super::super::content::Tools;
use super::Assembly;
use crate::stat::EntryStat;

impl Assembly<'_, '_> {
    /// Saves a stream as the snapshot's only file; returns its size.
    pub(super) fn take_stream(
        &mut self,
        name: &[u8],
        mut bytes: impl Read,
        tools: &Tools<'_>,
    ) -> Result<u64, BackupError> {
        let path = TreePath::new(name.to_vec()).map_err(|error| BackupError::Stream(std::io::Error::other(error)))?;
        self.begin(&path);
        let mut window = Vec::new();
        let mut size = 0;
        let mut is_last = false;
        while !is_last || !window.is_empty() {
            if !is_last {
                let wanted = (STREAM_WINDOW - window.len()) as u64;
                let got =
                    Read::by_ref(&mut bytes).take(wanted).read_to_end(&mut window).map_err(BackupError::Stream)?;
                is_last = (got as u64) < wanted;
            }
            let mut end = 0;
            for (id, range) in tools.certain_cuts(&window, is_last) {
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
        let content = self.end()?;
        let stat = EntryStat {
            mode: 0o100_600,
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
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
        self.outcome.summary.new += 1;
        if let Some(entry) = self.recorder.entry(path, &stat, content, Extras::default()) {
            self.add(entry)?;
        }
        Ok(size)
    }
}

/// Bytes of a stream that are held at once.
const STREAM_WINDOW: usize = 8 << 20;
