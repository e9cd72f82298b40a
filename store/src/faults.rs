//! Death on demand: for tests of what survives it. Only with the feature `faults`, and only where a variable asks for it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};

/// A point at which a process may die: before a step that changes what is stored. `COPAL_DIE_AT=n` lets it die at the
/// n-th one, as if it were killed; `COPAL_POINTS=FILE` appends a byte to a file for each.
pub fn point() {
    static PASSED: AtomicU64 = AtomicU64::new(0);
    static DIES_AT: LazyLock<Option<u64>> =
        LazyLock::new(|| std::env::var("COPAL_DIE_AT").ok().and_then(|number| number.parse().ok()));
    static COUNTED_IN: LazyLock<Option<Mutex<File>>> = LazyLock::new(|| {
        let path = std::env::var_os("COPAL_POINTS")?;
        OpenOptions::new().create(true).append(true).open(path).ok().map(Mutex::new)
    });
    let number = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
    if let Some(file) = &*COUNTED_IN
        && let Ok(mut file) = file.lock()
    {
        let _ = file.write_all(b".");
    }
    if *DIES_AT == Some(number) {
        std::process::abort();
    }
}

/// Writes the first half of some bytes, with a point behind it; gives the rest.
pub(crate) fn torn<'a>(file: &mut File, bytes: &'a [u8]) -> io::Result<&'a [u8]> {
    let (first, rest) = bytes.split_at(bytes.len() / 2);
    file.write_all(first)?;
    point();
    Ok(rest)
}
