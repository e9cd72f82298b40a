//! Reference: the tables of `docs/` that are written from the program. With `COPAL_REFERENCE=write` in the environment the tests
//! write them anew; without it they hold what stands there against the program.

use std::path::Path;

/// A page, with other rows in the first table that follows `heading` and has this head; as it is if there are no rows and no table.
pub(crate) fn with_rows(page: &str, heading: &str, head: &str, rows: &[String]) -> String {
    let (before, rest) = page.split_once(heading).unwrap_or_else(|| panic!("the page lacks {heading:?}"));
    let section = rest.find("\n#").unwrap_or(rest.len());
    let (section, behind) = rest.split_at(section);
    let head = format!("{head}\n|---|---|\n");
    let Some((above, table)) = section.split_once(&head) else {
        assert!(rows.is_empty(), "below {heading:?} there is no table that begins with {head:?}");
        return page.to_owned();
    };
    let rows: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let below: String = table.split_inclusive('\n').skip_while(|line| line.starts_with('|')).collect();
    [before, heading, above, &head, &rows, &below, behind].concat()
}

/// Holds a document against what it should be, or writes it.
pub(crate) fn hold(name: &str, wanted: &str) {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs")).join(name);
    if std::env::var_os("COPAL_REFERENCE").is_some_and(|value| value == "write") {
        std::fs::write(&path, wanted).expect("the documents can be written");
    }
    let there = read(name);
    let differs = there.lines().zip(wanted.lines()).find(|(there, wanted)| there != wanted);
    assert!(there == wanted, "docs/{name} differs, COPAL_REFERENCE=write writes it: {differs:#?}");
}

/// A document.
pub(crate) fn read(name: &str) -> String {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs")).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_first_table_with_the_head_gets_the_rows_and_all_else_stays() {
    let page = "# A\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\nb\n\n## B\n| x | y |\n|---|---|\n| 3 | 4 |\n";
    let changed = with_rows(page, "# A\n", "| x | y |", &["| 5 | 6 |".to_owned(), "| 7 | 8 |".to_owned()]);
    assert_eq!(changed, page.replace("| 1 | 2 |\n", "| 5 | 6 |\n| 7 | 8 |\n"));
    assert_eq!(with_rows(page, "## B\n", "| x | y |", &["| 3 | 4 |".to_owned()]), page);
}
