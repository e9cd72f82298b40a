//! Where a repository is: what is no address makes no directory.

mod kit;

use std::fs;

use kit::{Machine, Run};

#[test]
fn what_only_looks_like_an_address_makes_no_directory_and_what_was_meant_is_named() {
    let machine = Machine::bare();
    let listed = || fs::read_dir(machine.path("")).unwrap().count();
    let before = listed();
    for (text, meant) in [
        ("s3:host/b", "s3://host/b"),
        ("sftp:me@host:/r", "ssh://me@host/r"),
        ("ssh:h/x", "ssh://h/x"),
        ("s3//b", "s3://b"),
        ("~/r", "$HOME/r"),
    ] {
        let by_option = machine.command(&["init", "-r", text]).env("COPAL_PASSWORD", "x").ran();
        let by_variable = machine.command(&["backup", "--init", "source"]).env("COPAL_REPOSITORY", text).ran();
        for ran in [by_option, by_variable] {
            let ran = ran.exits(2);
            assert!(ran.err.contains(&format!("did you mean {meant}?")), "{text}: {ran}");
        }
        assert_eq!(listed(), before, "{text}");
    }
    machine.command(&["init", "-r", "./s3:host"]).env("COPAL_PASSWORD", "x").ran().ok();
    assert!(machine.path("s3:host/copal").exists());
}
