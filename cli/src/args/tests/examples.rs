//! The command lines that the documents show are taken by the program.

use std::fs;

use super::*;

#[test]
fn every_example_in_the_documents_is_a_command_line() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let documents = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let documents = documents.filter(|path| path.extension() == Some(OsStr::new("md"))).chain([root.join("README.md")]);
    let (mut taken, mut refused) = (0, Vec::new());
    for path in documents {
        let page = fs::read_to_string(&path).unwrap().replace("\\\n", " ").replace("$time", "2026-01-31");
        let mut is_fenced = false;
        for line in page.lines() {
            is_fenced ^= line.starts_with("```");
            let Some(code) = line.strip_prefix("    ").or(is_fenced.then_some(line)) else { continue };
            for words in commands_of(code).iter().filter_map(|words| words.strip_prefix(&["copal".to_owned()][..])) {
                match CommandLine::read(core::iter::once("copal").chain(words.iter().map(String::as_str))) {
                    Err(error) if error.exit_code() == 2 => {
                        refused.push(format!("{}: {line}: {error}", path.display()));
                    }
                    _ => taken += 1,
                }
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(taken > 200, "{taken}");
}

/// The simple commands in a line of shell, without what stands before their names. What a document leaves out (`…`) is
/// nothing, and a variable is a word.
fn commands_of(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let (mut quote, mut before) = (None, ' ');
    for letter in line.chars().chain([';']) {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '#') if before == ' ' => break,
            (None, ' ' | '|' | '&' | ';' | '>' | '<' | '(' | ')') => {
                words.extend(word.take().filter(|word| word != "…"));
                if letter == '>' && words.last().is_some_and(|word: &String| word == "2") {
                    words.pop();
                }
                if letter != ' ' {
                    commands.push(core::mem::take(&mut words));
                }
            }
            (_, letter) => word.get_or_insert_default().push(letter),
        }
        before = letter;
    }
    words.extend(word);
    commands.push(words);
    let is_before = |word: &String| matches!(word.as_str(), "$" | "sudo" | "do") || word.contains('=');
    commands.into_iter().map(|words| words.into_iter().skip_while(is_before).collect()).collect()
}

#[test]
fn a_line_of_shell_is_taken_apart() {
    let line = "A=1 copal ls 'a b' | tar -x && sudo copal check 2>/dev/null # and so on";
    let commands: Vec<String> = commands_of(line).into_iter().map(|words| words.join("_")).collect();
    assert_eq!(commands, ["copal_ls_a b", "tar_-x", "", "copal_check", "/dev/null"]);
}
