//! What opens a repository, through the command.

use std::process::Command;

use crate::kit::{Harm, Machine, PASSPHRASE, Ran, Run, text};
use serde_json::Value;

fn keys(machine: &Machine) -> Vec<Value> {
    machine.run(&["key", "list", "--json"]).ok().json().as_array().unwrap().clone()
}

fn slot(machine: &Machine, kind: &str) -> String {
    let keys = keys(machine);
    let found = keys.iter().find(|key| key["kind"] == kind);
    text(&found.unwrap_or_else(|| panic!("no {kind} in {keys:?}"))["slot"])
}

fn opens(ran: Ran) {
    ran.ok();
}

fn is_refused(ran: Ran) {
    assert_eq!(ran.exits(12).kind(), "wrong_passphrase");
}

#[test]
fn keys_are_listed_with_the_one_in_use() {
    let machine = Machine::new();
    let keys = keys(&machine);
    let told: Vec<_> = keys.iter().map(|key| (text(&key["kind"]), key["current"].as_bool().unwrap())).collect();
    let expected = [("passphrase", false), ("key_file", true), ("recovery_code", false)];
    assert_eq!(told, expected.map(|(kind, current)| (kind.to_owned(), current)));
    assert!(keys.iter().all(|key| text(&key["slot"]).len() == 32 && text(&key["created"]).starts_with("20")));
    let shown = machine.run(&["key", "list"]).ok().text();
    assert!(shown.contains("passphrase") && shown.contains("recovery code") && shown.contains("in use"), "{shown}");
}

#[test]
fn a_changed_passphrase_opens_and_the_old_one_no_more() {
    let machine = Machine::new();
    let old = slot(&machine, "passphrase");
    write(&machine, "new", "n\u{e9}w\n");
    let changed = machine.run_with(PASSPHRASE, &["key", "change", "--new-password-file", "new", "--json"]).ok().json();
    assert_eq!((text(&changed["removed"]), text(&changed["kind"])), (old, "passphrase".into()));
    assert_eq!(text(&changed["added"]), slot(&machine, "passphrase"));
    // It does not matter how a keyboard writes an accent.
    opens(machine.run_with("ne\u{301}w", &["snapshots"]));
    is_refused(machine.run_with(PASSPHRASE, &["snapshots", "--json"]));
    assert_eq!(machine.names("keys/").len(), 6, "both copies of the old slot are gone");
}

#[test]
fn whoever_forgot_the_passphrase_sets_a_new_one_with_another_key() {
    let machine = Machine::new();
    write(&machine, "new", "new");
    machine.run(&["key", "change", "--new-password-file", "new"]).ok();
    opens(machine.run_with("new", &["snapshots"]));
    is_refused(machine.run_with(PASSPHRASE, &["snapshots", "--json"]));
    write(&machine, "second", "second");
    machine.run(&["key", "add", "--new-password-file", "second"]).ok();
    let which = machine.run(&["key", "change", "--new-password-file", "new", "--json"]).exits(2);
    assert_eq!(which.kind(), "usage", "which of two passphrases is meant cannot be told");
    opens(machine.run_with("second", &["snapshots"]));
}

#[test]
fn a_new_recovery_code_opens_beside_the_old_one_until_it_is_removed() {
    let machine = Machine::new();
    let made = machine.run(&["key", "recovery", "--json"]).ok().json();
    let (code, made) = (text(&made["recovery_code"]), text(&made["slot"]));
    assert!(code.starts_with("copal-recovery-1-"));
    opens(machine.run_with(&code, &["snapshots"]));
    let typed = format!("copal-recovery-1 {}", code["copal-recovery-1-".len()..].to_lowercase().replace('-', " "));
    opens(machine.run_with(&typed, &["snapshots"]));
    let codes = keys(&machine).iter().filter(|key| key["kind"] == "recovery_code").count();
    assert_eq!(codes, 2);
    let removed = machine.run(&["key", "remove", &made[..8], "--json"]).ok().json();
    assert_eq!((text(&removed["removed"]), removed["added"].clone()), (made, Value::Null));
    is_refused(machine.run_with(&code, &["snapshots", "--json"]));
}

#[test]
fn a_mistyped_recovery_code_is_told_from_a_wrong_one() {
    let machine = Machine::new();
    let made = machine.run(&["key", "recovery", "--json"]).ok().json();
    let code = text(&made["recovery_code"]);
    let end = code.chars().last().unwrap();
    let mistyped = format!("{}{}", &code[..code.len() - 1], if end == '7' { '8' } else { '7' });
    let told = machine.run_with(&mistyped, &["snapshots", "--json"]);
    assert!(told.err.contains("typing error"), "{told}");
    is_refused(told);
    write(&machine, "other", "copal-key-1 no");
    is_refused(machine.command(&["snapshots", "--json", "--key-file", "other"]).ran());
}

#[test]
fn keys_have_names_that_the_list_shows_and_only_the_owner_reads() {
    let machine = Machine::new();
    machine.ok(&["key", "add", "--new-key-file", "second", "--name", "old server"]);
    let code = text(&machine.json(&["key", "recovery", "--name", "in the safe"])["recovery_code"]);
    let named = |name: &str| keys(&machine).into_iter().find(|key| key["name"] == name);
    assert_eq!(named("old server").unwrap()["kind"], "key_file");
    assert_eq!(named("in the safe").unwrap()["kind"], "recovery_code");
    assert!(keys(&machine)[0]["name"].is_null());
    let shown = machine.run(&["key", "list"]).ok().text();
    assert!(shown.contains("old server"), "{shown}");
    assert!(machine.objects().values().all(|bytes| !bytes.windows(6).any(|window| window == b"server")));
    let slot = format!("keys/{}", text(&named("old server").unwrap()["slot"]));
    assert_eq!(machine.json(&["cat", &slot])["name"], "old server");
    machine.ok(&["key", "remove", "old server"]);
    assert_eq!(named("old server"), None);
    // A code without its prefix, as somebody types it from paper.
    let typed = code["copal-recovery-1-".len()..].to_lowercase().replace('-', " ").replace('0', "o");
    opens(machine.run_with(&typed, &["snapshots"]));
    let long = "n".repeat(101);
    assert_eq!(machine.run(&["key", "recovery", "--name", &long, "--json"]).exits(2).kind(), "usage");
}

#[test]
fn a_new_passphrase_keeps_the_name_of_the_old_one() {
    let machine = Machine::new();
    write(&machine, "first", "first");
    write(&machine, "second", "second");
    machine.ok(&["key", "add", "--new-password-file", "first", "--name", "mine"]);
    machine.run_with("first", &["key", "change", "--new-password-file", "second"]).ok();
    opens(machine.run_with("second", &["snapshots"]));
    let named: Vec<_> = keys(&machine).into_iter().filter(|key| key["name"] == "mine").collect();
    assert!(named.len() == 1 && named[0]["kind"] == "passphrase", "{named:?}");
}

#[test]
fn the_key_in_use_is_not_removed_and_so_never_the_last() {
    let machine = Machine::new();
    let in_use = slot(&machine, "key_file");
    let refused = machine.run(&["key", "remove", &in_use, "--json"]).exits(1);
    assert_eq!(refused.kind(), "key_in_use");
    assert!(refused.err.contains("another key"), "{refused}");
    for kind in ["passphrase", "recovery_code"] {
        machine.run(&["key", "remove", &slot(&machine, kind)]).ok();
    }
    let last = machine.run(&["key", "remove", &in_use, "--json"]).exits(1);
    assert!(last.kind() == "key_in_use" && last.err.contains("the only one"), "{last}");
    assert_eq!(keys(&machine).len(), 1);
}

#[test]
fn a_key_to_be_removed_is_named_by_digits_that_only_it_has() {
    let machine = Machine::new();
    assert_eq!(machine.run(&["key", "remove", "xyz", "--json"]).exits(1).kind(), "no_object");
    assert_eq!(machine.run(&["key", "remove", "", "--json"]).exits(2).kind(), "usage");
    let id = slot(&machine, "passphrase");
    assert_eq!(machine.run(&["key", "remove", &id[..3], "--json"]).exits(1).kind(), "no_object", "too few");
    assert_eq!(keys(&machine).len(), 3);
    machine.ok(&["key", "add", "--new-key-file", "second", "--name", &id[..4]]);
    machine.ok(&["key", "remove", &id[..4]]);
    assert_eq!(slot(&machine, "passphrase"), id, "a name counts before digits");
    machine.ok(&["key", "remove", &id[..4]]);
    assert_eq!(keys(&machine).len(), 2);
}

#[test]
fn a_new_key_file_opens_and_replaces_no_file() {
    let machine = Machine::new();
    let added = machine.run(&["key", "add", "--new-key-file", "second", "--json"]).ok().json();
    assert_eq!((text(&added["kind"]), added["removed"].clone()), ("key_file".into(), Value::Null));
    opens(machine.command(&["snapshots", "--key-file", "second"]).ran());
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(machine.path("second")).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let before = std::fs::read(machine.path("second")).unwrap();
    machine.run(&["key", "add", "--new-key-file", "second"]).exits(1);
    let inside = machine.object("keyfile");
    let refused = machine.run(&["key", "add", "--new-key-file", inside.to_str().unwrap(), "--json"]).exits(1);
    assert!(refused.kind() == "inside_repository" && !inside.exists(), "it would lie beside what it opens: {refused}");
    assert_eq!(std::fs::read(machine.path("second")).unwrap(), before);
    assert_eq!(keys(&machine).len(), 4);
}

#[test]
fn a_new_passphrase_must_be_given_somehow_and_not_be_empty() {
    let machine = Machine::new();
    write(&machine, "empty", "\n");
    assert_eq!(machine.run(&["key", "add", "--new-password-file", "empty", "--json"]).exits(1).kind(), "secret");
    assert_eq!(machine.run(&["key", "add", "--new-password-file", "nowhere", "--json"]).exits(1).kind(), "secret");
    assert_eq!(keys(&machine).len(), 3);
}

#[test]
fn a_wrong_passphrase_beside_a_damaged_slot_is_told_as_either() {
    let machine = Machine::new();
    write(&machine, "second", "another\n");
    machine.run(&["key", "add", "--new-password-file", "second"]).ok();
    let damaged = slot(&machine, "passphrase");
    ["a", "b"].iter().for_each(|copy| machine.flip(&format!("keys/{damaged}/{copy}"), 50));
    let told = machine.run_with("mistyped", &["snapshots"]).exits(4);
    assert!(
        told.err.contains(&format!("keys/{damaged}")) && told.err.contains("what was given may also be wrong"),
        "{told}"
    );
}

#[test]
fn one_whole_copy_of_a_key_is_enough_and_the_other_is_told() {
    let machine = Machine::new();
    let slot = slot(&machine, "key_file");
    machine.flip(&format!("keys/{slot}/a"), 50);
    let told = machine.run(&["key", "list", "--json"]).exits(4);
    assert!(told.err.contains(&format!("keys/{slot}/a is damaged")), "{told}");
    assert_eq!(told.json().as_array().unwrap().len(), 3);
    machine.damage(&format!("keys/{slot}/a"), Harm::Delete);
    let told = machine.run(&["key", "list"]).exits(4);
    assert!(told.err.contains("it is missing"), "{told}");
}

#[test]
fn a_key_under_another_ones_name_is_told() {
    let machine = Machine::new();
    let (one, other) = (slot(&machine, "passphrase"), slot(&machine, "recovery_code"));
    let path = |slot: &str| machine.path("repository").join(format!("keys/{slot}/b"));
    std::fs::remove_file(path(&one)).unwrap();
    std::fs::copy(path(&other), path(&one)).unwrap();
    let told = machine.run(&["key", "list"]).exits(4);
    assert!(told.err.contains(&format!("holds key slot {other}")), "{told}");
}

#[test]
fn a_recovery_code_is_shown_also_if_the_machine_cannot_be_registered() {
    let machine = Machine::bare();
    write(&machine, "state", "no directory");
    let mut command = machine.command(&["init"]);
    let ran = command.env("COPAL_PASSWORD", PASSPHRASE).env("COPAL_STATE_DIR", machine.path("state")).ran();
    assert_ne!(ran.code, 0, "{ran}");
    let code = ran.err.split_whitespace().find(|word| word.starts_with("copal-recovery-1-"));
    opens(machine.run_with(code.unwrap_or_else(|| panic!("{ran}")), &["snapshots"]));
}

#[test]
fn a_new_recovery_code_that_nobody_reads_is_told_on_standard_error() {
    let machine = Machine::new();
    let ran = unread(&mut machine.with_key(&["key", "recovery"])).exits(1);
    let code = ran.err.split_whitespace().find(|word| word.starts_with("copal-recovery-1-"));
    opens(machine.run_with(code.unwrap_or_else(|| panic!("{ran}")), &["snapshots"]));
}

/// Runs a command whose standard output nobody reads any more.
pub(crate) fn unread(command: &mut Command) -> Ran {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Ran::of(command.stdout(writer).output().unwrap())
}

/// Writes a file beside the repository.
fn write(machine: &Machine, name: &str, content: &str) {
    std::fs::write(machine.path(name), content).unwrap();
}

#[test]
fn a_slot_that_asks_for_much_or_is_anothers_is_not_tried_unasked() {
    for (plant, why) in [(Plant::Memory, "asks for 2048 MiB of memory"), (Plant::Repository, "another repository")] {
        let machine = Machine::new();
        plant_slot(&machine, plant);
        opens(machine.run_with(PASSPHRASE, &["snapshots"]));
        let refused = machine.run_with("wrong", &["snapshots"]).exits(1);
        assert!(refused.err.contains(why) && refused.err.contains("--unlock-memory"), "{refused}");
        let refused = machine.run_with("wrong", &["snapshots", "--json", "--unlock-memory", "1M"]).exits(1);
        assert_eq!(refused.kind(), "costly_slot");
        // Slots that cost nothing need no answer.
        machine.run(&["snapshots"]).ok();
    }
    let machine = Machine::new();
    plant_slot(&machine, Plant::Repository);
    is_refused(machine.run_with("wrong", &["snapshots", "--json", "--unlock-memory", "1G"]));
}

#[derive(Copy, Clone)]
enum Plant {
    /// It asks for 2 GiB.
    Memory,
    /// It says to be another repository's.
    Repository,
}

/// Puts a slot before all others, made of the passphrase's without knowing the passphrase.
fn plant_slot(machine: &Machine, plant: Plant) {
    let id = slot(machine, "passphrase");
    let mut stored = machine.objects()[&format!("keys/{id}/a")].clone();
    stored.truncate(stored.len() - 32);
    let bytes = |hex: &str| (0..16).map(|at| u8::from_str_radix(&hex[2 * at..][..2], 16).unwrap()).collect::<Vec<_>>();
    let at = put(&mut stored, &bytes(&id), &[0; 16]);
    match plant {
        Plant::Memory => drop(put(&mut stored, &[0x1a, 0, 1, 0, 0], &[0x1a, 0, 0x20, 0, 0])),
        // Behind the slot's id: the next key of the header, and 16 bytes.
        Plant::Repository => stored[at + 18..at + 34].fill(1),
    }
    stored.extend(copal_format::id::ObjectHash::of(&stored).0);
    machine.replace(&format!("keys/{}/a", "0".repeat(32)), &stored);
}

/// Puts bytes in the place of others; gives where.
fn put(stored: &mut [u8], old: &[u8], new: &[u8]) -> usize {
    let at = stored.windows(old.len()).position(|window| window == old).unwrap();
    stored[at..at + new.len()].copy_from_slice(new);
    at
}
