//! The file system's clock, read off new files, and what is old by it.

use std::io;
use std::time::Duration;

use super::cause;
use super::disk::{Disk, Kind, TMP, join};
use crate::StoreTime;

/// The time a file gets that is made now. On a network file system that is the server's time, not ours.
pub(super) fn now(disk: &Disk) -> io::Result<StoreTime> {
    let (tmp, _file) = disk.new_tmp()?;
    let stat = disk.stat(&tmp);
    disk.unlink(&tmp)?;
    Ok(stat?.1.created)
}

/// Removes the files under `tmp/` that are at least that old.
pub(super) fn sweep(disk: &Disk, older_than: Duration) -> io::Result<usize> {
    let now = now(disk)?;
    let mut swept = 0;
    for (name, kind) in disk.entries(TMP)? {
        let path = join(TMP, &name);
        if kind == Kind::File && is_old(disk, &path, now, older_than)? && remove(disk, &path)? {
            swept += 1;
        }
    }
    Ok(swept)
}

fn is_old(disk: &Disk, path: &str, now: StoreTime, older_than: Duration) -> io::Result<bool> {
    match disk.stat(path) {
        Err(error) if cause::is_absence(&error) => Ok(false),
        stat => Ok(now.since(stat?.1.created) >= older_than),
    }
}

/// Whether it was still there to be removed.
fn remove(disk: &Disk, path: &str) -> io::Result<bool> {
    match disk.unlink(path) {
        Err(error) if cause::is_absence(&error) => Ok(false),
        unlinked => unlinked.map(|()| true),
    }
}
