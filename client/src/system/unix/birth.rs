//! Birth: when an entry was made, on systems without a call that sets it.

use std::os::fd::BorrowedFd;

use copal_format::time::Time;

/// When an entry was made, for a restore that can set that. Here none can.
#[derive(Debug, Copy, Clone, Default)]
pub struct Birth;

impl From<Option<Time>> for Birth {
    fn from(_: Option<Time>) -> Self {
        Self
    }
}

impl Birth {
    /// Sets nothing.
    pub(crate) fn set(self, _: BorrowedFd<'_>) -> rustix::io::Result<()> {
        Ok(())
    }
}
