//! Jobs that a machine orders over ssh: they run beside the repository, without a key.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::{fake_ssh, script};
use crate::kit::{Harm, Machine, Ran, Run, Running, noise, number, texts, until};
use crate::managed::world::managed;

/// A command of a machine that reaches the repository of another by ssh alone.
fn over(ssh: &PathBuf, owner: &Machine, machine: &Machine, words: &[&str]) -> Command {
    let mut command = machine.command(words);
    let url = format!("ssh://me@host{}", owner.path("repository").display());
    command.env("COPAL_REPOSITORY", url).env("COPAL_SSH", ssh);
    command
}

/// The same, by whoever holds the key file.
fn with_key(ssh: &PathBuf, owner: &Machine, words: &[&str]) -> Ran {
    over(ssh, owner, owner, words).env("COPAL_KEY_FILE", owner.path("key")).ran()
}

/// A repository of which more than 300,000 bytes are forgotten.
fn forgotten() -> Machine {
    let machine = Machine::saved([("large", noise(1, 300_000))]);
    machine.remove("large");
    machine.write("small", "small");
    machine.backup(&[]);
    machine.ok(&["forget", "--keep-last", "1"]);
    machine
}

fn let_prune_free_at_once(machine: &Machine) {
    machine.set_policy("keep-last = 9\ngrace = \"0s\"\n");
}

#[test]
fn a_prune_over_ssh_frees_room_and_neither_machine_holds_a_key() {
    let (owner, keyless) = (forgotten(), Machine::bare());
    let ssh = fake_ssh(&owner);
    let prune = |words: &[&str]| over(&ssh, &owner, &keyless, &[&["prune", "--json"], words].concat()).ran();
    let before = owner.names("packs/");
    let flagged = prune(&[]).ok();
    assert!(number(&flagged, "bytes_pending") > 300_000 && number(&flagged, "bytes_freed") == 0, "{flagged}");
    let short = prune(&["--keyless", "--grace", "0s"]).exits(1);
    assert!(short.kind() == "not_permitted" && short.err.contains("86400 s"), "{short}");
    let tried = prune(&["--keyless", "--grace", "0s", "--dry-run"]).ok();
    assert!(number(&tried, "bytes_freed") > 300_000, "{tried}");
    assert_eq!(owner.names("packs/"), before, "nothing is deleted so far");
    let_prune_free_at_once(&owner);
    let freed = prune(&[]).ok();
    assert!(number(&freed, "bytes_freed") > 300_000 && number(&freed, "packs_deleted") >= 1, "{freed}");
    assert_ne!(owner.names("packs/"), before);
    assert_eq!(owner.check(&["--full"]).0, 0);
}

#[test]
fn a_machine_that_has_met_a_newer_state_orders_no_prune() {
    let owner = forgotten();
    let ssh = fake_ssh(&owner);
    with_key(&ssh, &owner, &["snapshots"]).ok();
    // Roots are named so that the newest comes first.
    fs::remove_file(owner.object(&owner.names("roots/")[0])).unwrap();
    let before = owner.names("packs/");
    let refused = over(&ssh, &owner, &owner, &["prune", "--keyless", "--json"]).ran().exits(4);
    assert_eq!(refused.kind(), "older_state", "{refused}");
    over(&ssh, &owner, &owner, &["check", "--json"]).ran().exits(4);
    assert_eq!(owner.names("packs/"), before);
}

#[test]
fn the_owner_may_shorten_the_grace_period_over_ssh() {
    let owner = forgotten();
    let ssh = fake_ssh(&owner);
    let freed = with_key(&ssh, &owner, &["prune", "--grace", "0s", "--json"]).ok();
    assert!(number(&freed, "bytes_freed") > 300_000, "{freed}");
    assert_eq!(owner.check(&["--full"]).0, 0);
}

#[test]
fn forget_with_prune_over_ssh_forgets_and_frees() {
    let owner = Machine::new();
    let_prune_free_at_once(&owner);
    let ssh = fake_ssh(&owner);
    owner.write("large", noise(1, 300_000));
    with_key(&ssh, &owner, &["backup", "source"]).ok();
    owner.remove("large");
    owner.write("small", "small");
    with_key(&ssh, &owner, &["backup", "source"]).ok();
    let before = owner.names("packs/");
    let done = with_key(&ssh, &owner, &["forget", "--keep-last", "1", "--prune"]).ok();
    assert!(done.text().contains("1 snapshot kept, 1 forgotten") && done.text().contains(" deleted ("), "{done}");
    assert!(before.iter().any(|pack| !owner.names("packs/").contains(pack)), "{done}");
    assert_eq!((owner.snapshots().len(), owner.check(&["--full"]).0), (1, 0));
}

#[test]
fn a_check_over_ssh_finds_the_same_damage_as_beside_the_repository() {
    let (owner, keyless) = (Machine::new(), Machine::bare());
    let ssh = fake_ssh(&owner);
    owner.write("noise", noise(1, 300_000));
    owner.backup(&[]);
    let check = |words: &[&str]| over(&ssh, &owner, &keyless, &[&["check", "--json"], words].concat()).ran();
    let whole = check(&["--read-data"]).ok();
    assert_eq!((whole.json()["ok"].as_bool(), number(&whole, "packs_read")), (Some(true), 2));
    let [pack] = owner.packs(0).try_into().expect("one pack of data");
    owner.damage(&pack, Harm::Flip);
    check(&[]).ok();
    assert_eq!(number(&check(&["--read-data-share", "1/2"]), "packs_read"), 1);
    let found = check(&["--read-data"]).exits(4).json();
    let here = owner.run(&["check", "--read-data", "--json"]).exits(4).json();
    assert_eq!(texts(&found["errors"], "object"), [pack]);
    assert_eq!(texts(&found["errors"], "object"), texts(&here["errors"], "object"));
    assert_eq!(found["errors"][0]["snapshots"], here["errors"][0]["snapshots"]);
}

#[test]
fn an_ingest_over_ssh_decides_about_what_waits() {
    let (owner, keyless) = (managed(), Machine::bare());
    let ssh = fake_ssh(&owner);
    owner.write("letter", "Dear reader");
    owner.run(&["backup", "source", "--no-wait"]);
    assert_eq!(owner.snapshots().len(), 0);
    let ingest = || over(&ssh, &owner, &keyless, &["ingest", "--json"]).ran().ok();
    let first = ingest();
    assert_eq!((number(&first, "accepted"), number(&first, "rejected"), number(&first, "waiting")), (1, 0, 0));
    assert_eq!((number(&ingest(), "accepted"), owner.snapshots().len()), (0, 1));
}

#[test]
fn a_login_whose_command_is_forced_orders_no_jobs_and_checks_by_reading_itself() {
    let owner = forgotten();
    let_prune_free_at_once(&owner);
    let repository = owner.path("repository").display().to_string();
    let forced = script(&owner, "forced", &format!("exec \"$copal\" serve --stdio --repository '{repository}'"));
    let before = owner.names("packs/");
    for words in [&["prune", "--json"][..], &["ingest", "--json"], &["forget", "latest", "--prune", "--json"]] {
        let refused = with_key(&forced, &owner, words).exits(1);
        assert!(refused.kind() == "not_permitted" && refused.err.contains("--jobs"), "{refused}");
    }
    assert_eq!(owner.names("packs/"), before);
    with_key(&forced, &owner, &["prune", "--dry-run"]).ok();
    let check = with_key(&forced, &owner, &["check", "--read-data"]).ok();
    assert!(check.err.contains("this machine reads everything itself"), "{check}");
    let allowed =
        script(&owner, "allowed", &format!("exec \"$copal\" serve --stdio --jobs --repository '{repository}'"));
    with_key(&allowed, &owner, &["prune"]).ok();
    assert_ne!(owner.names("packs/"), before);
}

#[test]
fn a_write_only_machine_orders_no_jobs() {
    let (owner, camera) = (forgotten(), Machine::bare());
    let ssh = fake_ssh(&owner);
    let_prune_free_at_once(&owner);
    let line = with_key(&ssh, &owner, &["client", "add", "--name", "camera", "--role", "write-only"]).ok().text();
    fs::write(camera.path("line"), line).unwrap();
    over(&ssh, &owner, &camera, &["client", "join", "line"]).ran().ok();
    let before = owner.names("packs/");
    for words in [&["prune", "--json"][..], &["check", "--json"], &["ingest", "--json"]] {
        assert_eq!(over(&ssh, &owner, &camera, words).ran().exits(1).kind(), "not_permitted");
    }
    assert_eq!(owner.names("packs/"), before);
}

#[test]
fn an_older_program_on_the_other_machine_is_told_from_one_that_cannot_be_reached() {
    let (owner, keyless) = (Machine::new(), Machine::bare());
    let old =
        "case $command in *--jobs*) echo 'unexpected argument' >&2; exit 2;; esac\nexec sh -c \"exec $copal $rest\"";
    let old = script(&owner, "old", old);
    let refused = over(&old, &owner, &keyless, &["prune", "--json"]).ran().exits(1);
    assert!(refused.kind() == "not_permitted" && refused.err.contains("update copal there"), "{refused}");
    let away = script(&owner, "away", "exit 255");
    assert_eq!(over(&away, &owner, &keyless, &["prune", "--json"]).ran().exits(1).kind(), "io");
    let ssh = fake_ssh(&owner);
    fs::remove_dir_all(owner.path("repository")).unwrap();
    assert_eq!(over(&ssh, &owner, &keyless, &["prune"]).ran().code, 10);
}

#[test]
fn a_prune_whose_process_dies_harms_nothing_and_the_next_one_goes_on() {
    let (owner, keyless) = (forgotten(), Machine::bare());
    let_prune_free_at_once(&owner);
    let before = owner.names("packs/");
    for step in ["1", "4", "7"] {
        let dies = script(&owner, "dies", &format!("COPAL_DIE_AT={step} exec sh -c \"exec $copal $rest\""));
        let cut = over(&dies, &owner, &keyless, &["prune", "--json"]).ran().exits(1);
        assert_eq!((cut.kind().as_str(), owner.check(&["--full"]).0), ("io", 0), "{step} {cut}");
    }
    over(&fake_ssh(&owner), &owner, &keyless, &["prune"]).ran().ok();
    assert_ne!(owner.names("packs/"), before);
    assert_eq!(owner.check(&["--full"]).0, 0);
}

#[test]
fn a_job_ends_soon_after_whoever_has_ordered_it() {
    let (owner, keyless) = (Machine::new(), Machine::bare());
    owner.write("noise", noise(1, 2_000_000));
    owner.backup(&[]);
    // To read that takes the job minutes.
    let ssh = "echo $$ > \"$0.id\"\nexec sh -c \"exec $copal --limit-download 10k $rest\"";
    let ssh = script(&owner, "slow", ssh);
    let mut near = Running::start(&mut over(&ssh, &owner, &keyless, &["check", "--read-data"]));
    let id = || fs::read_to_string(owner.path("slow.id")).ok().filter(|id| !id.trim().is_empty());
    let there = PathBuf::from("/proc").join(until("it begins", id).trim()).join("exe");
    std::thread::sleep(Duration::from_secs(3));
    assert!(!near.has_ended() && there.read_link().is_ok(), "the job is under way");
    drop(near);
    let begun = Instant::now();
    until("the job ends with whoever has ordered it", || there.read_link().is_err().then_some(()));
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert_eq!(owner.check(&["--full"]).0, 0);
}
