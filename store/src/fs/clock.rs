//! The file system's clock, read off new files, and what is old by it.

use std::io;
use std::time::Duration;

use super::disk::{Disk, Kind, TMP, join};
use crate::StoreTime;

/// The time that a file gets when it is made now. On a network file system that is the server's time, not ours.
pub(super) fn now(disk: &Disk) -> io::Result<StoreTime> {
    let (tmp, _file) = disk.new_tmp()?;
    let stat = disk.stat(&tmp);
    disk.unlink(&tmp)?;
    Ok(stat?.1.created)
}

/// Removes files that have been under `tmp/` for a day: their writers were killed. A writer that takes longer loses its
/// file and gets an error, never a damaged object.
pub(super) fn sweep(disk: &Disk, now: StoreTime) -> io::Result<()> {
    for (name, kind) in disk.entries(TMP)? {
        let path = join(TMP, &name);
        // Another process may sweep at the same time.
        let Ok((_, stat)) = disk.stat(&path) else { continue };
        if kind == Kind::File && now.since(stat.created) >= LEFT_BEHIND {
            let _ = disk.unlink(&path);
        }
    }
    Ok(())
}

const LEFT_BEHIND: Duration = Duration::from_secs(24 * 3600);
