//! A small repository: every point of every command.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::{Held, KILLED, assert_held, assert_sound, at_each, dies, points};
use crate::kit::{Machine, PASSPHRASE, Run, image, noise, text};

/// A repository with two snapshots of a source that has changed since.
struct World {
    machine: Machine,
    _sources: TempDir,
    source: PathBuf,
    held: Held,
}

impl World {
    fn new() -> Self {
        let sources = TempDir::new().unwrap();
        let source = sources.path().canonicalize().unwrap().join("source");
        let mut world = Self { machine: Machine::new(), _sources: sources, source, held: Held::new() };
        world.write("first", 1, 90_000);
        world.write("both", 2, 60_000);
        world.back_up();
        fs::remove_file(world.source.join("first")).unwrap();
        world.write("below/second", 3, 70_000);
        world.back_up();
        world
    }

    fn write(&self, name: &str, seed: u64, length: usize) {
        let path = self.source.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, noise(seed, length)).unwrap();
    }

    fn back_up(&mut self) {
        let summary = self.machine.json(&["backup", self.source.to_str().unwrap()]);
        self.held.insert(text(&summary["snapshot_id"]), image(&self.source));
    }

    /// Forgets the oldest snapshot.
    fn forget(&mut self) {
        let oldest = self.machine.snapshots().remove(0);
        self.machine.ok(&["forget", &oldest]);
        self.held.remove(&oldest);
    }
}

#[test]
fn a_backup_killed_anywhere_is_gone_on_with() {
    let world = World::new();
    world.write("third", 4, 200_000);
    let backup = ["backup", "--json", world.source.to_str().unwrap()];
    let manifests = world.machine.names("manifests/").len();
    at_each(1..=points(&world.machine.copy(), &backup), |point| {
        let machine = world.machine.copy();
        let ran = dies(&machine, &backup, point);
        assert!([KILLED, 0].contains(&ran.code), "{point}: {ran}");
        assert_sound(&machine, &format!("after death at {point}"));
        let is_claimed = machine.names("manifests/").len() > manifests;
        let next = machine.json(&backup[..1].iter().chain(&backup[2..]).copied().collect::<Vec<_>>());
        let stored = next["bytes_stored"].as_u64().unwrap();
        assert!(if is_claimed { stored < 20_000 } else { stored > 200_000 }, "{point}: {next}");
        let mut held = world.held.clone();
        held.insert(text(&next["snapshot_id"]), image(&world.source));
        assert_held(&machine, &world.source, &held, &format!("after death at {point}"));
        assert_sound(&machine, &format!("after death at {point} and a backup"));
    });
}

#[test]
fn forgetting_killed_anywhere_happens_whole_or_not_at_all() {
    let world = World::new();
    let oldest = world.machine.snapshots().remove(0);
    let forget = ["forget", &oldest];
    at_each(1..=points(&world.machine.copy(), &forget), |point| {
        let machine = world.machine.copy();
        dies(&machine, &forget, point);
        assert_sound(&machine, &format!("after death at {point}"));
        // What was written counts, also if nobody has folded it in yet; then there is nothing left to forget.
        let again = machine.run(&forget);
        assert!([0, 1].contains(&again.code), "{point}: {again}");
        assert_eq!(machine.snapshots().len(), 1);
        machine.ok(&["undelete", &oldest]);
        assert_held(&machine, &world.source, &world.held, &format!("after death at {point}"));
    });
}

#[test]
fn a_prune_killed_anywhere_is_gone_on_with() {
    let mut world = World::new();
    world.forget();
    let prune = ["prune", "--grace", "0s"];
    let whole = world.machine.copy();
    let points = points(&whole, &prune);
    let freed = whole.names("packs/").len();
    assert!(freed < world.machine.names("packs/").len(), "there is something to free");
    at_each(1..=points, |point| {
        let machine = world.machine.copy();
        let ran = dies(&machine, &prune, point);
        assert!([KILLED, 0].contains(&ran.code), "{point}: {ran}");
        assert_sound(&machine, &format!("after death at {point}"));
        assert_held(&machine, &world.source, &world.held, &format!("after death at {point}"));
        machine.ok(&prune);
        assert_sound(&machine, &format!("after death at {point} and a prune"));
        assert_held(&machine, &world.source, &world.held, &format!("after death at {point} and a prune"));
        // A root dooms packs, and its writer dies before it records their names: others delete them after a week.
        let doomed = whole.names("packs/").len() == freed && machine.names("packs/").len() <= freed + 1;
        assert!(doomed, "all is freed, or doomed, after death at {point}");
    });
}

#[test]
fn a_rebuild_killed_anywhere_is_done_again() {
    let world = World::new();
    for folder in ["roots", "state", "index"] {
        fs::remove_dir_all(world.machine.object(folder)).unwrap();
    }
    let rebuild = ["rebuild-index"];
    at_each(1..=points(&world.machine.copy(), &rebuild), |point| {
        let machine = world.machine.copy();
        let ran = dies(&machine, &rebuild, point);
        assert!([KILLED, 0].contains(&ran.code), "{point}: {ran}");
        machine.ok(&rebuild);
        assert_sound(&machine, &format!("after death at {point}"));
        assert_held(&machine, &world.source, &world.held, &format!("after death at {point}"));
    });
}

#[test]
fn an_init_killed_anywhere_is_finished_by_the_next_one() {
    let init = |machine: &Machine, options: &[&str]| {
        let mut command = machine.command(&[&["init"], options].concat());
        command.env("COPAL_PASSWORD", PASSPHRASE);
        command
    };
    let whole = Machine::bare();
    let count = whole.path("points");
    init(&whole, &[]).env("COPAL_POINTS", &count).ran().ok();
    let points = fs::metadata(count).unwrap().len();
    // Much of it is the probe of the file system, again and again the same; and stretching a passphrase takes time.
    let chosen = (1..=points).rev().step_by((points / INITS) as usize);
    at_each(chosen, |point| {
        let machine = Machine::bare();
        machine.write("file", "content");
        init(&machine, &[]).env("COPAL_DIE_AT", point.to_string()).ran();
        let again = init(&machine, &["--key-file", "key"]).ran();
        let is_there = !machine.names("copal/").is_empty();
        assert!(
            again.code == 0 || (again.code == 1 && again.err.contains("already holds a repository")),
            "{point}: {again}"
        );
        assert!(is_there, "{point}");
        if again.code == 1 {
            machine.run_with(PASSPHRASE, &["key", "add", "--new-key-file", "key"]).ok();
        }
        machine.backup(&[]);
        machine.restore(&[]).ok();
        assert_eq!(fs::read(machine.path("out/file")).unwrap(), b"content");
        assert_sound(&machine, &format!("after death at {point}"));
    });
}

/// Deaths of an init that are tried.
const INITS: u64 = 30;
