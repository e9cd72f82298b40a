//! What a write-only machine can do: save, incrementally, and heal; and what it cannot: everything else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::world::{assert_restored, joined, row, serve_until, upload, with_camera};
use crate::kit::{Harm, Machine, Ran, Run, Running, noise, number, text};

/// An owner, a machine that has saved three files, and what the service knows of it.
fn saved() -> (Machine, Machine) {
    let (owner, machine) = with_camera();
    for at in 0..3 {
        machine.write(&format!("dir/{at}"), noise(at, 50_000));
    }
    old(&machine);
    upload(&machine, &[]).ok();
    owner.ok(&["ingest"]);
    (owner, machine)
}

/// Makes files look as if nobody had touched them lately, so that they are not read again just in case.
fn old(machine: &Machine) {
    fn each(directory: &Path) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let file = fs::File::open(&path).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000)).unwrap();
            if path.is_dir() {
                each(&path);
            }
        }
    }
    each(&machine.path("source"));
}

/// A further backup, by whose ctime nothing has changed that its mtime does not tell.
fn again(machine: &Machine) -> Ran {
    upload(machine, &["--ignore-ctime"]).ok()
}

fn kept_tree(machine: &Machine) -> PathBuf {
    let caches = fs::read_dir(machine.path("home/.cache/copal")).unwrap().map(|entry| entry.unwrap().path());
    let cache = caches.filter(|path| path.is_dir()).last().unwrap();
    let mut trees = fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path());
    let tree = trees.next().expect("a tree is kept");
    assert!(trees.next().is_none());
    tree
}

#[test]
fn it_saves_without_a_passphrase_and_the_owner_restores_bit_for_bit() {
    let (owner, machine) = saved();
    assert_restored(&owner, &machine);
    assert_eq!(owner.check(&["--full"]).0, 0);
}

#[test]
fn what_gives_rights_is_left_out_of_what_it_saved_and_comes_with_trust() {
    let (owner, camera) = with_camera();
    for machine in [&owner, &camera] {
        machine.write("tool", "run me");
        fs::set_permissions(machine.source("tool"), fs::Permissions::from_mode(0o4755)).unwrap();
    }
    upload(&camera, &[]).ok();
    owner.with_key(&["backup", "source", "--no-wait"]).ran();
    owner.ok(&["ingest"]);
    let restored = |of: &Machine, options: &[&str]| {
        let _ = fs::remove_dir_all(owner.path("out"));
        let snapshot = format!("latest:{}", of.path("source").display());
        let told = owner.json(&[&["restore", &snapshot, "-t", "out"], options].concat());
        (
            told["left_out"].as_u64().unwrap(),
            fs::metadata(owner.path("out/tool")).unwrap().permissions().mode() & 0o7777,
        )
    };
    assert_eq!(restored(&camera, &["--client", "camera"]), (1, 0o755));
    assert_eq!(restored(&camera, &["--client", "camera", "--trust"]), (0, 0o4755));
    assert_eq!(restored(&owner, &[]), (0, 0o4755));
    assert_eq!(restored(&owner, &["--no-owner"]), (1, 0o755));
}

#[test]
fn its_next_backup_reads_and_uploads_only_what_changed() {
    let (owner, machine) = saved();
    machine.write("dir/1", noise(9, 60_000));
    let ran = again(&machine);
    assert_eq!((number(&ran, "files_unmodified"), number(&ran, "files_changed")), (2, 1));
    assert!(number(&ran, "bytes_new") < 110_000 && !ran.json()["parent_id"].is_null(), "{ran}");
    owner.ok(&["ingest"]);
    assert_restored(&owner, &machine);
    // Other content with the same size and mtime is taken for the same: it was not read.
    for at in [0, 2] {
        fs::write(machine.source(format!("dir/{at}")), noise(at + 10, 50_000)).unwrap();
    }
    old(&machine);
    let ran = again(&machine);
    assert_eq!(number(&ran, "bytes_new"), 0, "{ran}");
}

#[test]
fn without_its_cache_it_reads_every_file_again_and_uploads_nothing() {
    let (owner, machine) = saved();
    let whole = fs::read(kept_tree(&machine)).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x81;
        Some(bytes)
    };
    // Its random bytes, a page, the head, where the head lies, its blocks, the mark; or half of it, or nothing.
    let length = whole.len();
    let flips = [0, 100, length - 60, length - 24, length - 23, length - 16, length - 12, length - 1].map(flipped);
    for harm in flips.into_iter().chain([Some(whole[..length / 2].to_vec()), Some(Vec::new()), None]) {
        let tree = kept_tree(&machine);
        match &harm {
            Some(bytes) => fs::write(&tree, bytes).unwrap(),
            None => fs::remove_file(&tree).unwrap(),
        }
        let harm = harm.map(|bytes| bytes.len());
        let ran = again(&machine);
        assert_eq!(number(&ran, "files_new"), 3, "{harm:?}: {ran}");
        // What is stored are pages that tell of the directories above.
        assert!(number(&ran, "bytes_new") == 0 && number(&ran, "bytes_stored") < 10_000, "{harm:?}: {ran}");
        owner.ok(&["ingest"]);
        assert_restored(&owner, &machine);
        let ran = again(&machine);
        assert_eq!(number(&ran, "files_unmodified"), 3, "{harm:?}: {ran}");
    }
}

#[test]
fn its_cache_tells_no_names_and_opens_with_its_own_device_key_only() {
    let (owner, machine) = with_camera();
    let names = ["spring.jpg", "summer.jpg", "winter.jpg"];
    for (seed, name) in (0..).zip(names) {
        machine.write(&format!("photographs/{name}"), noise(seed, 50_000));
    }
    old(&machine);
    upload(&machine, &[]).ok();
    let bytes = fs::read(kept_tree(&machine)).unwrap();
    for name in names.into_iter().chain(["photographs", "source"]) {
        assert!(!bytes.windows(name.len()).any(|window| window == name.as_bytes()), "{name}");
    }
    // Another machine of the same name, which saves the same paths.
    let stranger = joined(&owner, "stranger", "write-only");
    let saves = || {
        let mut command = stranger.command(&["backup", "--no-wait", "--json", "--ignore-ctime"]);
        let ran = command.arg(machine.path("source")).ran().ok();
        owner.ok(&["ingest"]);
        ran
    };
    saves();
    let ran = saves();
    assert!(!ran.json()["parent_id"].is_null() && number(&ran, "files_unmodified") == 3, "it reads its own: {ran}");
    // The first machine's file, under the name by which this one looks for its own.
    fs::write(kept_tree(&stranger), bytes).unwrap();
    let ran = saves();
    assert!(ran.json()["parent_id"].is_null() && number(&ran, "files_new") == 3, "{ran}");
}

#[test]
fn nothing_is_saved_again_where_nothing_changed_and_that_was_asked_for() {
    let (owner, machine) = saved();
    let skipped = || {
        let ran = upload(&machine, &["--ignore-ctime", "--skip-if-unchanged"]).ok();
        owner.ok(&["ingest"]);
        ran.json()["snapshot_id"].is_null()
    };
    // The directories above belong to the tree, and others change the one of all temporary files at any time.
    assert!((0..100).any(|_| skipped()));
    // What the owner has forgotten is no reason to skip.
    let all = owner.snapshots();
    let words: Vec<&str> = ["forget"].into_iter().chain(all.iter().map(String::as_str)).collect();
    let forgetting = Running::start(&mut owner.with_key(&words));
    serve_until(&owner, || owner.snapshots().is_empty());
    forgetting.end().ok();
    let ran = upload(&machine, &["--ignore-ctime", "--skip-if-unchanged"]).ok();
    assert!(!ran.json()["snapshot_id"].is_null(), "{ran}");
}

#[test]
fn a_huge_file_that_stays_as_it_is_is_not_read_again_however_often_another_changes() {
    let (owner, machine) = with_camera();
    machine.write("huge", noise(3, 12 << 20));
    machine.write("small", "one");
    old(&machine);
    upload(&machine, &[]).ok();
    owner.ok(&["ingest"]);
    for round in 0..3 {
        machine.write("small", format!("round {round}"));
        let ran = again(&machine);
        assert_eq!((number(&ran, "files_unmodified"), number(&ran, "files_changed")), (1, 1), "{ran}");
        owner.ok(&["ingest"]);
    }
    // Marks in its domain let it look at what the list of the huge file names.
    machine.remove("small");
    owner.damage(&owner.packs(0)[0], Harm::Delete);
    assert_eq!(owner.check(&[]).0, 4);
    let ran = upload(&machine, &["--ignore-ctime", "--rewrite-budget", "100%"]).ok();
    assert!(number(&ran, "bytes_stored") > 0, "{ran}");
    owner.ok(&["ingest"]);
    assert_restored(&owner, &machine);
}

#[test]
fn it_uploads_again_what_the_repository_has_lost() {
    let (owner, machine) = saved();
    owner.damage(&owner.packs(0)[0], Harm::Delete);
    assert_eq!(owner.check(&[]).0, 4);
    let ran = again(&machine);
    assert!(number(&ran, "bytes_stored") > 100_000, "{ran}");
    owner.ok(&["ingest"]);
    assert_eq!(owner.check(&["--full"]).0, 0);
    assert_restored(&owner, &machine);
}

#[test]
fn what_is_uploaded_and_not_accepted_yet_is_not_uploaded_again() {
    let (owner, machine) = with_camera();
    machine.write("file", noise(1, 200_000));
    let first = upload(&machine, &[]).ok();
    assert!(number(&first, "bytes_stored") > 200_000, "{first}");
    let second = upload(&machine, &["--force"]).ok();
    assert_eq!(number(&second, "bytes_new"), 0, "{second}");
    owner.ok(&["ingest"]);
    assert_eq!(owner.snapshots().len(), 2);
    assert_restored(&owner, &machine);
    assert_eq!(owner.check(&["--full"]).0, 0);
}

#[test]
fn it_may_do_nothing_but_save_and_ask_how_things_stand() {
    let (owner, machine) = saved();
    let snapshot = owner.snapshots().remove(0);
    let refused: &[&[&str]] = &[
        &["snapshots"],
        &["ls", "latest"],
        &["find", "*"],
        &["diff", "latest", "latest"],
        &["dump", "latest:dir/0"],
        &["restore", "latest", "-t", "out"],
        &["check"],
        &["check", "--full"],
        &["forget", &snapshot],
        &["forget", "--keep-last", "1"],
        &["prune"],
        &["tag", "--add", "x", "latest"],
        &["pin", "latest"],
        &["unpin", "latest"],
        &["undelete", &snapshot],
        &["ingest"],
        &["repair"],
        &["stats"],
        &["key", "list"],
        &["key", "add"],
        &["key", "recovery"],
        &["client", "list"],
        &["client", "add", "--name", "x", "--role", "full"],
        &["client", "revoke", "camera"],
        &["policy", "show"],
        &["rebuild-index"],
        &["compact"],
        &["cat", "root"],
    ];
    let before = owner.objects();
    for words in refused {
        let ran = machine.command(&[words, ["--json"].as_slice()].concat()).ran();
        assert_eq!((ran.kind().as_str(), ran.code), ("not_permitted", 1), "{words:?}: {ran}");
        assert!(ran.err.contains("write-only"), "{words:?}: {ran}");
    }
    assert_eq!(owner.objects(), before);
    machine.command(&["status"]).ran().ok();
}

#[test]
fn the_owner_may_restore_there_with_the_passphrase_but_leaves_no_keys_that_sign_changes() {
    let (owner, machine) = saved();
    let with_key = |words: &[&str]| {
        let mut command = machine.command(words);
        command.env("COPAL_KEY_FILE", owner.path("key"));
        command.ran()
    };
    with_key(&["restore", "latest", "-t", "out"]).ok();
    let refused = with_key(&["forget", "latest", "--json"]);
    assert_eq!(refused.kind(), "not_permitted");
    assert!(!owner.names("changes/").iter().any(|_| true));
    // A backup is the write-only client's, whatever secret is at hand.
    let ran = with_key(&["backup", "source", "--no-wait", "--json"]).ok();
    assert_eq!(owner.names("clients/").iter().filter(|name| name.ends_with("2")).count(), 1, "{ran}");
}

#[test]
fn its_newest_snapshot_is_not_latest_on_a_machine_of_another_name() {
    let (owner, machine) = saved();
    owner.write("mine", "1");
    owner.ok(&["backup", "source", "--no-wait"]);
    owner.ok(&["ingest"]);
    again(&machine);
    owner.ok(&["ingest"]);
    let listed = owner.with_key(&["find", "*", "latest", "--json"]).env("COPAL_HOST", "desk").ran().ok();
    assert!(listed.rows().iter().all(|row| row["role"] == "full") && listed.text().contains("mine"), "{listed}");
}

#[test]
fn a_repository_of_another_owner_in_its_place_gets_nothing() {
    let (owner, machine) = saved();
    let stranger = Machine::new();
    let theirs = fs::read(stranger.object(&stranger.names("copal/")[0])).unwrap();
    owner.replace(&format!("copal/{:020}", 1), &theirs);
    let before = owner.names("packs/");
    machine.write("new", noise(50, 50_000));
    let ran = upload(&machine, &[]).exits(1);
    assert_eq!(ran.kind(), "another_repository", "{ran}");
    assert_eq!(owner.names("packs/"), before);
}

#[test]
fn damaged_credentials_are_named_and_nobody_is_asked_for_a_passphrase() {
    let (_owner, machine) = saved();
    let file = machine.kept("enrolled");
    let mut bytes = fs::read(&file).unwrap();
    bytes[20] ^= 1;
    fs::write(&file, bytes).unwrap();
    let ran = upload(&machine, &[]).exits(1);
    assert!(ran.kind() == "client_keys" && ran.err.contains("client add"), "{ran}");
}

#[test]
fn its_manifests_name_its_own_domain() {
    let (owner, _machine) = saved();
    let manifest = owner.names("manifests/").remove(0);
    let shown = owner.json(&["cat", &manifest]);
    assert_eq!(text(&shown["domain"]), text(&row(&owner, "camera")["domain"]));
}
