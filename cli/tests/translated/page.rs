//! A page with a table of lines: those of another program, and ours.

use std::fs;
use std::path::Path;

use super::side::version;

/// A page for those who come from another program.
pub(crate) struct Page {
    pub(crate) rows: Vec<Row>,
    /// The blocks of shell, which bring old snapshots over.
    pub(crate) blocks: Vec<String>,
}

/// One act, in both programs.
pub(crate) struct Row {
    pub(crate) theirs: Vec<String>,
    pub(crate) ours: Vec<String>,
    /// The version of their program that their line needs, if Debian's may be older.
    pub(crate) since: Option<(u32, u32)>,
}

impl Page {
    pub(crate) fn read(name: &str) -> Self {
        let text = fs::read_to_string(Path::new(DOCS).join(name)).expect("the page is there");
        let table = text.lines().skip_while(|line| !line.starts_with("| to |")).skip(2);
        let rows: Vec<Row> = table.take_while(|line| line.starts_with('|')).map(row).collect();
        let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split_once("```"));
        let page = Self { rows, blocks: blocks.map(|(block, _)| block.to_owned()).collect() };
        assert!(page.rows.len() > 25, "{}", page.rows.len());
        for act in ["init", "backup", "snapshots", "restore", "mount", "check", "forget", "prune", "rewrite"] {
            let is_there = |line: &String| line.split(' ').any(|word| word == act);
            assert!(page.rows.iter().flat_map(|row| &row.ours).any(is_there), "{act}");
        }
        page
    }
}

fn row(line: &str) -> Row {
    // A pipe of the shell is written so that it ends no cell.
    let line = line.replace("\\|", "\0");
    let cells: Vec<_> = line.split('|').map(|cell| cell.replace('\0', "|")).collect();
    let [_, _, theirs, ours, remark, _] = cells.as_slice() else { panic!("{line}") };
    let since = remark.split_once("since restic ").map(|(_, rest)| rest.split([' ', ',', ';']).next().unwrap_or(""));
    Row { theirs: spans(theirs), ours: spans(ours), since: since.and_then(version) }
}

/// What stands between backticks.
fn spans(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");
