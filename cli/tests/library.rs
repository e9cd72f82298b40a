//! The examples of `copal-client` do what they say, and the command reads what they save.

#[path = "../../client/examples/read.rs"]
#[expect(dead_code, reason = "its main")]
mod read;
#[path = "../../client/examples/restore.rs"]
#[expect(dead_code, reason = "its main")]
mod restore;
#[path = "../../client/examples/save.rs"]
#[expect(dead_code, reason = "its main")]
mod save;

use std::fs;

use crate::kit::{Machine, PASSPHRASE};

#[test]
fn a_program_saves_reads_and_restores_with_the_client_alone() {
    let machine = Machine::bare();
    machine.write("letters/first", "Dear reader");
    let [repository, state] = ["repository", "own"].map(|name| machine.path(name));
    let source = machine.path("source");
    let saved = save::save(&repository, PASSPHRASE, &state, &source).unwrap();
    assert!(saved.snapshot.is_some() && saved.troubles.is_empty());
    assert_eq!(
        save::save(&repository, PASSPHRASE, &state, &source).unwrap().counts,
        saved.counts,
        "it is there already"
    );

    let file = source.join("letters/first");
    let (mut content, path) = (Vec::new(), file.to_str().unwrap().trim_start_matches('/'));
    read::read(&repository, PASSPHRASE, &state, path, &mut content).unwrap();
    assert_eq!(content, b"Dear reader");
    assert!(read::read(&repository, PASSPHRASE, &state, "nothing/here", &mut content).is_err());

    let target = machine.path("target");
    let done = restore::restore_newest(&repository, PASSPHRASE, &state, &target, &|_| {}).unwrap();
    assert!(!done.is_damaged);
    assert_eq!(fs::read(target.join(path)).unwrap(), b"Dear reader");
    machine.run_with(PASSPHRASE, &["check", "--full"]).ok();
}
