//! Files: reading, writing, copying and removing them, with an error that names the path.

use std::fs;
use std::io::Error;
use std::path::{Path, PathBuf};

/// Makes a folder, and those above it.
pub(crate) fn make(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(failed(folder))
}

/// Makes a folder without anything in it.
pub(crate) fn fresh(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        remove(folder)?;
    }
    make(folder)
}

/// Removes a folder and all that it holds.
pub(crate) fn remove(folder: &Path) -> Result<(), String> {
    fs::remove_dir_all(folder).map_err(failed(folder))
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(failed(path))
}

pub(crate) fn text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(failed(path))
}

/// How many bytes a file has.
pub(crate) fn size(path: &Path) -> Result<u64, String> {
    fs::metadata(path).map(|found| found.len()).map_err(failed(path))
}

/// Writes a file, and makes the folders above it.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), String> {
    let above = path.parent().map_or(Ok(()), fs::create_dir_all);
    above.and_then(|()| fs::write(path, bytes)).map_err(failed(path))
}

/// Copies a file with its rights, and makes the folders above it.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let above = to.parent().map_or(Ok(()), fs::create_dir_all);
    above.and_then(|()| fs::copy(from, to)).map(drop).map_err(failed(from))
}

/// Copies the files of a folder, but no folder in it.
pub(crate) fn copy_files(from: &Path, to: &Path) -> Result<(), String> {
    for path in entries(from)?.iter().filter(|path| path.is_file()) {
        copy(path, &to.join(path.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

/// What a folder holds, in order.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let paths = |entries: fs::ReadDir| entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).and_then(paths).map_err(failed(folder))?;
    paths.sort();
    Ok(paths)
}

/// All files below a folder, relative to it, in order.
pub(crate) fn below(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        let name = PathBuf::from(path.file_name().unwrap_or_default());
        if path.is_dir() && !path.is_symlink() {
            found.extend(below(&path)?.into_iter().map(|file| name.join(file)));
        } else {
            found.push(name);
        }
    }
    Ok(found)
}

/// What went wrong, with the path that it went wrong with.
pub(crate) fn failed(path: &Path) -> impl Fn(Error) -> String {
    move |error| format!("{}: {error}", path.display())
}
