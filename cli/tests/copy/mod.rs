//! `copy`: snapshots in a second repository, with other keys.

mod again;
mod behind;
mod harmed;

use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::kit::{Machine, PASSPHRASE, Ran, Run, assert_same, copy, name, noise, set_xattr, text, texts};
use crate::managed::world::{managed, upload, with_camera};
use crate::serve::server::Server;

const COPY: [&str; 6] = ["copy", "--json", "--to", "second", "--to-key-file", "second-key"];

/// A machine with a repository, and a second one with another passphrase and key file.
struct World {
    machine: Machine,
}

impl World {
    fn new() -> Self {
        Self::beside(Machine::new())
    }

    /// Gives a machine its second repository.
    fn beside(machine: Machine) -> Self {
        static SECOND: OnceLock<TempDir> = OnceLock::new();
        let second = SECOND.get_or_init(|| {
            let machine = Machine::bare();
            let init = ["-r", "second", "--key-file", "second-key", "init"];
            machine.command(&init).env("COPAL_PASSWORD", "another").ran().ok();
            machine.into_directory()
        });
        for entry in ["second", "second-key", "home"] {
            let (from, to) = (second.path().join(entry), machine.path("").join(entry));
            if from.is_dir() { copy(&from, &to) } else { fs::copy(from, to).map(|_| ()).unwrap() }
        }
        Self { machine }
    }

    fn copying(&self, options: &[&str]) -> Command {
        self.machine.with_key(&[&COPY, options].concat())
    }

    /// Copies; gives the summary.
    fn copies(&self, options: &[&str]) -> Value {
        self.copying(options).ran().ok().json()
    }

    /// A command on the second repository.
    fn second(&self, arguments: &[&str]) -> Ran {
        let mut command = self.machine.command(&[&["-r", "second", "--json"], arguments].concat());
        command.env("COPAL_KEY_FILE", self.machine.path("second-key")).ran()
    }

    /// Restores the source from both repositories, and compares.
    fn assert_alike(&self, here: &str, there: &str) {
        let (out, copied) = (self.machine.path("out"), self.machine.path("copied"));
        let _ = (fs::remove_dir_all(&out), fs::remove_dir_all(&copied));
        let of = |id: &str| format!("{id}:{}", self.machine.path("source").display());
        self.machine.ok(&["restore", &of(here), "-t", "out"]);
        self.second(&["restore", &of(there), "-t", "copied"]).ok();
        assert_same(&out, &copied);
    }
}

/// Ids of a summary's new snapshots.
fn made(summary: &Value) -> Vec<String> {
    texts(&summary["copied"], "snapshot_id")
}

#[test]
fn a_copy_restores_to_the_same_tree_and_says_where_it_comes_from() {
    let world = World::new();
    let machine = &world.machine;
    machine.write("empty", "");
    machine.write("inline", "inline");
    machine.write("dir/large", noise(1, 3_000_000));
    machine.write("huge", noise(2, 30_000_000));
    fs::write(machine.source(name(b"\xff\xfe")), "odd").unwrap();
    symlink("nowhere", machine.source("link")).unwrap();
    fs::hard_link(machine.source("dir/large"), machine.source("second name")).unwrap();
    fs::hard_link(machine.source("inline"), machine.source("another inline")).unwrap();
    let sparse = fs::File::create(machine.source("sparse")).unwrap();
    sparse.set_len(5_000_000).unwrap();
    sparse.write_all_at(&noise(3, 1_000_000), 2_000_001).unwrap();
    machine.fifo();
    set_xattr(&machine.source("dir"), "user.note", b"\0=\n");
    let id = machine.backup(&["--time", "2020-01-02 03:04:05", "--label", "l", "--tag", "first", "--exclude", "*.tmp"]);
    machine.ok(&["tag", "--add", "later", &id]);
    let summary = world.copies(&[]);
    let [copy] = made(&summary).try_into().unwrap();
    world.assert_alike(&id, &copy);
    let rows =
        [machine.run(&["snapshots", "--json"]), world.second(&["snapshots"])].map(|ran| ran.ok().json()[0].clone());
    for field in ["time", "host", "paths", "tags", "label", "files", "bytes"] {
        assert_eq!(rows[0][field], rows[1][field], "{field}");
    }
    assert_eq!((text(&rows[1]["origin"]["snapshot"]), &rows[1]["origin"]["client"]), (id.clone(), &rows[0]["client"]));
    assert!(rows[0].get("origin").is_none());
    let described = |ran: Ran| ran.ok().json()["snapshot"]["info"].clone();
    let (here, there) = (described(machine.run(&["cat", "--json", &id])), described(world.second(&["cat", &copy])));
    for field in ["started", "exclusions", "metadata", "user", "counts"] {
        assert_eq!(here[field], there[field], "{field}");
    }
    world.second(&["check", "--full"]).ok();
}

#[test]
fn options_choose_what_is_copied_and_a_dry_run_copies_nothing() {
    let world = World::new();
    let machine = &world.machine;
    machine.write("file", "1");
    let first = machine.backup(&["--tag", "a"]);
    let second = machine.backup(&["--tag", "b"]);
    let third = machine.backup(&["--host", "other"]);
    let chosen = |options: &[&str]| texts(&world.copies(&[options, &["-n"]].concat())["copied"], "source_id");
    assert_eq!(chosen(&[]), [first.clone(), second.clone(), third.clone()]);
    assert_eq!(chosen(&["--tag", "b"]), std::slice::from_ref(&second));
    assert_eq!(chosen(&["--host", "other"]), std::slice::from_ref(&third));
    assert_eq!(chosen(&["--label", "none"]), Vec::<String>::new());
    assert_eq!(chosen(&[&third, &first, &first]), [first.clone(), third.clone()]);
    assert_eq!(chosen(&["latest"]), [second]);
    assert_eq!(world.second(&["snapshots"]).ok().json(), serde_json::json!([]));
    let people = world.machine.with_key(&["copy", "--to", "second", "--to-key-file", "second-key", &third]).ran().ok();
    assert!(people.text().contains("1 snapshot copied in "), "{people}");
    world.copying(&["ffffffff"]).ran().exits(1);
}

#[test]
fn a_dry_run_of_a_machine_that_the_second_repository_does_not_know_writes_nothing_there() {
    let world = World::new();
    world.machine.write("file", "1");
    let id = world.machine.backup(&[]);
    let before = world.machine.objects_of("second");
    let would = world.copying(&["-n"]).env("COPAL_STATE_DIR", world.machine.path("other")).ran().ok().json();
    assert_eq!(texts(&would["copied"], "source_id"), [id]);
    assert_eq!(world.machine.objects_of("second"), before);
}

#[test]
fn secrets_of_the_second_repository_have_names_of_their_own() {
    let world = World::new();
    let machine = &world.machine;
    machine.backup(&[]);
    let copy = ["copy", "--to", "second", "--json"];
    let with = |name: &str, value: &str| machine.with_key(&copy).env(name, value).ran();
    assert_eq!(machine.with_key(&copy).ran().exits(1).kind(), "secret");
    assert_eq!(with("COPAL_PASSWORD", "another").exits(1).kind(), "secret");
    assert_eq!(with("COPAL_TO_PASSWORD", PASSPHRASE).exits(12).kind(), "wrong_passphrase");
    with("COPAL_TO_KEY_FILE", "second-key").ok();
    fs::write(machine.path("word"), "another\n").unwrap();
    with("COPAL_TO_PASSWORD_COMMAND", "cat word").ok();
    machine.with_key(&[&copy[..], &["--to-password-file", "word"]].concat()).ran().ok();
    let same = machine.with_key(&["copy", "--to", "repository", "--to-key-file", "key", "--json"]).ran();
    assert_eq!(same.exits(2).kind(), "usage");
    let nowhere = machine.with_key(&["copy", "--to", "nowhere", "--to-key-file", "key", "--json"]).ran();
    assert_eq!(nowhere.exits(10).kind(), "no_repository");
}

#[test]
fn rights_that_a_write_only_client_has_saved_are_copied_only_with_trust() {
    use std::os::unix::fs::PermissionsExt;
    let (owner, camera) = with_camera();
    camera.write("program", noise(1, 100_000));
    fs::set_permissions(camera.source("program"), fs::Permissions::from_mode(0o4755)).unwrap();
    upload(&camera, &["--host", "laptop"]).ok();
    owner.ok(&["ingest"]);
    let trusting = World::beside(owner.copy());
    let world = World::beside(owner);
    let restored = |world: &World, options: &[&str]| {
        let copied = world.copying(options).ran().ok();
        let path = format!("latest:{}/program", camera.path("source").display());
        world.second(&["restore", &path, "--host", "camera", "-t", "out"]).ok();
        (fs::metadata(world.machine.path("out/program")).unwrap().permissions().mode() & 0o7777, copied)
    };
    assert_eq!(restored(&world, &[]).0, 0o755);
    assert_eq!(restored(&trusting, &["--trust"]).0, 0o4755);
    // It stands for the name that the owner gave the client, and no later backup takes its word for a file.
    let copy = text(&world.second(&["snapshots", "--host", "camera"]).ok().json()[0]["id"]);
    let info = world.second(&["cat", &copy]).ok().json()["snapshot"]["info"].clone();
    assert_eq!(info["metadata"].as_u64().unwrap() & 4, 0, "{info}");
}

#[test]
fn a_time_that_a_write_only_client_has_claimed_is_copied_only_with_trust() {
    let (owner, camera) = with_camera();
    camera.write("film", noise(1, 100_000));
    upload(&camera, &["--time", "2020-01-02"]).ok();
    owner.ok(&["ingest"]);
    let time = |status: Value| text(&status["series"][0]["time"]);
    let accepted = time(owner.json(&["status"]));
    let copied = |options: &[&str]| {
        let world = World::beside(owner.copy());
        world.copies(options);
        time(world.second(&["status"]).ok().json())
    };
    assert_eq!(copied(&[]), accepted);
    assert!(copied(&["--trust"]).starts_with("2020-01-02"));
}

#[test]
fn both_repositories_may_lie_behind_gateways() {
    let world = World::new();
    let machine = &world.machine;
    machine.write("file", noise(1, 400_000));
    let id = machine.backup(&[]);
    let here = Server::start(machine, &[]);
    let there = Server::run({
        let mut serve = machine.command(&["-r", "second", "serve", "--json", "--listen", "127.0.0.1:0"]);
        serve.env("COPAL_KEY_FILE", "");
        serve
    });
    let copy = ["-r", &here.url, "copy", "--json", "--to", &there.url, "--to-key-file", "second-key"];
    let summary = machine.with_key(&copy).ran().ok().json();
    world.assert_alike(&id, &made(&summary)[0]);
}

#[test]
fn a_copy_is_compressed_as_hard_as_it_is_asked_to() {
    let world = World::new();
    let content: Vec<u8> = (0..300_000_u32).flat_map(|n| format!("{:x} ", n.wrapping_mul(n)).into_bytes()).collect();
    world.machine.write("text", content);
    world.machine.backup(&[]);
    let stored = |level: &str| {
        let world = World { machine: world.machine.copy() };
        let summary = world.copies(&["--compression", level]);
        summary["copied"][0]["bytes_stored"].as_u64().unwrap()
    };
    let [none, fast, auto] = ["0", "fast", "auto"].map(stored);
    assert!(none > 2_000_000 && fast < none / 3 * 2 && auto < none / 3 * 2, "{none} {fast} {auto}");
}
