//! Table: the exit code of each cell, as `docs/testing.md` has it.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::cell::{COLUMNS, Column};
use super::harm::{HARMS, Harm, THINGS, Thing};

#[derive(Debug, Default)]
pub(crate) struct Table(BTreeMap<(Thing, Harm, Column), i32>);

impl Table {
    pub(crate) fn insert(&mut self, thing: Thing, harm: Harm, column: Column, code: i32) {
        self.0.insert((thing, harm, column), code);
    }

    /// Compares with the table of the document; `COPAL_DAMAGE=write` writes it there instead.
    pub(crate) fn compare(&self) {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/testing.md");
        let document = fs::read_to_string(&path).unwrap();
        let (before, rest) = document.split_once(BEGIN).expect("the table's begin is marked");
        let (table, after) = rest.split_once(END).expect("the table's end is marked");
        let found = self.text();
        if std::env::var("COPAL_DAMAGE").is_ok_and(|value| value == "write") {
            fs::write(&path, format!("{before}{BEGIN}\n{found}{END}{after}")).unwrap();
            return;
        }
        let (expected, found): (Vec<_>, Vec<_>) = (table.trim().lines().collect(), found.lines().collect());
        let differing: Vec<String> = expected
            .iter()
            .zip(&found)
            .filter(|(expected, found)| expected != found)
            .map(|(expected, found)| format!("documented {expected}\nfound      {found}"))
            .collect();
        assert!(differing.is_empty() && expected.len() == found.len(), "{}", differing.join("\n"));
    }

    fn text(&self) -> String {
        let mut text = String::from("| object | harm |");
        COLUMNS.iter().for_each(|(_, heading)| text.push_str(&format!(" {heading} |")));
        text.push_str(&format!("\n|---|---|{}\n", "---|".repeat(COLUMNS.len())));
        for (thing, object) in THINGS {
            for (harm, what) in HARMS {
                text.push_str(&format!("| {object} | {what} |"));
                for (column, _) in COLUMNS {
                    text.push_str(&format!(" {} |", self.0[&(thing, harm, column)]));
                }
                text.push('\n');
            }
        }
        text
    }
}

const BEGIN: &str = "<!-- damage matrix: begin -->";
const END: &str = "<!-- damage matrix: end -->";
