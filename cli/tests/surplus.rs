//! `restore --delete`: what it deletes, what it spares, and whom it asks.

use std::fs;

use crate::kit::{Machine, Run, number};

#[test]
fn deleting_spares_the_repository_keys_and_caches_that_lie_in_the_target() {
    let machine = Machine::new();
    machine.write("file", "1");
    machine.write("with space/file", "2");
    machine.backup(&[]);
    // Another repository, as a gateway on this machine serves one.
    machine.command(&["init", "-r", "served"]).env("COPAL_PASSWORD", "x").ran().ok();
    fs::create_dir_all(machine.path("old/below")).unwrap();
    fs::rename(machine.path("served"), machine.path("old/below/served")).unwrap();
    fs::write(machine.path("old/file"), "surplus").unwrap();
    fs::create_dir_all(machine.path("home/.cache/copal/index")).unwrap();
    let objects = machine.objects();
    // The target holds all of them, and the file of the key.
    let run = machine.run(&["restore", "--json", &machine.whole(), "-t", ".", "--delete"]).ok();
    assert!(machine.objects() == objects, "the repository is as it was");
    assert!(machine.path("old/below/served/copal").exists() && machine.path("key").exists());
    assert!(!machine.path("source").exists() && !machine.path("old/file").exists());
    assert_eq!(fs::read(machine.path("with space/file")).unwrap(), b"2");
    for spared in ["./repository", "./home/.cache/copal", "./home/.local/state/copal", "./old/below/served", "./key"] {
        assert!(run.err.contains(spared), "{spared} in {}", run.err);
    }
    machine.run(&["check", "--full"]).ok();
    // The machine is still the same client.
    assert_eq!(machine.json(&["client", "list"]).as_array().unwrap().len(), 1);
    fs::create_dir_all(machine.path("source")).unwrap();
    machine.backup(&[]);
    assert_eq!(machine.json(&["client", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_file_does_not_take_the_place_of_a_directory_that_holds_the_repository() {
    let machine = Machine::new();
    machine.write("repository", "a file");
    machine.backup(&[]);
    let objects = machine.objects();
    let run = machine.run(&["restore", "--json", &machine.whole(), "-t", ".", "--delete"]).exits(3);
    assert!(run.err.contains("in the way"), "{run}");
    assert!(machine.objects() == objects, "the repository is as it was");
}

#[test]
fn a_directory_that_is_empty_in_the_snapshot_keeps_its_content_in_the_target() {
    let machine = Machine::new();
    machine.write("cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
    machine.write("cache/data", "left out");
    machine.write("marked/.nobackup", "");
    machine.write("marked/data", "left out");
    machine.write("full/file", "1");
    machine.backup(&["--exclude-caches", "--exclude-if-present", ".nobackup"]);
    fs::create_dir(machine.source("full/new")).unwrap();
    let restore = |more: &[&str]| {
        let target = machine.path("source");
        let words = ["restore", "--json", &machine.whole(), "-t", target.to_str().unwrap(), "--delete"];
        machine.run(&[&words[..], more].concat()).ok()
    };
    let run = restore(&[]);
    assert!(machine.source("cache/data").exists() && machine.source("marked/data").exists(), "{run}");
    assert!(!machine.source("full/new").exists());
    assert!(number(&restore(&["--delete-excluded"]), "deleted") >= 2);
    assert!(!machine.source("cache/data").exists() && !machine.source("marked/data").exists());
}

#[test]
fn a_dry_run_names_what_would_be_deleted() {
    let machine = Machine::new();
    machine.write("file", "1");
    machine.backup(&[]);
    machine.restore(&[]).ok();
    fs::write(machine.path("out/surplus"), "").unwrap();
    let run = machine.run(&["restore", &machine.whole(), "-t", "out", "--delete", "--dry-run"]).ok();
    assert!(run.err.contains("would delete") && run.err.contains("/surplus"), "{run}");
    assert!(machine.path("out/surplus").exists());
}

#[test]
fn deleting_in_the_root_directory_needs_a_pattern() {
    let machine = Machine::new();
    machine.write("file", "1");
    machine.backup(&[]);
    let run = machine.run(&["restore", "latest", "-t", "/", "--delete", "--dry-run"]).exits(2);
    assert!(run.err.contains("--include"), "{run}");
    let only = format!("{}/**", machine.path("source").display());
    machine.run(&["restore", "latest", "-t", "/", "--delete", "--dry-run", "--include", &only]).ok();
}

#[test]
fn on_a_terminal_what_would_be_deleted_is_shown_and_asked_for() {
    let machine = Machine::new();
    machine.write("file", "1");
    machine.backup(&[]);
    machine.restore(&[]).ok();
    fs::write(machine.path("out/surplus"), "").unwrap();
    fs::write(machine.path("out/file"), "changed").unwrap();
    let (code, screen) = machine.on_terminal(&["restore", &machine.whole(), "-t", "out", "--delete"], "n\n");
    assert!(code == 1 && screen.contains("/surplus") && screen.contains("delete 1 entry"), "{code}: {screen}");
    assert!(machine.path("out/surplus").exists());
    assert_eq!(fs::read(machine.path("out/file")).unwrap(), b"changed", "nothing was written either");
    let (code, screen) = machine.on_terminal(&["restore", &machine.whole(), "-t", "out", "--delete"], "\u{3}");
    assert!(code == 130 && machine.path("out/surplus").exists(), "{code}: {screen}");
    let (code, screen) = machine.on_terminal(&["restore", &machine.whole(), "-t", "out", "--delete", "--yes"], "");
    assert!(code == 0 && !screen.contains("[y/N]") && !machine.path("out/surplus").exists(), "{code}: {screen}");
    fs::write(machine.path("out/surplus"), "").unwrap();
    let (code, screen) = machine.on_terminal(&["restore", &machine.whole(), "-t", "out", "--delete"], "y\n");
    assert!(code == 0 && !machine.path("out/surplus").exists(), "{code}: {screen}");
}

#[test]
fn what_is_mounted_below_the_target_is_no_surplus() {
    let machine = Machine::new();
    machine.write("file", "1");
    machine.backup(&[]);
    machine.restore(&[]).ok();
    fs::create_dir_all(machine.path("out/mounted")).unwrap();
    fs::create_dir(machine.path("disk")).unwrap();
    fs::write(machine.path("disk/precious"), "").unwrap();
    // A bind mount is of the same device: only the kernel knows that it is one. It lies in a name space of its own.
    let mut plain = machine.with_key(&["restore", &machine.whole(), "-t", "out", "--delete"]);
    let script = "mount --bind disk out/mounted && exec \"$0\" \"$@\"";
    let mut inside = std::process::Command::new("unshare");
    inside.args(["-rm", "sh", "-c", script]).arg(plain.get_program()).args(plain.get_args());
    inside.current_dir(machine.path("")).env_clear();
    inside.envs(plain.env("TZ", "UTC").get_envs().filter_map(|(name, value)| Some((name, value?))));
    inside.ran().ok();
    assert!(machine.path("disk/precious").exists());
}
