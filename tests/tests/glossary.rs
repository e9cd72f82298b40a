//! Glossary: every module and name in the column *Where* of `docs/glossary.md` exists.

use crate::{files, read, top};

#[test]
fn every_place_of_the_glossary_exists() {
    let page = read("docs/glossary.md");
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let cells = rows.map(|row| row.trim_matches('|').split('|').collect::<Vec<_>>()).filter(|cells| cells.len() > 3);
    let places: Vec<(String, String)> = cells.flat_map(|cells| places(cells[2])).collect();
    let files = files();
    let missing: Vec<_> = places.iter().filter(|(krate, place)| !exists(&files, krate, place)).collect();
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
fn exists(files: &[String], krate: &str, place: &str) -> bool {
    let (module, name) = place.split_once("::").unwrap_or((place, ""));
    let path = format!("{krate}/src/{}", module.trim_end_matches('/'));
    let is_in = |file: &str| file.strip_prefix(&path).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'));
    files.iter().filter(|file| is_in(file)).any(|file| name.is_empty() || names(file, name))
}

fn names(file: &str, word: &str) -> bool {
    read(file).split(|c: char| !c.is_alphanumeric() && c != '_').any(|other| other == word)
}
