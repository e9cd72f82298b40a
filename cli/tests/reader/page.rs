//! Page: what `docs/reader.md` says is typed as it stands there, and restores with the reader that lies in the repository.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::runtime;
use super::wasi::{Place, golden};
use crate::golden::comparison::{is_root, plain, read};
use crate::kit::listing::listing;
use crate::kit::{PASSPHRASE, Run};

#[test]
fn the_commands_of_the_page_restore_a_repository_with_the_reader_that_it_carries() {
    let made = Place::made();
    let desk = Desk::of(&made);
    let carried = made.carried();
    let [list, ls, unpack, restore] = desk.commands(carried.file_name().unwrap().to_str().unwrap());

    assert!(desk.types(&list, PASSPHRASE).contains("source"), "{list}");
    let entries = made.tree("source", true);
    let listed = desk.types(&ls, PASSPHRASE);
    assert!(entries.keys().all(|name| name.contains('\n') || listed.contains(name.as_str())), "{ls}");
    desk.types(&unpack, PASSPHRASE);
    assert_eq!(made.tree_in(&desk.files(), false), made.tree("source", false), "{unpack}");
    desk.clear();
    desk.types(&restore, PASSPHRASE);
    assert_eq!(made.tree_in(&desk.files(), true), entries, "{restore}");
}

#[test]
fn the_reader_that_one_repository_carries_restores_another_by_the_commands_of_the_page() {
    let made = Place::made();
    let desk = Desk::of(&Place::golden());
    fs::copy(made.carried(), desk.0.path("reader.wasm")).unwrap();
    // It may lie anywhere.
    let [list, _, unpack, _] = desk.commands("NAME").map(|line| line.replace("repo/reader/NAME", "reader"));
    let listed = desk.types(&list, "golden");
    let kept: Vec<&str> = listed.lines().filter(|line| !line.ends_with("(forgotten)")).collect();
    assert_eq!(kept.len(), 1 + fs::read_dir(golden("trees")).unwrap().count(), "{list}");
    // Several clients have saved to it: the newest of all is nobody's answer.
    let unpack = unpack.replace("--tar -", &format!("--snapshot {} --tar -", &kept.last().unwrap()[..32]));
    desk.types(&unpack, "golden");
    let expected = read(&fs::read_to_string(golden("tree.json")).unwrap());
    let found = listing(&desk.files(), "golden");
    let told = |entries: &[Value]| entries[1..].iter().map(plain).collect::<Vec<_>>();
    let (mut expected, mut found) = (told(&expected), told(&found));
    if !is_root() {
        // Only root makes devices.
        [&mut expected, &mut found]
            .into_iter()
            .for_each(|all| all.retain(|entry| entry[1] != "block" && entry[1] != "char"));
    }
    assert_eq!(found, expected);
}

/// Where somebody sits in front of a copy of a repository, called `repo`, and an empty folder, called `files`.
struct Desk(Place);

impl Desk {
    fn of(place: &Place) -> Self {
        let desk = Self(Place::of(place));
        fs::rename(desk.0.path("repository"), desk.0.path("repo")).unwrap();
        fs::create_dir(desk.files()).unwrap();
        let wasmtime = format!("#!/bin/sh\nshift\nexec {} \"$@\"\n", runtime::words().join(" "));
        fs::create_dir(desk.0.path("bin")).unwrap();
        fs::write(desk.0.path("bin/wasmtime"), wasmtime).unwrap();
        fs::set_permissions(desk.0.path("bin/wasmtime"), fs::Permissions::from_mode(0o755)).unwrap();
        desk
    }

    fn files(&self) -> PathBuf {
        self.0.path("files")
    }

    fn clear(&self) {
        fs::remove_dir_all(self.files()).unwrap();
        fs::create_dir(self.files()).unwrap();
    }

    /// The commands as the page has them, with a reader's name put in and what may be left out left out.
    fn commands(&self, reader: &str) -> [String; 4] {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reader.md");
        let page = fs::read_to_string(page).unwrap();
        let lines = page.lines().filter(|line| line.starts_with("wasmtime run "));
        let name = reader.trim_end_matches(".wasm");
        let lines: Vec<String> =
            lines.map(|line| line.split(" [").next().unwrap().trim().replace("NAME", name)).collect();
        lines.try_into().expect("the page has four commands")
    }

    /// Types a command into a shell, and the passphrase; gives what is shown.
    fn types(&self, line: &str, passphrase: &str) -> String {
        let path = std::env::var("PATH").unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(self.0.path(""));
        shell.env("PATH", format!("{}:{path}", self.0.path("bin").display()));
        let ran = shell.fed(format!("{passphrase}\n"));
        assert!(ran.code == 0 || (line.contains("tar -x") && !is_root()), "{line}: {ran}");
        ran.text()
    }
}
