//! Threats: every claim of `docs/threats.md` names tests that attack it, and each of them exists.

use std::fs;

use crate::{read, top};

#[test]
fn every_claim_names_tests_that_exist() {
    let page = read("docs/threats.md");
    let claims: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).filter(is_claim).collect();
    let mut missing = Vec::new();
    // A bar within a cell would hide a claim.
    let tables = page.lines().filter(|line| line.starts_with('|') && cells(line).len() > 3);
    missing.extend(tables.map(|row| format!("more than three cells: {row}")));
    for claim in &claims {
        let named = tests_of(claim);
        if named.is_empty() {
            missing.push(format!("no test: {claim}"));
        }
        missing.extend(named.into_iter().filter(|(file, test)| !exists(file, test)).map(|named| format!("{named:?}")));
    }
    assert!(claims.len() > 50 && missing.is_empty(), "{} claims, {missing:#?}", claims.len());
}

/// A row of a claim, whose third cell says which tests attack it; headings and other tables have no such cell.
fn is_claim(row: &&str) -> bool {
    cells(row).len() == 3 && cells(row)[2] != "test"
}

fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(str::trim).collect()
}

/// The tests that a row names, each with its file: in the last cell, in backticks, each file before its tests.
fn tests_of(row: &str) -> Vec<(String, String)> {
    let (mut file, mut tests) = (String::new(), Vec::new());
    for span in cells(row)[2].split('`').skip(1).step_by(2) {
        match span.contains('/') && !span.contains(' ') {
            true => file = span.to_owned(),
            false => tests.push((file.clone(), span.to_owned())),
        }
    }
    tests
}

/// Whether a file has a test of this name: a function that is marked as one, or what is handed to `test`.
fn exists(file: &str, test: &str) -> bool {
    let text = fs::read_to_string(top().join(file)).unwrap_or_default();
    let is_marked = |before: &str| before.trim_end().trim_end_matches("async").trim_end().ends_with("test]");
    match file.ends_with(".rs") {
        true => text.split_once(&format!("fn {test}(")).is_some_and(|(before, _)| is_marked(before)),
        false => text.contains(&format!("test(\"{test}\"")),
    }
}
