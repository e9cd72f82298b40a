//! `restore --delete`: what it deletes, what it spares, and whom it asks.

use std::fs;

use crate::kit::{COPAL, Machine, Ran, Run, number, run_by};

#[test]
fn deleting_spares_the_repository_keys_and_caches_that_lie_in_the_target() {
    let machine = Machine::saved([("file", "1"), ("with space/file", "2")]);
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
    machine.write("file", "1");
    machine.backup(&[]);
    assert_eq!(machine.json(&["client", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_file_does_not_take_the_place_of_a_directory_that_holds_the_repository() {
    let machine = Machine::saved([("repository", "a file")]);
    let objects = machine.objects();
    let run = machine.run(&["restore", "--json", &machine.whole(), "-t", ".", "--delete"]).exits(3);
    assert!(run.err.contains("in the way"), "{run}");
    assert!(machine.objects() == objects, "the repository is as it was");
}

#[test]
fn a_file_does_not_take_the_place_of_a_directory_with_what_the_user_leaves_out() {
    let machine = Machine::saved([("d", "a file")]);
    fs::remove_file(machine.source("d")).unwrap();
    machine.write("d/x.keep", "1");
    let target = machine.path("source").display().to_string();
    let delete = ["restore", "--json", &machine.whole(), "-t", &target, "--delete"];
    machine.run(&[&delete[..], &["--exclude", "*.keep"]].concat()).exits(3);
    assert!(machine.source("d/x.keep").exists());
    machine.run(&delete).ok();
    assert_eq!(fs::read(machine.source("d")).unwrap(), b"a file");
}

/// Restores the newest snapshot into its own place, with `--delete`.
fn restore_in_place(machine: &Machine, more: &[&str]) -> Ran {
    let target = machine.path("source");
    let words = ["restore", "--json", &machine.whole(), "-t", target.to_str().unwrap(), "--delete"];
    machine.run(&[&words[..], more].concat()).ok()
}

#[test]
fn what_the_backup_was_told_to_leave_out_stays() {
    let machine = Machine::new();
    machine.write("cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
    machine.write("marked/.nobackup", "");
    machine.write("work/.ignore", "*.tmp");
    // As Python's environments have it: it leaves out itself.
    machine.write("venv/.ignore", "*");
    machine.write("kept/file", "1");
    machine.write("bare/file", "2");
    let left_out = [
        "cache/data",
        "marked/below/data",
        "work/x.tmp",
        "venv/x",
        "kept/a.o",
        "kept/B.LOG",
        "kept/build/x",
        "kept/large",
    ];
    left_out.iter().for_each(|name| machine.write(name, "left out, and larger than others"));
    machine.write("patterns", "# made\nbuild/\n");
    let patterns = machine.path("source/patterns").display().to_string();
    let mut options = vec!["--exclude", "*.o", "--iexclude", "*.log", "--exclude-file", &patterns, "--exclude-caches"];
    options.extend(["--exclude-if-present", ".nobackup", "--ignore-file", ".ignore", "--exclude-larger-than", "64"]);
    machine.write("kept/large", "x".repeat(65));
    machine.backup(&options);
    fs::remove_file(machine.source("bare/file")).unwrap();
    for surplus in ["kept/new", "bare/new"] {
        machine.write(surplus, "surplus");
    }
    let run = restore_in_place(&machine, &[]);
    let is_there = |name: &&str| machine.source(name).exists();
    assert!(left_out.iter().all(is_there), "{run}");
    assert!(!["kept/new", "bare/new"].iter().any(is_there), "{run}");
    for marked in ["source/cache", "source/marked"] {
        assert!(run.err.contains(marked), "{marked} in {}", run.err);
    }
    assert!(number(&restore_in_place(&machine, &["--delete-excluded"]), "deleted") >= left_out.len() as u64);
    assert!(!left_out.iter().any(is_there));
}

#[test]
fn a_directory_that_is_empty_in_the_snapshot_keeps_its_content_only_if_the_backup_may_not_have_seen_it() {
    for (options, stays) in [(&[][..], false), (&["--one-file-system"], true)] {
        let machine = Machine::new();
        fs::create_dir_all(machine.source("empty")).unwrap();
        machine.backup(options);
        machine.write("empty/new", "");
        restore_in_place(&machine, &[]);
        assert_eq!(machine.source("empty/new").exists(), stays, "{options:?}");
    }
}

#[test]
fn a_part_below_an_ignore_file_keeps_what_that_may_have_left_out() {
    let machine = Machine::with([(".ignore", "*.tmp"), ("part/file", "1")]);
    machine.backup(&["--ignore-file", ".ignore"]);
    machine.write("part/x.tmp", "");
    let part = format!("{}/part", machine.whole());
    let target = machine.path("source/part");
    let run = machine.run(&["restore", &part, "-t", target.to_str().unwrap(), "--delete"]).ok();
    assert!(machine.source("part/x.tmp").exists(), "{run}");
}

#[test]
fn nothing_is_deleted_if_the_patterns_of_the_backup_were_too_many_to_record() {
    let machine = Machine::with([("file", "1")]);
    let patterns: String = (0..5_000).map(|at| format!("/nowhere/{at}\n")).collect();
    fs::write(machine.path("patterns"), patterns).unwrap();
    machine.backup(&["--exclude-file", machine.path("patterns").to_str().unwrap()]);
    machine.write("new", "");
    let run = restore_in_place(&machine, &[]);
    assert!(machine.source("new").exists() && run.err.contains("--delete-excluded"), "{run}");
    restore_in_place(&machine, &["--delete-excluded"]);
    assert!(!machine.source("new").exists());
}

#[test]
fn a_file_does_not_take_the_place_of_a_directory_that_may_hold_what_was_left_out() {
    let machine = Machine::with([("entry", "a file")]);
    machine.backup(&["--exclude", "*.o"]);
    fs::remove_file(machine.source("entry")).unwrap();
    machine.write("entry/precious.o", "");
    let target = machine.path("source");
    let words = ["restore", &machine.whole(), "-t", target.to_str().unwrap(), "--delete"];
    let run = machine.run(&words).exits(3);
    assert!(run.err.contains("in the way") && machine.source("entry/precious.o").exists(), "{run}");
    machine.run(&[&words[..], &["--delete-excluded"]].concat()).ok();
    assert!(machine.source("entry").is_file());
}

#[test]
fn a_dry_run_names_what_would_be_deleted() {
    let machine = Machine::saved([("file", "1")]);
    machine.restore(&[]).ok();
    fs::write(machine.path("out/surplus"), "").unwrap();
    let run = machine.run(&["restore", &machine.whole(), "-t", "out", "--delete", "--dry-run"]).ok();
    assert!(run.err.contains("would delete") && run.err.contains("/surplus"), "{run}");
    assert!(machine.path("out/surplus").exists());
}

#[test]
fn deleting_in_the_root_directory_needs_a_pattern() {
    let machine = Machine::saved([("file", "1")]);
    let run = machine.run(&["restore", "latest", "-t", "/", "--delete", "--dry-run"]).exits(2);
    assert!(run.err.contains("--include"), "{run}");
    let only = format!("{}/**", machine.path("source").display());
    machine.run(&["restore", "latest", "-t", "/", "--delete", "--dry-run", "--include", &only]).ok();
}

#[test]
fn on_a_terminal_what_would_be_deleted_is_shown_and_asked_for() {
    let machine = Machine::saved([("file", "1")]);
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
    let machine = Machine::saved([("file", "1")]);
    machine.restore(&[]).ok();
    fs::create_dir_all(machine.path("out/mounted")).unwrap();
    fs::create_dir(machine.path("disk")).unwrap();
    fs::write(machine.path("disk/precious"), "").unwrap();
    // A bind mount is of the same device: only the kernel knows that it is one. It lies in a name space of its own.
    let plain = machine.with_key(&["restore", &machine.whole(), "-t", "out", "--delete"]);
    let script = "mount --bind disk out/mounted && exec \"$0\" \"$@\"";
    run_by("unshare", &["-rm", "sh", "-c", script, COPAL], &plain).ran().ok();
    assert!(machine.path("disk/precious").exists());
}
