//! Golden files: bytes that must never change. They lie in `tests/golden/`.

use std::path::{Path, PathBuf};

/// Compares bytes with a golden file. With `COPAL_GOLDEN=write` in the environment it writes the file instead: that is
/// a change of the format, and is committed as one (`docs/testing.md`).
pub fn check(name: &str, actual: &[u8]) {
    let path = path(name);
    if std::env::var_os("COPAL_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::create_dir_all(path.parent().expect("a golden file lies in a directory")).expect("made the directory");
        std::fs::write(&path, actual).expect("wrote the golden file");
    }
    let golden = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if golden != actual {
        let line = golden.split(|&b| b == b'\n').zip(actual.split(|&b| b == b'\n')).position(|(a, b)| a != b);
        let byte = golden.iter().zip(actual).position(|(a, b)| a != b).unwrap_or(golden.len().min(actual.len()));
        let line = line.map_or_else(|| "the end".to_owned(), |n| format!("line {}", n + 1));
        panic!("{name} differs from what is computed at byte {byte} ({line}): a stored byte changed");
    }
}

/// Where a golden file lies.
pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name)
}
