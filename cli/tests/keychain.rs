//! The passphrase in the keychain of a session, by a real GNOME Keyring on a bus of its own.

use std::process::Command;

use crate::kit::{COPAL, Machine, Ran, Run, run_by};

/// Runs a script in a session with an unlocked keychain.
fn in_session(machine: &Machine, script: &str) -> Ran {
    Command::new("gnome-keyring-daemon").arg("--version").output().expect("the tests need gnome-keyring");
    let script =
        format!("printf login | gnome-keyring-daemon --unlock --components=secrets > /dev/null 2>&1\nset -e\n{script}");
    let mut session = run_by("dbus-run-session", &["--", "sh", "-c", &script], &machine.command(&[]));
    session.env("COPAL", COPAL).env("XDG_RUNTIME_DIR", machine.path("runtime"));
    session.ran()
}

#[test]
fn the_keychain_opens_what_its_secret_has_opened_once() {
    let machine = Machine::saved([("letter", "1")]);
    let told = in_session(
        &machine,
        "COPAL_PASSWORD=wrong $COPAL key keychain || echo refused $?\n\
         $COPAL --keychain snapshots || echo nothing $?\n\
         COPAL_PASSWORD='correct horse' $COPAL key keychain\n\
         $COPAL --keychain --json snapshots | grep -c '\"id\"'\n\
         $COPAL -r \"$PWD/./repository\" --keychain -q check && echo checked\n\
         $COPAL -r elsewhere --keychain key keychain --remove\n\
         COPAL_PASSWORD=wrong $COPAL --keychain snapshots || echo first $?\n\
         ls $HOME/.local/share/keyrings/*.keyring > /dev/null\n\
         strings -a $HOME/.local/share/keyrings/*.keyring > strings\n\
         grep -c 'correct horse' strings || test $? = 1\n\
         $COPAL key keychain --remove\n\
         $COPAL --keychain snapshots || echo gone $?",
    );
    let told = told.ok();
    let lines = told.lines();
    let place = machine.path("repository").display().to_string();
    let elsewhere = machine.path("elsewhere").display().to_string();
    let expected = [
        "refused 12".to_owned(),
        "nothing 1".to_owned(),
        format!("the keychain opens {place} with --keychain"),
        "1".to_owned(),
        "checked".to_owned(),
        format!("the keychain holds nothing for {elsewhere}"),
        "first 12".to_owned(),
        "0".to_owned(),
        format!("the keychain holds nothing for {place} any more"),
        "gone 1".to_owned(),
    ];
    assert_eq!(lines, expected, "{told}");
    assert!(told.err.contains("the keychain holds nothing for") && !told.err.contains("horse"), "{told}");
}

#[test]
fn without_a_session_it_is_an_error_that_says_so() {
    let machine = Machine::new();
    let ran = machine
        .command(&["--keychain", "snapshots", "--json"])
        .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
        .ran();
    assert_eq!(ran.exits(1).kind(), "secret");
}
