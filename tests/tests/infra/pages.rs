//! Pages: what `infra/README.md` says, against the modules.

use std::fs;
use std::path::{Path, PathBuf};

use crate::top;

/// A variable or an output, as its block tells it.
#[derive(Clone)]
struct Told {
    name: String,
    description: String,
    kind: String,
    default: Option<String>,
}

#[test]
fn the_readme_documents_every_input_and_output() {
    let file = infra().join("README.md");
    let page = fs::read_to_string(&file).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("the page says where it begins");
    let (_, after) = rest.split_once(END).expect("the page says where it ends");
    let made = format!("{before}{BEGIN}\n{}{END}{after}", reference());
    if std::env::var_os("COPAL_GOLDEN").is_some_and(|what| what == "write") {
        return fs::write(&file, &made).expect("the page can be written");
    }
    assert!(page == made, "COPAL_GOLDEN=write writes it anew: {}", file.display());
}

#[test]
fn every_input_and_output_says_what_it_is() {
    for folder in modules() {
        for told in [blocks(&folder, "variable"), blocks(&folder, "output")].concat() {
            assert!(
                told.description.ends_with('.') && told.description.len() > 10,
                "{}: {}",
                folder.display(),
                told.name
            );
        }
    }
}

#[test]
fn every_statement_of_a_policy_says_which_call_needs_it() {
    let mut statements = 0;
    for file in modules().iter().flat_map(|folder| files(folder)) {
        let text = fs::read_to_string(&file).expect("it is text");
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (at, _) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("Sid ")) {
            statements += 1;
            // The rule that every queue has stands once, with what it is above the place where it is used.
            let is_told = lines[at - 1].starts_with('#') || lines[at - 1] == "tls_only = {";
            assert!(is_told, "{}: {}", file.display(), lines[at]);
        }
    }
    assert!(statements > 40, "{statements}");
}

/// The tables of the deployment itself, then of its modules and the example.
fn reference() -> String {
    let mut text = String::new();
    for folder in modules() {
        let name = folder.strip_prefix(infra()).expect("it lies there").display().to_string();
        let title = if name.is_empty() { "the deployment".to_owned() } else { format!("`{name}`") };
        text += &format!("\n### {title}\n\n");
        let (inputs, outputs) = (blocks(&folder, "variable"), blocks(&folder, "output"));
        if !inputs.is_empty() {
            text += "| input | is | type | default |\n|---|---|---|---|\n";
        }
        for Told { name, description, kind, default } in inputs {
            let default = default.map_or_else(|| "required".to_owned(), |value| format!("`{value}`"));
            text += &format!("| `{name}` | {description} | `{kind}` | {default} |\n");
        }
        if !outputs.is_empty() {
            text += "\n| output | is |\n|---|---|\n";
        }
        for Told { name, description, .. } in outputs {
            text += &format!("| `{name}` | {description} |\n");
        }
    }
    text
}

/// The blocks of a kind in a folder's files, by name.
fn blocks(folder: &Path, kind: &str) -> Vec<Told> {
    let mut found = Vec::new();
    for file in files(folder) {
        let text = fs::read_to_string(&file).expect("it is text");
        for block in text.split(&format!("\n{kind} \"")).skip(1).map(str::to_owned).chain(
            // The first line of a file has none before it.
            text.strip_prefix(&format!("{kind} \"")).map(str::to_owned),
        ) {
            let (name, body) = block.split_once('"').expect("a name in quotes");
            let body = body.split("\n}").next().expect("a block ends");
            let value = |of: &str| {
                let at = body.find(&format!("\n  {of} "))?;
                let line = body[at + 1..].lines().next()?.split_once('=')?.1.trim();
                Some(if line.ends_with('(') || line.ends_with('{') {
                    format!("{}…", line.trim_end_matches(['(', '{']))
                } else {
                    line.to_owned()
                })
            };
            let description = value("description").unwrap_or_default();
            let kind = value("type").unwrap_or_default();
            let description = description.trim_matches('"').replace("\\\"", "\"").replace('|', "\\|");
            found.push(Told { name: name.to_owned(), description, kind, default: value("default") });
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

/// The deployment, its modules, and the examples.
fn modules() -> Vec<PathBuf> {
    let mut found = vec![infra()];
    for folder in ["modules", "examples"] {
        let inside = fs::read_dir(infra().join(folder)).expect("a folder").map(|entry| entry.expect("an entry").path());
        let mut inside: Vec<PathBuf> = inside.filter(|path| path.is_dir()).collect();
        inside.sort();
        found.extend(inside);
    }
    assert!(found.len() > 10);
    found
}

/// The files of a module.
fn files(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut all: Vec<PathBuf> = all.filter(|path| path.extension().is_some_and(|of| of == "tf")).collect();
    all.sort();
    all
}

fn infra() -> PathBuf {
    top().join("infra")
}

const BEGIN: &str = "<!-- inputs and outputs: begin -->";
const END: &str = "<!-- inputs and outputs: end -->";
