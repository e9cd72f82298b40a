//! The commands that look into a repository, and those that need none.

mod habits;
pub(crate) mod harmed;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::kit::{Machine, PASSPHRASE, Ran, Run, name, text};
use serde_json::Value;

/// Paths of rows below what was saved.
fn below(machine: &Machine, rows: &[Value]) -> Vec<String> {
    let source = format!("{}/", machine.path("source").display());
    let path = |row: &Value| text(&row["path"]).strip_prefix(&source).map(str::to_owned);
    rows.iter().filter_map(path).collect()
}

fn listed(machine: &Machine, arguments: &[&str]) -> Vec<String> {
    below(machine, &machine.run(&[&["ls", "--json"], arguments].concat()).ok().rows())
}

fn small_tree() -> Machine {
    let machine = Machine::new();
    for name in ["a/b/c", "a/z", "a-b/x", "a.b", "b"] {
        machine.write(name, name);
    }
    machine
}

#[test]
fn a_directory_is_listed_without_what_lies_deeper() {
    let machine = small_tree();
    machine.backup(&[]);
    assert_eq!(listed(&machine, &["latest:source"]), ["a", "a-b", "a.b", "b"]);
    assert_eq!(listed(&machine, &["latest:source/a"]), ["a/b", "a/z"]);
    assert_eq!(listed(&machine, &["latest:a-b/"]), ["a-b/x"]);
    assert_eq!(listed(&machine, &["latest:a/z"]), ["a/z"], "what is no directory is listed itself");
    let top = machine.run(&["ls", "latest:/"]).ok().lines();
    assert_eq!(top, [format!("/{}", machine.path("source").iter().nth(1).unwrap().to_str().unwrap())]);
}

#[test]
fn a_listing_begins_at_what_was_backed_up() {
    let machine = small_tree();
    machine.backup(&[]);
    assert_eq!(listed(&machine, &["latest"]), ["a", "a-b", "a.b", "b"]);
    machine.ok(&["backup", "source/b", "source/a", "source/a/b"]);
    assert_eq!(listed(&machine, &["latest"]), ["a", "b"]);
    assert_eq!(listed(&machine, &["latest", "-R"]), ["a", "a/b", "a/b/c", "a/z", "b"]);
    machine.ok(&["backup", "source/b"]);
    assert_eq!(listed(&machine, &["latest"]), ["b"]);
}

#[test]
fn a_recursive_listing_has_everything_below_in_order() {
    let machine = small_tree();
    machine.backup(&[]);
    let all = ["a", "a/b", "a/b/c", "a/z", "a-b", "a-b/x", "a.b", "b"];
    assert_eq!(listed(&machine, &["-R", "latest:source"]), all);
    assert_eq!(listed(&machine, &["-R", "latest"]), all);
    assert_eq!(listed(&machine, &["-R", "latest:source/a"]), ["a/b", "a/b/c", "a/z"]);
}

#[test]
fn entries_are_told_with_all_that_scripts_rely_on() {
    let machine = Machine::with([("file", "12345")]);
    fs::set_permissions(machine.path("source/file"), fs::Permissions::from_mode(0o4750)).unwrap();
    symlink("no/where", machine.path("source/link")).unwrap();
    fs::write(machine.path("source").join(name(b"odd\xff")), "x").unwrap();
    machine.write("bell\u{7}", "");
    machine.backup(&[]);
    let rows = machine.run(&["ls", "--json", "latest:source"]).ok().rows();
    assert_eq!(below(&machine, &rows), ["bell\u{7}", "file", "link", "odd\u{fffd}"]);
    let (file, link, odd) = (&rows[1], &rows[2], &rows[3]);
    assert_eq!(
        (file["type"].as_str(), file["size"].as_u64(), file["mode"].as_u64()),
        (Some("file"), Some(5), Some(0o4750))
    );
    for field in ["uid", "gid", "user", "group", "mtime"] {
        assert!(!file[field].is_null(), "{field} in {file}");
    }
    assert_eq!((link["type"].as_str(), link["target"].as_str()), (Some("symlink"), Some("no/where")));
    assert!(text(&odd["path_bytes"]).ends_with("6f6464ff") && file.get("path_bytes").is_none());
    let lines = machine.run(&["ls", "latest:source"]).ok().lines();
    assert!(lines[0].ends_with("bell\\x07") && lines[3].ends_with("odd\\xff"), "{lines:?}");
    let long = machine.run(&["ls", "-l", "latest:source"]).ok().lines();
    assert!(long[1].starts_with("-rwsr-x---") && long[2].ends_with("link -> no/where"), "{long:?}");
    let columns: Vec<_> = long.iter().map(|line| line.find(" /").unwrap()).collect();
    assert!(columns.iter().all(|column| *column == columns[0]) && long[1].contains(" 5 B "), "{long:?}");
}

#[test]
fn what_is_not_in_a_snapshot_is_said_so() {
    let machine = small_tree();
    assert_eq!(machine.run(&["ls", "latest", "--json"]).exits(1).kind(), "no_snapshot");
    machine.backup(&[]);
    assert_eq!(machine.run(&["ls", "latest:nothing", "--json"]).exits(1).kind(), "not_in_snapshot");
    assert_eq!(machine.run(&["ls", "ffffffffff", "--json"]).exits(1).kind(), "no_snapshot");
    assert_eq!(machine.run(&["ls", "latest:../etc", "--json"]).exits(2).kind(), "usage");
}

#[test]
fn a_reader_of_the_output_may_go_away() {
    let machine = Machine::new();
    (0..3000).for_each(|number| machine.write(&format!("{number:0100}"), ""));
    machine.backup(&[]);
    let mut command = machine.command(&["ls", "-R", "latest"]);
    command.env("COPAL_KEY_FILE", machine.path("key")).stdout(std::process::Stdio::piped());
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn a_variable_that_is_set_to_nothing_is_not_set() {
    let machine = small_tree();
    let mut command = machine.with_key(&["backup", "source", "--json"]);
    for variable in ["HOST", "CACHE_DIR", "STATE_DIR", "CA_FILE", "LIMIT_UPLOAD", "LIMIT_DOWNLOAD", "STORAGE_CLASS"] {
        command.env(format!("COPAL_{variable}"), "");
    }
    for variable in ["KMS_KEY", "OBJECT_LOCK", "PASSWORD", "PASSWORD_FILE", "PASSWORD_COMMAND"] {
        command.env(format!("COPAL_{variable}"), "");
    }
    command.ran().ok();
    assert_ne!(machine.json(&["snapshots"])[0]["host"], "", "the host has a name");
    assert_eq!(machine.run(&["backup", "source", "--host", "", "--json"]).exits(2).kind(), "usage");
    assert_eq!(machine.command(&["snapshots", "--json"]).env("COPAL_REPOSITORY", "").ran().exits(2).kind(), "location");
}

#[test]
fn entries_are_found_in_every_snapshot_by_name_or_path() {
    let machine = small_tree();
    let first = machine.backup(&[]);
    machine.write("new/a.b", "more");
    let second = machine.backup(&[]);
    let found = |arguments: &[&str]| {
        let rows = machine.run(&[&["find", "--json"], arguments].concat()).ok().rows();
        let paths = below(&machine, &rows);
        rows.iter().map(|row| text(&row["snapshot"])).zip(paths).collect::<Vec<_>>()
    };
    let of = |id: &str, path: &str| (id.to_owned(), path.to_owned());
    assert_eq!(found(&["a.b"]), [of(&first, "a.b"), of(&second, "a.b"), of(&second, "new/a.b")]);
    assert_eq!(found(&["new/a.*"]), [of(&second, "new/a.b")]);
    assert_eq!(found(&["[ab]", &first]), [of(&first, "a"), of(&first, "a/b"), of(&first, "b")]);
    assert_eq!(found(&["b/", &second]), [of(&second, "a/b")], "directories only");
    assert_eq!(found(&["*b*", "latest:source/new"]), [of(&second, "new/a.b")]);
    assert_eq!(found(&["nothing"]), []);
    assert_eq!(found(&["c", "--host", "other"]), []);
    assert_eq!(machine.run(&["find", "[", "--json"]).exits(2).kind(), "usage");
    let line = &machine.run(&["find", "c"]).ok().lines()[0];
    assert!(line.starts_with(&first[..8]) && line.ends_with("/a/b/c"), "{line}");
}

#[test]
fn a_difference_is_of_one_of_five_kinds() {
    let machine = small_tree();
    machine.write("kept", "same");
    let first = machine.backup(&[]);
    machine.write("added", "123");
    fs::remove_file(machine.path("source/b")).unwrap();
    machine.write("a/z", "longer than before");
    fs::set_permissions(machine.path("source/a/b/c"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::remove_file(machine.path("source/a.b")).unwrap();
    fs::create_dir(machine.path("source/a.b")).unwrap();
    let second = machine.backup(&[]);
    let rows = machine.run(&["diff", &first, &second, "--json"]).ok().rows();
    let told = |row: &Value| (row["change"].clone(), row["size_before"].as_u64(), row["size_after"].as_u64());
    let changed = |path: &str| {
        let end = format!("/source/{path}");
        let found = rows.iter().find(|row| text(&row["path"]).ends_with(&end));
        found.map(told)
    };
    assert_eq!(changed("added"), Some(("added".into(), None, Some(3))));
    assert_eq!(changed("b"), Some(("removed".into(), Some(1), None)));
    assert_eq!(changed("a/z"), Some(("modified".into(), Some(3), Some(18))));
    assert_eq!(changed("a/b/c"), Some(("metadata".into(), Some(5), Some(5))));
    assert_eq!(changed("a.b"), Some(("type".into(), Some(3), None)));
    assert_eq!((changed("kept"), changed("a-b/x")), (None, None));
    let lines = machine.run(&["diff", &first, &second]).ok().text();
    for (sign, path) in [('+', "added"), ('-', "b"), ('M', "a/z"), ('m', "a/b/c"), ('T', "a.b")] {
        assert!(lines.contains(&format!("{sign} {}/{path}\n", machine.path("source").display())), "{lines}");
    }
    assert!(machine.run(&["diff", &first, &first]).ok().out.is_empty());
}

#[test]
fn differences_can_be_of_a_directory_or_between_two() {
    let machine = small_tree();
    machine.write("copy/b/c", "a/b/c");
    machine.write("copy/extra", "");
    let first = machine.backup(&[]);
    machine.write("a/z", "changed");
    machine.write("b", "changed");
    let second = machine.backup(&[]);
    let changes = |before: &str, after: &str| {
        let rows = machine.run(&["diff", before, after, "--json"]).ok().rows();
        let paths = below(&machine, &rows);
        let kinds = rows.iter().map(|row| text(&row["change"]));
        kinds.zip(paths).filter(|(kind, _)| kind != "metadata").collect::<Vec<_>>()
    };
    let of = |kind: &str, path: &str| (kind.to_owned(), path.to_owned());
    let [before, after] = [&first, &second].map(|id| format!("{id}:source/a"));
    assert_eq!(changes(&before, &after), [of("modified", "a/z")]);
    let copy = format!("{first}:source/copy");
    assert_eq!(changes(&before, &copy), [of("added", "copy/extra"), of("removed", "a/z")]);
    assert_eq!(machine.run(&["diff", &before, &format!("{second}:none"), "--json"]).exits(1).kind(), "not_in_snapshot");
}

#[test]
fn what_the_repository_holds_is_counted() {
    let machine = Machine::saved([("same", vec![7; 100_000]), ("more", vec![7; 100_000])]);
    machine.write("gone", vec![1; 300_000]);
    let second = machine.backup(&[]);
    let stats = machine.run(&["stats", "--json"]).ok().json();
    let number = |stats: &Value, field: &str| stats[field].as_u64().unwrap_or_else(|| panic!("{field} in {stats}"));
    assert_eq!((number(&stats, "snapshots"), number(&stats, "logical_bytes")), (2, 700_000));
    assert_eq!(number(&stats, "packs"), machine.names("packs/").len() as u64);
    let stored =
        machine.names("").into_iter().map(|name| fs::metadata(machine.path("repository").join(name)).unwrap().len());
    assert_eq!(number(&stats, "stored_bytes"), stored.sum::<u64>());
    assert!((2..20).contains(&number(&stats, "chunks")), "{stats}");
    assert_eq!((number(&stats, "dead_bytes"), number(&stats, "trapped_bytes")), (0, 0));
    assert_eq!(number(&stats, "unclaimed_bytes"), 0);
    let left = machine.path("repository/packs/ab").join("ab".repeat(32));
    fs::create_dir_all(left.parent().unwrap()).unwrap();
    fs::write(&left, [0; 4_000]).unwrap();
    let shown = machine.run(&["stats"]).ok().text();
    assert!(shown.contains("3.91 KiB in packs that no accepted backup names"), "{shown}");
    fs::remove_file(&left).unwrap();
    machine.run(&["forget", &second]).ok();
    let stats = machine.run(&["stats", "--json"]).ok().json();
    assert_eq!(number(&stats, "snapshots"), 1);
    assert!(number(&stats, "dead_bytes") > 0, "{stats}");
    let shown = machine.run(&["stats"]).ok().text();
    assert!(shown.contains("snapshots     1\n") && shown.contains("needed data"), "{shown}");
}

#[test]
fn every_object_can_be_shown_and_none_shows_a_secret() {
    let machine = small_tree();
    machine.write("large", vec![9; 70_000]);
    machine.backup(&["--tag", "t"]);
    machine.run(&["pin", "latest"]).ok();
    machine.run(&["tag", "latest", "--add", "later"]).ok();
    assert_eq!(machine.json(&["cat", "changes/2"])["operations"][0]["tag"]["add"][0]["name"], "later");
    let key = fs::read_to_string(machine.path("key")).unwrap();
    for name in &machine.names("") {
        let shown = machine.run(&["cat", name]).ok();
        assert_eq!(shown.json()["object"], name.as_str());
        assert!(!shown.text().contains(key.trim()));
    }
    for (short, folder) in [
        ("root", "roots/"),
        ("roots/1", "roots/"),
        ("descriptor", "copal/"),
        ("copal/1", "copal/"),
        ("changes/1", "changes/"),
    ] {
        let object = text(&machine.run(&["cat", short]).ok().json()["object"]);
        assert!(object.starts_with(folder), "{short}: {object}");
    }
}

#[test]
fn snapshots_pages_and_chunks_are_shown_by_their_ids() {
    let machine = Machine::with([("large", vec![9; 10_000])]);
    let id = machine.backup(&["--tag", "t"]);
    let manifest = machine.run(&["cat", &id[..8]]).ok().json();
    assert_eq!(
        (manifest["snapshot"]["id"].as_str(), manifest["snapshot"]["info"]["tags"][0].as_str()),
        (Some(&*id), Some("t"))
    );
    let page = machine.run(&["cat", &text(&manifest["snapshot"]["root"])]).ok().json();
    let entries = page["content"]["entries"].as_array().unwrap();
    let file = entries.iter().find(|entry| entry["type"] == "file").unwrap();
    assert_eq!(file["size"].as_u64(), Some(10_000));
    let chunk = machine.run(&["cat", &text(&file["content"]["chunks"][0]["id"])]).ok();
    assert_eq!(chunk.out, vec![9; 10_000]);
}

#[test]
fn what_a_client_says_cannot_speak_to_the_terminal_that_shows_it() {
    let machine = small_tree();
    let host = "desk\u{9b}2J\u{7f}\u{202e}\u{e0041}";
    let id = machine.backup(&["--host", host]);
    let shown = machine.run(&["cat", &id[..8]]).ok();
    assert!(!shown.text().contains(['\u{9b}', '\u{7f}', '\u{202e}', '\u{e0041}']), "{shown}");
    assert_eq!(shown.json()["snapshot"]["info"]["host"], host);
}

#[test]
fn what_cannot_be_shown_is_unknown_or_damaged() {
    let machine = small_tree();
    machine.backup(&[]);
    for unknown in ["nothing", "roots/99", "../key", "keys/zz", "state/", "ffff", &"ab".repeat(24), "/"] {
        let told = machine.run(&["cat", unknown, "--json"]);
        assert!(matches!((told.code, &*told.kind()), (1, "no_object") | (2, "usage")), "{unknown}: {told}");
    }
    let root = machine.names("roots/").remove(0);
    machine.flip(&root, 30);
    assert_eq!(machine.run(&["cat", "root", "--json"]).exits(4).kind(), "damaged");
    machine.run(&["cat", "descriptor"]).ok();
    machine.run(&["cat", &machine.names("packs/")[0]]).ok();
}

#[test]
fn small_segments_of_the_index_are_merged() {
    let machine = small_tree();
    for number in 0..4_u8 {
        machine.write(&format!("more/{number}"), vec![number; 2000]);
        machine.backup(&[]);
    }
    let before = machine.run(&["ls", "-R", "latest"]).ok().text();
    let merged = machine.run(&["compact", "--json"]).ok().json();
    assert!(merged["segments_after"].as_u64() <= merged["segments_before"].as_u64());
    assert_eq!(machine.run(&["ls", "-R", "latest"]).ok().text(), before);
    let again = machine.run(&["compact", "--json"]).ok().json();
    assert_eq!(
        (again["segments_before"].clone(), again["root"].clone()),
        (merged["segments_after"].clone(), merged["root"].clone())
    );
}

#[test]
fn the_exit_code_tells_what_kept_a_command_from_its_work() {
    let bare = Machine::bare();
    for command in
        [&["ls", "latest"][..], &["find", "x"], &["diff", "a", "b"], &["stats"], &["cat", "root"], &["key", "list"]]
    {
        let none: Ran = bare.run_with("any", &[command, &["--json"]].concat());
        assert_eq!(none.exits(10).kind(), "no_repository", "{command:?}");
    }
    let machine = Machine::new();
    assert_eq!(machine.run_with("wrong", &["stats", "--json"]).exits(12).kind(), "wrong_passphrase");
    machine.run_with(PASSPHRASE, &["stats"]).ok();
    assert_eq!(machine.run(&["ls", "--json"]).exits(2).kind(), "usage");
    assert_eq!(machine.run(&["find", "--json"]).exits(2).kind(), "usage");
    assert_eq!(machine.command(&["stats", "--json", "-r", "ftp://host/x"]).ran().exits(2).kind(), "location");
}

#[test]
fn some_commands_need_no_repository() {
    let bare = Machine::bare();
    assert!(bare.command(&[]).ran().exits(2).err.contains("Usage: copal"), "the name alone asks for help");
    let version = bare.command(&["version", "--json"]).ran().ok().json();
    assert_eq!((version["version"].as_str(), version["format"].as_u64()), (Some(env!("CARGO_PKG_VERSION")), Some(1)));

    let cache = bare.path("home/.cache/copal").join("ab".repeat(16));
    fs::create_dir_all(&cache).unwrap();
    fs::write(cache.join("x"), "12345").unwrap();
    fs::write(bare.path("home/.cache/copal/mine"), "stays").unwrap();
    let cleaned = bare.command(&["cache", "clean", "--json"]).ran().ok().json();
    assert_eq!(cleaned["bytes_freed"], 5);
    assert!(!cache.exists() && bare.path("home/.cache/copal/mine").exists());
    assert_eq!(bare.command(&["cache", "clean", "--json"]).ran().ok().json()["bytes_freed"], 0);
}
