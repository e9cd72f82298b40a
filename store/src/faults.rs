//! Faults set by environment variables, for tests of the programs. Only with the feature `faults`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};

use crate::system::Errno;

/// A point before a step that changes what is stored. With `COPAL_DIE_AT=n` the process aborts at the n-th point;
/// `COPAL_POINTS=FILE` appends a byte to a file at each point.
pub fn point() {
    static DIES_AT: LazyLock<Option<u64>> = LazyLock::new(|| number("COPAL_DIE_AT"));
    static COUNTED_IN: LazyLock<Option<Mutex<File>>> = LazyLock::new(|| {
        let path = std::env::var_os("COPAL_POINTS")?;
        OpenOptions::new().create(true).append(true).open(path).ok().map(Mutex::new)
    });
    let passed = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
    if let Some(file) = &*COUNTED_IN
        && let Ok(mut file) = file.lock()
    {
        let _ = file.write_all(b".");
    }
    if *DIES_AT == Some(passed) {
        std::process::abort();
    }
}

/// Fails as if the disk were full: from the n-th point on with `COPAL_FULL_AT=n`, while a file exists with
/// `COPAL_FULL_WHILE=FILE`.
pub(crate) fn room() -> io::Result<()> {
    static FULL_WHILE: LazyLock<Option<PathBuf>> =
        LazyLock::new(|| std::env::var_os("COPAL_FULL_WHILE").map(PathBuf::from));
    if FULL_WHILE.as_ref().is_some_and(|file| file.exists()) {
        return Err(Errno::NOSPC.into());
    }
    static FULL_AT: LazyLock<Option<u64>> = LazyLock::new(|| number("COPAL_FULL_AT"));
    let is_full = FULL_AT.is_some_and(|full| PASSED.load(Ordering::SeqCst) >= full);
    if is_full { Err(Errno::NOSPC.into()) } else { Ok(()) }
}

/// Writes the first half of some bytes, then passes a point; returns the rest.
pub(crate) fn torn<'a>(file: &mut File, bytes: &'a [u8]) -> io::Result<&'a [u8]> {
    let half = bytes.len() / 2;
    // Direct writes begin at a whole unit of the file system.
    let half = if half < UNIT { half } else { half / UNIT * UNIT };
    let (first, rest) = bytes.split_at(half);
    file.write_all(first)?;
    point();
    room()?;
    Ok(rest)
}

/// Called when a job of `copal serve` begins. The job panics once if `COPAL_JOB_PANICS` names it; the process aborts if
/// `COPAL_JOB_DIES` names it.
pub fn job(name: &str) {
    static PANICS: AtomicU64 = AtomicU64::new(0);
    let is_named = |variable: &str| std::env::var(variable).is_ok_and(|named| named == name);
    if is_named("COPAL_JOB_DIES") {
        std::process::abort();
    }
    if is_named("COPAL_JOB_PANICS") && PANICS.fetch_add(1, Ordering::SeqCst) == 0 {
        panic!("a planted panic");
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

static PASSED: AtomicU64 = AtomicU64::new(0);

/// A multiple of the unit of every direct write.
const UNIT: usize = 64 << 10;
