//! Lists of changes of a source that is saved under another path.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::SystemTime;

use super::folders;
use crate::kit::{assert_same, text};

#[test]
fn with_as_path_a_list_has_paths_of_the_snapshot_whatever_lies_there_now() {
    let machine = folders();
    let live = machine.path("live");
    fs::create_dir(&live).unwrap();
    symlink("/", live.join("d1")).unwrap();
    let save = |names: &[&str], since: &str| {
        let list: String = names.iter().map(|name| format!("{}/{name}\n", live.display())).collect();
        fs::write(machine.path("list"), list).unwrap();
        let options = ["--as-path", live.to_str().unwrap(), "--changed-from", "list", "--changed-since", since];
        machine.json(&[&["backup", "source"][..], &options].concat())
    };
    fs::write(machine.path("id"), "0".repeat(32)).unwrap();
    let first = save(&[], "@id");
    assert_eq!(first["narrowed"], false);
    machine.write("d1/e1/f1", "listed");
    machine.remove("d2/e1/f1");
    fs::write(machine.path("id"), text(&first["snapshot_id"]) + "\n").unwrap();
    let made = save(&["d1/e1/f1", "d2/e1/f1"], "@id");
    assert_eq!((&made["narrowed"], &made["files_changed"]), (&true.into(), &1.into()), "{made}");
    machine.ok(&["restore", &text(&made["snapshot_id"]), "-t", "out"]);
    assert_same(&machine.path("source"), &machine.path("out").join(live.strip_prefix("/").unwrap()));
    assert!(text(&save(&[], "@id")["gap"]).contains("follows another"));
    // Paths that the source is not saved under are no files that have gone.
    let last = machine.snapshots().pop().unwrap();
    let astray = save(&["somewhere/d1/e1/f1"], &last);
    assert!(text(&astray["gap"]).contains("no path of the list"), "{astray}");
    // The file must hold a whole id: a prefix could match another snapshot.
    fs::write(machine.path("id"), "0").unwrap();
    let said = machine.run(&["backup", "source", "--changed-from", "list", "--changed-since", "@id"]).exits(2).err;
    assert!(said.contains("id does not hold the id of a snapshot"), "{said}");
}

#[test]
fn with_as_path_a_listed_file_is_read_even_if_its_times_are_as_before() {
    let machine = folders();
    let file = machine.source("d1/e1/f1");
    let write = |text: &str| {
        fs::write(&file, text).unwrap();
        fs::File::options().write(true).open(&file).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    };
    let save = |options: &[&str]| {
        fs::write(machine.path("list"), "/elsewhere/d1/e1/f1\n").unwrap();
        let named = ["backup", "source", "--as-path", "/elsewhere", "--changed-from", "list", "--ignore-ctime"];
        machine.json(&[&named[..], options].concat())
    };
    write("one");
    save(&[]);
    for (text, options, is_narrowed) in [("two", &[][..], true), ("six", &["--walk-every", "1"], false)] {
        write(text);
        let made = save(options);
        assert_eq!(made["narrowed"], is_narrowed, "{text}");
        let place = format!("{}:/elsewhere/d1/e1/f1", crate::kit::text(&made["snapshot_id"]));
        assert_eq!(machine.ok(&["dump", &place]), text);
    }
}
