//! `run` and `config`: profiles, done by the real command.

mod dashboard;
mod hooks;
mod notice;
mod otlp;
mod snapshots;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;

use crate::kit::{Machine, Ran, Run, text};

/// A machine with a configuration: `HERE` stands for its directory.
fn configured(profiles: &str) -> Machine {
    let machine = Machine::new();
    configure(&machine, profiles);
    machine
}

fn configure(machine: &Machine, profiles: &str) {
    let path = machine.path("home/.config/copal/copal.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, profiles.replace("HERE", &machine.path("").display().to_string())).unwrap();
    for closed in [&path, path.parent().unwrap(), &machine.path("home/.config"), &machine.path("home")] {
        let mode = fs::metadata(closed).unwrap().permissions().mode();
        fs::set_permissions(closed, fs::Permissions::from_mode(mode & !0o022)).unwrap();
    }
}

/// A command that has nothing but the configuration.
fn run(machine: &Machine, arguments: &[&str]) -> Ran {
    machine.command(arguments).env_remove("COPAL_REPOSITORY").ran()
}

const HOME: &str = "[profiles.base]\nrepository = \"HERErepository\"\nkey-file = \"HEREkey\"\n\
                    [profiles.home]\nuse = \"base\"\n[profiles.home.backup]\npaths = [\"HEREsource\"]\nexclude = [\"*.o\"]\ntag = \"nightly\"\n\
                    [profiles.home.forget]\nkeep-last = 1\n[profiles.home.prune]\n[profiles.home.check]\nread-data = true\n";

#[test]
fn a_run_saves_forgets_prunes_and_checks_as_its_profile_says() {
    let machine = configured(HOME);
    machine.write("letter", "1");
    machine.write("a.o", "2");
    run(&machine, &["run"]).ok();
    let told = run(&machine, &["run", "home", "--json"]).ok();
    let report = told.json();
    assert_eq!((&report["profile"], &report["exit_code"]), (&"home".into(), &0.into()));
    let acts: Vec<String> = report["acts"].as_array().unwrap().iter().map(|act| text(&act["act"])).collect();
    assert_eq!(acts, ["backup", "forget", "prune", "check"]);
    assert_eq!(
        (&report["acts"][0]["result"]["files_unmodified"], &report["acts"][1]["result"]["forgotten"]),
        (&1.into(), &1.into())
    );
    assert_eq!(
        (&report["acts"][3]["result"]["ok"], &report["acts"][1]["result"]["snapshots"]),
        (&true.into(), &serde_json::Value::Null)
    );
    assert_eq!(machine.snapshots_that(&["--tag", "nightly"]).len(), 1);
    assert!(!machine.ok(&["ls", "-R", "latest"]).contains("a.o"));
    let told = run(&machine, &["run"]).ok().text();
    assert!(told.contains("profile home: backup, forget, prune, check done in"), "{told}");
    assert_eq!(run(&machine, &["run", "-q"]).ok().text(), "");
}

#[test]
fn a_profile_copies_to_a_replica_or_to_a_repository_with_other_keys() {
    let away = "[profiles.away]\nuse = \"base\"\n[profiles.away.copy]\nto = \"HEREoffsite\"\nto-password-file = \"HEREsecret\"\n";
    let both = format!("{HOME}[profiles.home.copy]\nto = \"HEREreplica\"\n{away}");
    let machine = configured(&format!("{both}host = \"nobody\"\n"));
    machine.write("letter", "1");
    fs::write(machine.path("secret"), "another one").unwrap();
    let offsite = |arguments: &[&str]| machine.run_with("another one", &[&["-r", "offsite"], arguments].concat());
    let count = |told: String| told.matches("\"id\"").count();
    let in_replica = || count(machine.ok(&["-r", "replica", "snapshots", "--json"]));
    let in_offsite = || count(offsite(&["snapshots", "--json"]).ok().text());
    offsite(&["init"]).ok();
    let failed = run(&machine, &["run", "home", "--json"]).exits(10).json();
    let acts: Vec<String> = failed["acts"].as_array().unwrap().iter().map(|act| text(&act["act"])).collect();
    assert_eq!(acts, ["backup", "copy"], "what is not copied is not forgotten");

    machine.ok(&["-r", "replica", "init", "--copy-keys-from", "repository"]);
    let dry = run(&machine, &["run", "--dry-run", "home", "--json"]).ok().json();
    assert_eq!((&dry["acts"][1]["act"], &dry["acts"][1]["result"]["dry_run"]), (&"copy".into(), &true.into()));
    assert_eq!(in_replica(), 0);
    run(&machine, &["run", "home"]).ok();
    assert_eq!((in_replica(), machine.snapshots().len()), (2, 1), "it copies before it forgets");

    run(&machine, &["run", "away"]).ok();
    assert_eq!(in_offsite(), 0, "its keys choose snapshots");
    configure(&machine, &both);
    let lacks = || machine.json(&["status"])["copies"][0]["snapshots_missing"].clone();
    assert_eq!(lacks(), 0, "nothing was chosen");
    run(&machine, &["run", "away"]).ok();
    assert_eq!(in_offsite(), 1);
    machine.write("letter", "22");
    machine.ok(&["backup", "source"]);
    assert_eq!(lacks(), 1);

    fs::write(machine.path("wrong"), "of something else").unwrap();
    configure(&machine, &both.replace("HEREsecret", "HEREwrong"));
    run(&machine, &["run", "away"]).exits(12);
    for (name, value) in [("COPAL_TO_PASSWORD", "another one"), ("COPAL_TO_PASSWORD_FILE", "secret")] {
        let mut told = machine.command(&["run", "away"]);
        told.env_remove("COPAL_REPOSITORY").env(name, value).ran().ok();
        assert_eq!(in_offsite(), 2, "{name} counts before the file");
    }
}

#[test]
fn rules_of_a_profile_are_for_what_it_saves() {
    let machine = configured(HOME);
    machine.write("letter", "1");
    fs::create_dir(machine.path("other")).unwrap();
    for path in
        [&["other"][..], &["other"], &["source", "other"], &["source", "--label", "x"], &["source", "--host", "y"]]
    {
        machine.ok(&[&["backup"], path].concat());
    }
    run(&machine, &["run"]).ok();
    run(&machine, &["run"]).ok();
    assert_eq!(machine.snapshots().len(), 6, "one of the profile's two is forgotten, none of the others");
}

#[test]
fn rules_never_reach_further_because_they_are_taken_over_or_narrowed() {
    let base = "[profiles.base]\nrepository = \"HERErepository\"\nkey-file = \"HEREkey\"\n";
    let rules = "[profiles.base.forget]\nkeep-last = 1\n";
    let home = "[profiles.home]\nuse = \"base\"\n[profiles.home.backup]\npaths = [\"HEREsource\"]\n";
    let weekly = "[profiles.weekly]\nuse = \"base\"\n[profiles.weekly.check]\n";
    let machine = configured(&[base, rules, home, weekly].concat());
    machine.write("letter", "1");
    for _ in 0..3 {
        machine.ok(&["backup", "source", "--host", "archive"]);
    }
    let told = run(&machine, &["run", "weekly"]).ok().text();
    assert!(told.contains("profile weekly: check done"), "{told}");
    // A profile that nobody uses any more, with rules of its own.
    configure(&machine, &[base, rules].concat());
    let told = run(&machine, &["run"]).exits(2).err.clone();
    assert!(told.contains("line 4") && told.contains("say whose"), "{told}");
    // A time narrows what the profile has saved.
    configure(&machine, &[base, rules, "before = \"0d\"\n", home].concat());
    run(&machine, &["run"]).ok();
    run(&machine, &["run"]).ok();
    assert_eq!(machine.snapshots_that(&["--host", "archive"]).len(), 3);
}

#[test]
fn a_profile_whose_rules_match_nothing_forgets_nothing() {
    let machine = configured(&HOME.replace("keep-last = 1", "keep-tag = \"relaese\""));
    machine.write("letter", "1");
    run(&machine, &["run"]).ok();
    let told = run(&machine, &["run"]).ok();
    assert!(told.err.contains("no rule keeps anything") && machine.snapshots().len() == 2, "{told}");
}

#[test]
fn who_reads_no_longer_neither_hides_a_failure_nor_stops_other_profiles() {
    let machine = configured(
        "[profiles.a]\nrepository = \"HEREgone\"\nkey-file = \"HEREkey\"\n[profiles.a.check]\n\
         [profiles.b]\nrepository = \"HERErepository\"\nkey-file = \"HEREkey\"\n[profiles.b.backup]\npaths = [\"HEREsource\"]\n",
    );
    machine.write("letter", "1");
    let mut command = machine.command(&["run"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = command.env_remove("COPAL_REPOSITORY").stdout(writer).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(10), "as without a reader");
    assert_eq!(machine.snapshots().len(), 1);
}

#[test]
fn a_profile_that_fails_ends_and_the_next_one_follows() {
    let machine = configured(&format!(
        "{HOME}[profiles.a]\nuse = \"base\"\n[profiles.a.backup]\npaths = [\"HEREnowhere\"]\n[profiles.a.forget]\nkeep-last = 1\n\
         [profiles.b]\nuse = \"base\"\nrepository = \"HEREgone\"\n[profiles.b.backup]\npaths = [\"HEREsource\"]\n"
    ));
    let told = run(&machine, &["run", "--json"]).exits(10);
    let rows = told.rows();
    let ended: Vec<(String, u64, usize)> = rows
        .iter()
        .map(|row| (text(&row["profile"]), row["exit_code"].as_u64().unwrap(), row["acts"].as_array().unwrap().len()))
        .collect();
    assert_eq!(ended, [("a".into(), 1, 1), ("b".into(), 10, 1), ("home".into(), 0, 4)]);
    assert_eq!(rows[0]["acts"][0]["error"]["kind"], "no_such_path");
    let told = run(&machine, &["run", "a", "home"]).exits(1).text();
    assert!(
        told.contains("profile a: backup failed (exit code 1): ") && told.contains("profile home: backup"),
        "{told}"
    );
}

#[test]
fn what_the_command_line_and_the_environment_say_counts_before_the_file() {
    let machine = configured(HOME);
    machine.write("letter", "1");
    let command = |arguments: &[&str]| machine.command(arguments);
    command(&["run", "-r", "elsewhere"]).ran().exits(10);
    command(&["run"]).env("COPAL_REPOSITORY", "elsewhere").ran().exits(10);
    command(&["run"]).env("COPAL_PASSWORD", "another").ran().exits(12);
    command(&["run", "--password-command", "echo correct horse"]).ran().ok();
    command(&["run", "--password-command", "echo wrong"]).env("COPAL_KEY_FILE", machine.path("key")).ran().exits(12);
    assert_eq!(machine.snapshots_that(&["--host", "laptop"]).len(), 1);
    let told = command(&["run", "-n", "--json"]).ran().ok().json();
    assert_eq!((&told["dry_run"], told["acts"].as_array().unwrap().len()), (&true.into(), 3));
    assert_eq!(machine.snapshots().len(), 1);
}

#[test]
fn a_profile_gives_its_repository_and_key_to_every_command() {
    let machine = configured(HOME);
    machine.write("letter", "1");
    run(&machine, &["run"]).ok();
    let rows = run(&machine, &["--profile", "home", "snapshots", "--json"]).ok().json();
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert!(run(&machine, &["--profile", "nobody", "snapshots"]).exits(2).err.contains("has no profile \"nobody\""));
}

#[test]
fn a_profile_is_never_run_twice_at_a_time() {
    let stream = "[profiles.base]\nrepository = \"HERErepository\"\nkey-file = \"HEREkey\"\n[profiles.slow]\nuse = \"base\"\n\
                  [profiles.slow.backup]\nstdin-from-command = \"echo begun > HEREbegun; cat HEREgo\"\n";
    let machine = configured(stream);
    rustix::fs::mknodat(rustix::fs::CWD, machine.path("go"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let mut first = machine.command(&["run"]).stdout(Stdio::piped()).spawn().unwrap();
    while !machine.path("begun").exists() {
        assert!(first.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let second = run(&machine, &["run", "--json"]).exits(11);
    assert_eq!((&second.json()["error"]["kind"], second.kind()), (&"busy".into(), "busy".into()));
    assert!(run(&machine, &["run"]).exits(11).err.contains("profile \"slow\" is being run already"));
    fs::write(machine.path("go"), "done").unwrap();
    assert!(first.wait().unwrap().success());
    assert_eq!(machine.snapshots().len(), 1);
}

#[test]
fn a_dry_run_takes_no_lock_and_waits_for_none() {
    let machine = configured(HOME);
    machine.write("letter", "1");
    run(&machine, &["run"]).ok();
    let lock = fs::File::open(machine.path("home/.local/state/copal/run/home.lock")).unwrap();
    lock.lock().unwrap();
    run(&machine, &["run", "-n"]).ok();
    run(&machine, &["run"]).exits(11);
}

#[test]
fn a_lock_that_is_a_link_to_somewhere_else_is_not_followed() {
    let machine = configured(HOME);
    let state = machine.path("home/.local/state/copal/run");
    fs::create_dir_all(&state).unwrap();
    symlink(machine.path("victim"), state.join("home.lock")).unwrap();
    let told = run(&machine, &["run"]).exits(1);
    assert!(told.err.contains("cannot lock") && !machine.path("victim").exists(), "{told}");
}

#[test]
fn a_configuration_that_others_may_write_is_not_used() {
    let machine = configured(HOME);
    let file = machine.path("home/.config/copal/copal.toml");
    let set = |place: &std::path::Path, mode| fs::set_permissions(place, fs::Permissions::from_mode(mode)).unwrap();
    for (place, open, closed) in
        [(&file, 0o664, 0o644), (&file, 0o646, 0o600), (&machine.path("home/.config"), 0o777, 0o755)]
    {
        set(place, open);
        let told = run(&machine, &["run"]).exits(2);
        assert!(told.err.contains("may be changed by other users") && told.err.contains("chmod go-w"), "{told}");
        assert_eq!(run(&machine, &["config", "check", "--json"]).exits(2).kind(), "config");
        set(place, closed);
        run(&machine, &["config", "check"]).ok();
    }
    // Who may write to a directory may replace a link in it.
    fs::create_dir(machine.path("links")).unwrap();
    symlink(&file, machine.path("links/copal.toml")).unwrap();
    set(&machine.path("links"), 0o777);
    let by_link = ["config", "check", "--config", "links/copal.toml"];
    let told = run(&machine, &by_link).exits(2);
    assert!(told.err.contains("links may be changed by other users"), "{told}");
    set(&machine.path("links"), 0o755);
    run(&machine, &by_link).ok();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&file, Some(65_534), None).unwrap();
        assert!(run(&machine, &["run"]).exits(2).err.contains("may be changed by other users"));
    }
    assert!(machine.snapshots().is_empty());
}

#[test]
fn a_configuration_is_looked_for_checked_shown_and_explained() {
    let machine = Machine::new();
    let told = run(&machine, &["run"]).exits(2);
    assert!(
        told.err.contains(".config/copal/copal.toml nor /etc/copal/copal.toml") && told.err.contains("config example"),
        "{told}"
    );
    let example = run(&machine, &["config", "example"]).ok().text();
    fs::write(machine.path("named.toml"), &example).unwrap();
    let checked = run(&machine, &["config", "check", "--config", "named.toml"]).ok().text();
    assert!(checked.contains("profile machine: backup, forget, prune, check"), "{checked}");
    let checked = machine.command(&["config", "check", "--json"]).env("COPAL_CONFIG", "named.toml").ran().ok().json();
    assert_eq!(checked["profiles"][0]["acts"][0], "backup");
    assert_eq!(checked["missing"][0]["key"], "key-file", "{checked}");
    configure(&machine, "");
    assert!(run(&machine, &["config", "check"]).ok().text().contains("no profile"));
    configure(&machine, HOME);
    let shown = run(&machine, &["config", "show", "home"]).ok().text();
    assert!(shown.contains("[profiles.home.backup]\nexclude = [\"*.o\"]") && shown.contains("key-file"), "{shown}");
    configure(&machine, "[profiles.home]\n\n[profiles.home.backup]\npathes = []\n");
    let told = run(&machine, &["config", "check"]).exits(2);
    assert!(told.err.contains("copal.toml, line 4: unknown key \"pathes\""), "{told}");
    configure(&machine, "[profiles.home]\npassword = \"hunter2\"\n");
    let told = run(&machine, &["run"]).exits(2);
    assert!(told.err.contains("line 2: password must not stand here") && !told.err.contains("hunter2"), "{told}");
}
