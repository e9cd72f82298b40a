//! The project itself: its layers, its infrastructure, and what its documents say.

use std::fs;
use std::path::Path;

mod glossary;
mod infra;
mod layering;
mod operations;
mod threats;

/// The top of the project.
fn top() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn read(name: impl AsRef<Path>) -> String {
    let path = top().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every file of the project, by its path from the top.
fn files() -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![top().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("read a folder") {
            let entry = entry.expect("read a folder's entry");
            let kind = entry.file_type().expect("know what an entry is");
            let made = matches!(
                entry.file_name().to_str(),
                Some(".git" | "target" | "__pycache__" | "node_modules" | "dist" | "pkg" | "screenshots")
            );
            let skipped = made || entry.path().join("CACHEDIR.TAG").exists();
            if kind.is_dir() && !skipped {
                folders.push(entry.path());
            } else if kind.is_file() && !skipped {
                let path = entry.path();
                let name = path.strip_prefix(top()).expect("it lies below the top");
                names.push(name.to_str().expect("the project's names are UTF-8").to_owned());
            }
        }
    }
    names.sort();
    names
}
