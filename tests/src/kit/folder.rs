//! Folder: the files below a directory, to compare what was saved with what was restored.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The content of every file below `top`, by its path from there.
///
/// # Panics
/// If something cannot be read.
pub fn files(top: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(top).expect("it lies below").to_owned();
                found.insert(name, fs::read(path).expect("a file"));
            }
        }
    }
    found
}
