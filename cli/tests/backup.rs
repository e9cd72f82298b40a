//! What `backup` makes of the paths it is given, and says about those that may be meant otherwise.

mod kit;

use std::fs;
use std::os::unix::fs::symlink;

use kit::{Machine, text};

#[test]
fn a_link_that_is_named_is_saved_as_such_and_that_is_told() {
    let machine = Machine::new();
    fs::create_dir(machine.path("elsewhere")).unwrap();
    fs::write(machine.path("elsewhere/file"), "1").unwrap();
    symlink(machine.path("elsewhere"), machine.path("link")).unwrap();
    let told = machine.run(&["backup", "link"]).ok().err;
    assert!(told.contains("/link is a link to a directory"), "{told}");
    assert!(!machine.run(&["backup", "link/"]).ok().err.contains("is a link"), "it is followed");
    assert!(machine.ok(&["find", "file", "--path", "elsewhere"]).contains("/elsewhere/file"));
    assert!(!machine.run(&["backup", "link", "elsewhere"]).ok().err.contains("is a link"), "what it leads to is saved");
    fs::write(machine.source("file"), "1").unwrap();
    symlink("file", machine.source("to file")).unwrap();
    assert_eq!(machine.run(&["backup", "source/to file"]).ok().err, "");
}

#[test]
fn what_was_named_and_is_excluded_is_told() {
    let machine = Machine::new();
    machine.write("file", "1");
    let ran = machine.run(&["backup", "source", "--exclude", "source"]).ok();
    assert!(ran.err.contains("/source: it is excluded, though it was named"), "{ran}");
}

#[test]
fn ignore_files_of_every_name_given_are_obeyed() {
    let machine = Machine::new();
    for (name, content) in [(".one", "*.o\n"), (".two", "*.tmp\n"), ("a.o", ""), ("a.tmp", ""), ("a.c", "")] {
        machine.write(name, content);
    }
    machine.backup(&["--ignore-file", ".one", "--ignore-file", ".two"]);
    let rows = machine.run(&["ls", "--json", "latest:source"]).ok().rows();
    let names: Vec<_> = rows.iter().map(|row| text(&row["path"]).rsplit('/').next().unwrap().to_owned()).collect();
    assert_eq!(names, [".one", ".two", "a.c"]);
}
