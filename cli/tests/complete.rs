//! What a shell offers for a half-written command line.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::kit::{COPAL, Machine, Run, text};

/// The values for the last word, as bash is told, for somebody who gives no secret; options are left out.
fn offered(machine: &Machine, words: &[&str]) -> Vec<String> {
    let all = asked(machine, words).env_remove("COPAL_KEY_FILE").ran().ok().lines();
    all.into_iter().filter(|value| !value.starts_with('-')).collect()
}

fn asked(machine: &Machine, words: &[&str]) -> Command {
    let mut command = machine.with_key(&[&["--", "copal"], words].concat());
    command.env("COPAL_COMPLETE", "bash").env("_CLAP_IFS", "\n");
    command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    command
}

/// A machine with a snapshot that has a tag, and another client's that has another.
fn two() -> (Machine, [String; 2]) {
    let machine = Machine::with([("letter", "1")]);
    let own = machine.backup(&["--tag", "gold"]);
    fs::create_dir(machine.path("secret-plans")).unwrap();
    let mut other = machine.with_key(&["backup", "--json", "secret-plans", "--tag", "hidden", "--host", "elsewhere"]);
    let other = other.env("COPAL_STATE_DIR", machine.path("another")).ran().ok().json();
    (machine, [own, text(&other["snapshot_id"])])
}

#[test]
fn snapshots_tags_and_profiles_are_offered_without_a_key() {
    let (machine, ids) = two();
    let [own, other] = ids.each_ref().map(|id| id[..8].to_owned());
    assert_eq!(offered(&machine, &["restore", ""]), ["latest", &other, &own], "a directory tells ids without a key");
    assert_eq!(offered(&machine, &["snapshots", "--tag", ""]), [""; 0], "tags are sealed");
    machine.ok(&["snapshots"]);
    assert_eq!(offered(&machine, &["snapshots", "--tag", ""]), ["gold"]);
    assert_eq!(offered(&machine, &["forget", "--keep-tag", "g"]), ["gold"]);
    assert_eq!(offered(&machine, &["forget", &own[..5]]), std::slice::from_ref(&own));
    // A repository that is not reached, as one behind a network.
    fs::rename(machine.path("repository"), machine.path("away")).unwrap();
    assert_eq!(offered(&machine, &["ls", ""]), ["latest", &other, &own]);
    let kept = machine.path("home/.cache/copal");
    let kept = fs::read_dir(kept).unwrap().map(|entry| entry.unwrap().path().join("snapshots.json"));
    let kept: String = kept.filter_map(|path| fs::read_to_string(path).ok()).collect();
    assert!(kept.contains("gold") && kept.contains("source"), "{kept}");
    assert!(!kept.contains("hidden") && !kept.contains("plans") && !kept.contains("elsewhere"), "{kept}");
    fs::write(machine.path("copal.toml"), "[profiles.home]\nrepository = \"/r\"\n[profiles.host]\n").unwrap();
    assert_eq!(offered(&machine, &["--config", "copal.toml", "--profile", "ho"]), ["home", "host"]);
}

#[test]
fn paths_in_a_snapshot_are_offered_if_a_secret_is_given_and_nothing_is_asked_or_started() {
    let machine = Machine::new();
    for name in ["letter", "deep/er/file", "line\nfeed", "$(touch hit)", "two words"] {
        machine.write(name, "1");
    }
    machine.backup(&[]);
    let paths = |words: &[&str]| asked(&machine, words).ran().ok().lines();
    assert_eq!(paths(&["ls", "latest:"]), ["latest:deep/", "latest:letter"], "nothing that a shell would run");
    assert_eq!(paths(&["dump", "latest:deep/e"]), ["latest:deep/er/"]);
    assert_eq!(paths(&["diff", "latest", "latest:deep/er/"]), ["latest:deep/er/file"]);
    assert!(paths(&["ls", "latest:/"]).len() == 1 && paths(&["ls", "latest:nowhere/"]).is_empty());
    assert_eq!(offered(&machine, &["ls", "latest:"]), [""; 0]);
    // Files of this machine, too: the shell itself completes the others, and quotes them.
    assert_eq!(paths(&["export", "latest", "source/"]), ["source/deep/", "source/letter"]);
    let mut command = asked(&machine, &["--password-command", "touch started; echo correct horse", "ls", "latest:"]);
    assert_eq!(command.env_remove("COPAL_KEY_FILE").ran().ok().text(), "");
    assert!(!machine.path("started").exists());
    let mut command = asked(&machine, &["ls", "latest:"]);
    let ran = command.env_remove("COPAL_KEY_FILE").env("COPAL_PASSWORD", "wrong").ran().ok();
    assert_eq!((ran.text(), ran.err), (String::new(), String::new()));
}

#[test]
fn bash_gets_paths_behind_a_colon() {
    let machine = Machine::saved([("deep/file", "1")]);
    fs::create_dir(machine.path("bin")).unwrap();
    symlink(COPAL, machine.path("bin/copal")).unwrap();
    fs::write(machine.path("script"), machine.ok(&["completions", "bash"])).unwrap();
    let reply = |line: &str, words: &str, at: usize| {
        let asked = format!(
            "COMP_WORDBREAKS=$' \\t\\n\"><=;|&(:'; COMP_LINE='{line}' COMP_POINT={} COMP_WORDS=({words}) COMP_CWORD={at}; \
             . ./script; _copal; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            line.len()
        );
        let mut bash = Command::new("bash");
        bash.envs(machine.with_key(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))));
        let path = format!("{}:{}", machine.path("bin").display(), std::env::var("PATH").unwrap());
        bash.args(["-c", &asked]).current_dir(machine.path("")).env("PATH", path).ran().text()
    };
    assert_eq!(reply("copal ls latest:deep/", "copal ls latest : deep/", 4), "deep/file\n");
    assert_eq!(reply("copal ls latest:", "copal ls latest :", 3), "deep/\n");
    assert_eq!(reply("copal -r repository ls lat", "copal -r repository ls lat", 4), "latest\n");
    assert_eq!(reply("copal comp", "copal comp", 1), "completions\n");
}

#[test]
fn every_shell_gets_a_script_and_only_this_programs_variable_counts() {
    let machine = Machine::bare();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = machine.command(&["completions", shell]).ran().ok().text();
        assert!(script.contains("COPAL_COMPLETE"), "{shell}");
    }
    assert!(machine.command(&["version"]).env("COMPLETE", "bash").ran().ok().text().contains("copal"));
}
