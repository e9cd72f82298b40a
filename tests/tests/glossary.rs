//! Glossary: every module and name in the column *Where* of `docs/glossary.md` exists.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_place_of_the_glossary_exists() {
    let page = fs::read_to_string(top().join("docs/glossary.md")).expect("the page is there");
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let cells = rows.map(|row| row.trim_matches('|').split('|').collect::<Vec<_>>()).filter(|cells| cells.len() > 3);
    let places: Vec<(String, String)> = cells.flat_map(|cells| places(cells[2])).collect();
    let missing: Vec<_> = places.iter().filter(|(krate, place)| !exists(krate, place)).collect();
    assert!(places.len() > 80 && missing.is_empty(), "{} places, missing: {missing:#?}", places.len());
}

/// The places in a cell, each with the last crate named before it. Places before any crate are objects of the repository and
/// are not checked.
fn places(cell: &str) -> Vec<(String, String)> {
    let (mut krate, mut places) = (String::new(), Vec::new());
    for (at, part) in cell.split('`').enumerate() {
        match at % 2 {
            0 => krate = part.split([' ', ',']).rfind(|word| is_crate(word)).map_or(krate, str::to_owned),
            _ if !krate.is_empty() && !is_crate(part.trim_end_matches('/')) => {
                places.push((krate.clone(), part.to_owned()))
            }
            _ => {}
        }
    }
    places
}

fn is_crate(word: &str) -> bool {
    !word.is_empty() && top().join(word).join("src").is_dir()
}

/// Whether a crate has this module and, after `::`, this name in the module.
fn exists(krate: &str, place: &str) -> bool {
    let (module, name) = place.split_once("::").unwrap_or((place, ""));
    let path = top().join(krate).join("src").join(module.trim_end_matches('/'));
    let mut found = if path.is_dir() { files(&path) } else { Vec::new() };
    found.extend(Some(path.with_extension("rs")).filter(|file| file.is_file()));
    found.iter().any(|file| name.is_empty() || names(file, name))
}

fn names(file: &Path, word: &str) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|other| other == word)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("list a folder").map(|entry| entry.expect("list a folder").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn top() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
