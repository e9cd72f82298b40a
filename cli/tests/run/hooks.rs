//! Hooks: programs before and after acts.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::Value;

use super::{HOME, configured, run};
use crate::kit::{Machine, Run, text, until};

/// A machine whose profile `home` has these hooks.
fn hooked(hooks: &str) -> Machine {
    let machine = configured(&format!("{HOME}[profiles.home.hooks]\n{hooks}"));
    machine.write("letter", "1");
    machine
}

/// What the hooks were told, in order: each appends its input to a file.
fn told(machine: &Machine) -> Vec<Value> {
    let lines = fs::read_to_string(machine.path("told")).unwrap_or_default();
    serde_json::Deserializer::from_str(&lines).into_iter().map(Result::unwrap).collect()
}

#[test]
fn hooks_run_around_each_act_and_are_told_what_became_of_it() {
    let all: String = ["backup", "forget", "prune", "check"]
        .map(|act| format!("before-{act} = \"cat >> HEREtold\"\nafter-{act} = [\"tee\", \"-a\", \"HEREtold\"]\n"))
        .concat();
    let machine = hooked(&format!("{all}on-failure = \"cat >> HEREtold\"\n"));
    let ran = machine.command(&["run", "--json"]).env("COPAL_PASSWORD", "correct horse").ran().ok();
    assert_eq!(ran.rows().len(), 1, "what hooks write does not mix with results");
    let told = told(&machine);
    let names: Vec<String> = told.iter().map(|told| text(&told["hook"])).collect();
    let expected = ["backup", "forget", "prune", "check"].map(|act| [format!("before-{act}"), format!("after-{act}")]);
    assert_eq!(names, expected.concat());
    assert_eq!((&told[0]["profile"], &told[0]["exit_code"]), (&"home".into(), &Value::Null));
    assert_eq!((&told[1]["exit_code"], &told[1]["report"]["result"]["files_new"]), (&0.into(), &1.into()));
    assert!(told[1]["report"]["seconds"].as_f64().unwrap() > 0.0, "{}", told[1]);
    assert!(ran.err.contains("\"after-check\""), "what hooks write is on standard error");
}

#[test]
fn nothing_of_secrets_reaches_a_hook() {
    let machine = hooked("before-backup = \"cat >> HEREtold; env >> HEREenv\"\non-failure = \"cat >> HEREtold\"\n");
    let hidden = fs::read_to_string(machine.path("key")).unwrap();
    let run = |variable: &str, value: &str| {
        machine.command(&["run"]).env(variable, value).env("NOTIFY_SOCKET", "/nowhere").ran()
    };
    run("COPAL_PASSWORD", "correct horse").ok();
    run("COPAL_PASSWORD", "wrong horse").exits(12);
    let seen = ["told", "env"].map(|name| fs::read_to_string(machine.path(name)).unwrap()).concat();
    for secret in ["horse", "NOTIFY_SOCKET", hidden.trim()] {
        assert!(!seen.contains(secret), "{secret}");
    }
    assert_eq!(told(&machine).last().unwrap()["hook"], "on-failure");
}

#[test]
fn an_act_whose_hook_fails_is_not_done_and_the_profile_fails() {
    let machine =
        hooked("before-backup = [\"false\"]\nafter-backup = \"cat >> HEREtold\"\non-failure = \"cat >> HEREtold\"\n");
    let ran = run(&machine, &["run", "--json"]).exits(1);
    assert_eq!((ran.rows()[0]["acts"].as_array().unwrap().len(), ran.kind()), (1, "hook".into()));
    assert!(machine.snapshots().is_empty());
    let told = told(&machine);
    assert_eq!((&told[0]["hook"], &told[0]["exit_code"]), (&"after-backup".into(), &1.into()));
    assert_eq!((&told[1]["hook"], &told[1]["report"]["profile"]), (&"on-failure".into(), &"home".into()));
    let machine = hooked("after-backup = [\"false\"]\n");
    assert!(run(&machine, &["run"]).exits(1).text().contains("profile home: backup failed"));
    assert_eq!(machine.snapshots().len(), 1);
    let machine = hooked("before-backup = [\"/nowhere/program\"]\n");
    run(&machine, &["run", "-n"]).ok();
    run(&machine, &["run"]).exits(1);
}

#[test]
fn a_hook_that_others_may_write_or_exchange_is_not_started() {
    let machine = hooked("before-backup = [\"HERElinks/hook\"]\n");
    for directory in ["programs", "links"] {
        fs::create_dir(machine.path(directory)).unwrap();
    }
    fs::write(machine.path("programs/hook"), "#!/bin/sh\ntouch \"$0.ran\"\n").unwrap();
    symlink("../programs/hook", machine.path("links/hook")).unwrap();
    let set = |name: &str, mode| fs::set_permissions(machine.path(name), fs::Permissions::from_mode(mode)).unwrap();
    for name in ["programs/hook", "programs", "links"] {
        set(name, 0o755);
    }
    for name in ["programs/hook", "programs", "links"] {
        set(name, 0o777);
        let told = run(&machine, &["run"]).exits(1);
        assert!(told.err.contains(&format!("{name} may be changed by other users")), "{told}");
        set(name, 0o755);
    }
    assert!(!machine.path("links/hook.ran").exists() && machine.snapshots().is_empty());
    run(&machine, &["run"]).ok();
    assert!(machine.path("links/hook.ran").exists());
}

#[test]
fn a_hook_that_takes_too_long_is_ended_with_all_that_it_started() {
    // The second one is deaf to the request to end.
    for started in ["(touch HEREready; exec sleep 600)", "(trap '' TERM; touch HEREready; exec sleep 600)"] {
        let hook = format!("before-backup = \"{started} & echo $! > HEREpid; wait\"\n");
        let machine = hooked(&format!("timeout = \"4s\"\n{hook}"));
        assert!(run(&machine, &["run"]).exits(1).err.contains("took longer than 4 s"));
        assert!(machine.path("ready").exists(), "the request to end came later");
        let pid: i32 = fs::read_to_string(machine.path("pid")).unwrap().trim().parse().unwrap();
        let stat = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        until(started, || (stat().is_empty() || stat().contains(" Z ")).then_some(()));
    }
}

#[test]
fn an_interrupted_run_still_takes_its_snapshot_away_and_begins_no_other_act() {
    let machine = hooked("before-backup = \"kill -TERM $PPID; cat >> HEREtold\"\nafter-backup = \"cat >> HEREtold\"\n");
    run(&machine, &["run", "--json"]).exits(130);
    let names: Vec<String> = told(&machine).iter().map(|told| text(&told["hook"])).collect();
    assert_eq!(names, ["before-backup", "after-backup"]);
}

#[test]
fn a_hook_that_ends_with_an_interrupted_run_is_no_failure() {
    for hook in ["before-backup", "after-backup"] {
        let ends = format!("{hook} = \"kill -TERM $PPID; sleep 1; exit 1\"\n");
        let machine = hooked(&format!("{ends}on-failure = \"cat >> HEREtold\"\n"));
        let ran = run(&machine, &["run", "--json"]).exits(130);
        assert!(ran.kind() == "interrupted" && ran.err.contains(&format!("hook {hook} failed")), "{ran}");
        assert!(told(&machine).is_empty(), "{hook}");
    }
}
