//! Walks a tree with all processors and asks for the metadata of every entry, nothing else: the least that any backup of an
//! unchanged tree can do. `statwalk DIR` prints how many entries there are.
#![forbid(unsafe_code)]

use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, StatxFlags, open, openat, statx};

/// Directories that are still to be read, and how many are being read.
#[derive(Default)]
struct Work {
    waiting: Vec<PathBuf>,
    busy: usize,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: statwalk DIR")?);
    let work = Mutex::new(Work { waiting: vec![root], busy: 0 });
    let (wake, entries) = (Condvar::new(), AtomicUsize::new(0));
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        let walkers: Vec<_> = (0..threads).map(|_| scope.spawn(|| walk(&work, &wake, &entries))).collect();
        walkers.into_iter().try_for_each(|walker| walker.join().expect("no walker panics"))
    })?;
    println!("{}", entries.into_inner());
    Ok(())
}

fn walk(work: &Mutex<Work>, wake: &Condvar, entries: &AtomicUsize) -> rustix::io::Result<()> {
    loop {
        let mut state = work.lock().expect("no walker panics");
        let path = loop {
            match state.waiting.pop() {
                Some(path) => break path,
                None if state.busy == 0 => return Ok(()),
                None => state = wake.wait(state).expect("no walker panics"),
            }
        };
        state.busy += 1;
        drop(state);
        let found = read(&path, entries);
        let mut state = work.lock().expect("no walker panics");
        state.busy -= 1;
        if let Ok(below) = &found {
            state.waiting.extend(below.iter().map(|name| path.join(OsStr::from_bytes(name.to_bytes()))));
        }
        drop(state);
        wake.notify_all();
        found?;
    }
}

/// The directories in a directory.
fn read(path: &PathBuf, entries: &AtomicUsize) -> rustix::io::Result<Vec<CString>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory: OwnedFd = open(path, flags, Mode::empty())?;
    let listing = openat(&directory, c".", flags, Mode::empty())?;
    let mut below = Vec::new();
    let mut count = 0;
    for entry in Dir::new(listing)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        count += 1;
        let status = statx(directory.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS)?;
        if FileType::from_raw_mode(status.stx_mode.into()) == FileType::Directory {
            below.push(name.to_owned());
        }
    }
    entries.fetch_add(count, Ordering::Relaxed);
    Ok(below)
}
