//! `copal.exe` under wine, beside the command of this machine, on the same files: `cargo xtask windows` runs this.

mod kit;
#[path = "../kit/mod.rs"]
#[allow(dead_code, unused_imports, reason = "these tests take their part")]
mod shared;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use kit::{Wine, files, windows_path, wine};
use shared::{Machine, noise};

#[test]
fn a_tree_saved_on_windows_comes_back_there() {
    let machine = Machine::bare_on_disk();
    machine.windows(&["init"]).ok();
    machine.write("a file.txt", b"some text");
    machine.write("Grüße/日本/🦀.txt", b"names");
    machine.write("empty", b"");
    machine.write("large.bin", noise(1, 3 << 20));
    fs::create_dir(machine.source("an empty directory")).unwrap();
    machine.touch_all();

    let saved = machine.windows(&["backup", &windows_path(&machine.source("")), "--json"]).ok().json();
    assert_eq!((saved["files_new"].as_u64(), saved["errors"].as_u64()), (Some(4), Some(0)), "{saved}");
    let again = machine.windows(&["backup", &windows_path(&machine.source("")), "--json"]).ok().json();
    assert_eq!((again["files_unmodified"].as_u64(), again["bytes_new"].as_u64()), (Some(4), Some(0)), "{again}");

    machine.windows(&["restore", &machine.latest(), "--target", &windows_path(&machine.path("back"))]).ok();
    assert_eq!(files(&machine.source("")), files(&machine.path("back")));
    machine.windows(&["check", "--read-data"]).ok();
    // The command of this machine opens the same repository, and finds the same.
    machine.linux(&["check", "--read-data"]).ok();
    machine.linux(&["restore", &machine.latest(), "--target", machine.path("linux").to_str().unwrap()]).ok();
    assert_eq!(files(&machine.source("")), files(&machine.path("linux")));
}

#[test]
fn a_carriage_return_at_the_end_of_a_listed_path_is_no_part_of_it() {
    let machine = Machine::bare_on_disk();
    machine.windows(&["init"]).ok();
    machine.write("first", b"1");
    machine.write("second", b"2");
    let [first, second, list] = ["source/first", "source/second", "list"].map(|name| windows_path(&machine.path(name)));
    fs::write(machine.path("list"), format!("\u{feff}{first}\r\n{second}\r\n")).unwrap();
    let saved = machine.windows(&["backup", "--files-from", &list, "--json"]).ok().json();
    assert_eq!(saved["files_new"].as_u64(), Some(2), "{saved}");
}

#[test]
fn what_is_forgotten_on_windows_is_deleted_there() {
    let machine = Machine::bare_on_disk();
    machine.windows(&["init"]).ok();
    machine.write("first", noise(1, 4 << 20));
    machine.windows(&["backup", &windows_path(&machine.source(""))]).ok();
    fs::remove_file(machine.source("first")).unwrap();
    machine.write("second", b"small");
    machine.windows(&["backup", &windows_path(&machine.source(""))]).ok();
    machine.windows(&["forget", "--keep-last", "1", "--prune"]).ok();
    machine.windows(&["prune", "--grace", "0s"]).ok();
    machine.windows(&["check", "--read-data"]).ok();
    let listed = machine.windows(&["snapshots", "--json"]).ok().json();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    let bytes: usize = machine.objects().values().map(Vec::len).sum();
    assert!(bytes < 3 << 20, "{bytes}");
}

#[test]
fn an_odd_tree_goes_from_linux_to_windows_and_back() {
    let machine = Machine::bare_on_disk();
    machine.linux(&["init"]).ok();
    for name in [
        "what?",
        "a:b",
        "a\\b",
        "star*",
        "<angle>",
        "pipe|",
        "\"quoted\"",
        "tab\there",
        "line\nbreak",
        "ends in a dot.",
        "ends in a space ",
        "CON",
        "nul.txt",
        "COM1",
        "...",
        "~",
        "-rf",
        "%PATH%",
        "Ünï",
        "\u{202e}back",
        "e\u{301}",
    ] {
        machine.write(name, name.as_bytes());
        machine.write(&format!("below/{name}/inside"), name.as_bytes());
    }
    machine.write(&"n".repeat(255), b"a long name");
    let deep = vec!["a directory with a long name"; 40].join("/");
    machine.write(&format!("{deep}/at the end"), b"far below");
    machine.write("two/first", b"of one file");
    fs::hard_link(machine.source("two/first"), machine.source("two/second")).unwrap();
    fs::File::create(machine.source("holes")).unwrap().write_all_at(b"end", 8 << 20).unwrap();
    machine.touch_all();
    machine.linux(&["backup", machine.source("").to_str().unwrap()]).ok();

    let first = machine.path("on windows");
    machine.windows(&["restore", &machine.latest(), "--target", &windows_path(&first)]).ok();
    let restored: Vec<PathBuf> = files(&first).into_keys().collect();
    assert!(
        !restored.iter().any(|name| name.as_os_str().as_bytes().iter().any(|byte| b"\\:*?\"<>|\n\t".contains(byte)))
    );
    machine.windows(&["backup", &windows_path(&first), "--label", "from windows"]).ok();
    let back = machine.path("back");
    let place = format!("latest:{}", tree_place(&first));
    machine.linux(&["restore", "--label", "from windows", &place, "--target", back.to_str().unwrap()]).ok();
    assert_eq!(files(&machine.source("")), files(&back));
    let is_one = |top: &str| {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(machine.path(top).join("two/first")).unwrap().nlink()
    };
    assert_eq!((is_one("on windows"), is_one("back")), (2, 2));
}

#[test]
fn what_windows_cannot_keep_is_named_and_the_rest_is_restored() {
    let machine = Machine::bare_on_disk();
    machine.linux(&["init"]).ok();
    machine.write("plain", b"stays");
    machine.write("Same", b"first");
    machine.write("same", b"second");
    fs::write(machine.source(OsStr::from_bytes(b"no text \xFF")), b"lost").unwrap();
    machine.linux(&["backup", machine.source("").to_str().unwrap()]).ok();
    let back = machine.path("back");
    let ran = machine.windows(&["restore", &machine.latest(), "--target", &windows_path(&back)]);
    assert_ne!(ran.code, 0);
    assert!(ran.err.contains("no text") && ran.err.contains("cannot create same"), "{}", ran.err);
    let names = files(&back);
    assert_eq!(names.len(), 2, "{:?}", names.keys());
    assert_eq!(fs::read(back.join("plain")).unwrap(), b"stays");
    // The one that came first keeps its content.
    assert_eq!(fs::read(back.join("Same")).unwrap(), b"first");
}

#[test]
fn owners_and_modes_that_windows_does_not_have_are_said_once() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::bare_on_disk();
    machine.linux(&["init"]).ok();
    for number in 0..20 {
        machine.write(&format!("{number}"), b"x");
        fs::set_permissions(machine.source(number.to_string()), fs::Permissions::from_mode(0o600)).unwrap();
    }
    machine.linux(&["backup", machine.source("").to_str().unwrap()]).ok();
    let ran = machine.windows(&["restore", &machine.latest(), "--target", &windows_path(&machine.path("back"))]);
    let said: Vec<&str> = ran.err.lines().filter(|line| line.contains("could not be restored")).collect();
    assert_eq!(said.len(), 1, "{}", ran.err);
    assert!(said[0].contains("the mode could not be restored for 20 entries"), "{}", said[0]);
    // A tree of Windows has none, so nothing is said.
    machine.windows(&["backup", &windows_path(&machine.path("back")), "--label", "windows"]).ok();
    let place = format!("latest:{}", tree_place(&machine.path("back")));
    let ran =
        machine.windows(&["restore", "--label", "windows", &place, "--target", &windows_path(&machine.path("again"))]);
    assert!(!ran.err.contains("could not be restored"), "{}", ran.err);
}

#[test]
fn attributes_come_back() {
    let machine = Machine::bare_on_disk();
    machine.windows(&["init"]).ok();
    machine.write("hidden", b"1");
    machine.write("system", b"2");
    machine.write("read-only", b"3");
    let source = windows_path(&machine.source(""));
    for (sign, name) in [("+h", "hidden"), ("+s", "system"), ("+r", "read-only")] {
        wine(&["attrib", sign, &format!("{source}\\{name}")]).ok();
    }
    machine.windows(&["backup", &source]).ok();
    machine.windows(&["restore", &machine.latest(), "--target", &windows_path(&machine.path("back"))]).ok();
    let told = |top: &str| {
        let shown = wine(&["attrib", &format!("{}\\*", windows_path(&machine.path(top)))]).text();
        let lines = shown.lines().map(|line| {
            let (bits, path) = line.split_once("Z:").unwrap_or((line, ""));
            (path.rsplit('\\').next().unwrap_or_default().trim().to_owned(), bits.replace(' ', ""))
        });
        lines.collect::<BTreeMap<_, _>>()
    };
    let before = told("source");
    assert_eq!(before.get("read-only").map(String::as_str), Some("AR"), "{before:?}");
    assert_eq!(before, told("back"));
}

#[test]
fn a_drive_and_its_directories_are_places_of_the_tree() {
    let machine = Machine::bare_on_disk();
    machine.windows(&["init"]).ok();
    machine.write("file", b"x");
    machine.windows(&["backup", &windows_path(&machine.source(""))]).ok();
    let listed = machine.windows(&["ls", "latest", "--recursive", "--json"]);
    let expected = format!("{}/file", tree_place(&machine.source("")));
    assert!(expected.starts_with("Z/"));
    assert!(listed.text().contains(&expected), "{listed}");
}

#[test]
fn what_windows_has_not_is_refused_with_the_way_out() {
    let machine = Machine::bare_on_disk();
    machine.windows(&["init"]).ok();
    for (words, way_out) in [(&["mount", "Z:\\tmp"][..], "--webdav"), (&["schedule", "install"], "copal run")] {
        let ran = machine.windows(words);
        assert_ne!(ran.code, 0, "{words:?}");
        assert!(ran.err.contains(way_out), "{words:?}: {}", ran.err);
    }
}

/// The place in the tree of a path that wine shows as drive Z.
fn tree_place(path: &std::path::Path) -> String {
    format!("Z{}", path.to_str().unwrap().trim_end_matches('/'))
}
