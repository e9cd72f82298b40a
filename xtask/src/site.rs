//! Site: the documents as pages with search (`docs/site/`). Links and anchors are checked twice: in the documents, as a forge
//! shows them, and in the pages.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::archive::copy_folder;
use crate::command::{build_programs, output, succeed, target, workspace};
use crate::environment::environment;
use crate::files::{below, copy, fresh, remove, text, write};
use crate::tally::Tally;

/// What is shown, and what documents link to; all keep their places, so that links between documents hold on the site.
const SHOWN: [&str; 19] = [
    "docs",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "SECURITY.md",
    "client/examples",
    "deploy/Containerfile",
    "deploy/README.md",
    "deploy/copal/values.yaml",
    "deploy/values",
    "infra/README.md",
    "python/README.md",
    "wasm/npm/README.md",
    "cli/tests/cmd/backup.md",
    "cli/tests/cmd/forget.md",
    "cli/tests/cmd/keys.md",
    "cli/tests/cmd/problems.md",
];

/// Builds the site in `site/book` in the target directory and checks it.
pub(crate) fn run() -> Result<Tally, String> {
    let programs = environment("site-tools", &workspace().join("docs/site/requirements.txt"))?;
    build_programs()?;
    let room = target().join("site");
    let contents = stage(&room)?;
    let mut tally = Tally::default();
    let links = |folder: &Path| {
        let mut links = Command::new(programs.join("lychee"));
        links.args(["--offline", "--include-fragments", "--no-progress"]).current_dir(folder);
        links
    };
    tally.check("every document is on the site", complete(&room.join("src"), &contents));
    tally.check("links of the documents", followed(links(&room.join("src")).args(["--extensions", "md", "."])));
    tally.check("pages", succeed(Command::new(programs.join("mdbook")).arg("build").current_dir(&room)));
    // The list of contents stands once more on each page; this file is it without scripts, and its links are for a frame.
    let pages = ["--extensions", "html", "--exclude-path", "toc.html", "."];
    tally.check("links of the pages", followed(links(&room.join("book")).args(pages)));
    let mut session = Command::new("python3");
    session.arg(workspace().join("docs/pictures/session.py")).arg(target().join("debug/copal")).arg("--check");
    tally.check("the pictured session is what the command says today", succeed(&mut session));
    println!("the site: {}", room.join("book/index.html").display());
    Ok(tally)
}

/// Follows links, and prints what lychee says. Fails if there are none: lychee succeeds also if it finds no file.
fn followed(lychee: &mut Command) -> Result<(), String> {
    let ended = lychee.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let ended = ended.map_err(|error| format!("cannot run lychee: {error}"))?;
    let told = String::from_utf8_lossy(&ended.stdout);
    print!("{told}");
    match ended.status.success() {
        false => Err(format!("lychee: {}", ended.status)),
        true if told.contains(" 0 Total") => Err("lychee has found no link".to_owned()),
        true => Ok(()),
    }
}

/// Lays out what mdBook reads: the documents in their places, and the list of contents; gives that list.
fn stage(room: &Path) -> Result<String, String> {
    fresh(room)?;
    let source = room.join("src");
    for name in SHOWN {
        let (path, place) = (workspace().join(name), source.join(name));
        if path.is_dir() { copy_folder(&path, &place)? } else { copy(&path, &place)? }
    }
    let site = source.join("docs/site");
    for name in ["book.toml", "copal.css"] {
        copy(&site.join(name), &room.join(name))?;
    }
    let contents = contents(&source)?;
    write(&source.join("SUMMARY.md"), &contents)?;
    remove(&site)?;
    write(&source.join("docs/copal-toml.md"), example()?)?;
    Ok(contents)
}

/// The list of contents, from the top of the project instead of from its own place, and with all decisions.
fn contents(source: &Path) -> Result<String, String> {
    let mut contents =
        text(&source.join("docs/site/SUMMARY.md"))?.replace("](../../", "](").replace("](../", "](docs/");
    let folder = source.join("docs/decisions");
    for name in documents(&folder)?.into_iter().filter(|name| name != "README.md") {
        let decision = text(&folder.join(&name))?;
        let title = decision.lines().next().unwrap_or_default().trim_start_matches("# ");
        contents.push_str(&format!("  - [{title}](docs/decisions/{name})\n"));
    }
    Ok(contents)
}

/// Every key of the configuration, as the command explains it.
fn example() -> Result<String, String> {
    let keys = output(Command::new(target().join("debug/copal")).args(["config", "example"]))?;
    Ok(format!(
        "# A whole copal.toml\n\n`copal config example` prints this file: every key, with its explanation. \
         [The configuration](configuration.md) says how it is read.\n\n```toml\n{keys}```\n"
    ))
}

/// A document that the list of contents lacks would be no page.
fn complete(source: &Path, contents: &str) -> Result<(), String> {
    for name in documents(source)? {
        if name != "SUMMARY.md" && !contents.contains(&format!("]({name})")) {
            return Err(format!("docs/site/SUMMARY.md lacks {name}"));
        }
    }
    Ok(())
}

/// The documents in a folder and those below it, by their names below it, in order.
fn documents(folder: &Path) -> Result<Vec<String>, String> {
    let names = below(folder)?.into_iter().map(|path| path.to_string_lossy().into_owned());
    Ok(names.filter(|name| name.ends_with(".md")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lychee(script: &str) -> Command {
        let mut lychee = Command::new("sh");
        lychee.args(["-c", script]);
        lychee
    }

    #[test]
    fn links_pass_if_there_are_some_and_all_lead_somewhere() {
        assert_eq!(followed(&mut lychee("echo '500 Total, 500 OK'")), Ok(()));
        assert!(followed(&mut lychee("echo 'found 0 Total'")).is_err(), "there is none");
        assert!(followed(&mut lychee("echo '500 Total, 1 Error'; exit 2")).is_err(), "one leads nowhere");
    }
}
