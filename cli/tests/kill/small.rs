//! A small repository: every point of every command.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::{Held, after_deaths, assert_held, assert_sound, every, with_key};
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
    after_deaths(&world.machine, every(1), with_key(&backup), |machine, label| {
        assert_sound(&machine, label);
        let is_claimed = machine.names("manifests/").len() > manifests;
        let next = machine.json(&backup[..1].iter().chain(&backup[2..]).copied().collect::<Vec<_>>());
        let stored = next["bytes_stored"].as_u64().unwrap();
        assert!(if is_claimed { stored < 20_000 } else { stored > 200_000 }, "{label}: {next}");
        let mut held = world.held.clone();
        held.insert(text(&next["snapshot_id"]), image(&world.source));
        assert_held(&machine, &world.source, &held, label);
        assert_sound(&machine, &format!("{label} and a backup"));
    });
}

#[test]
fn forgetting_killed_anywhere_happens_whole_or_not_at_all() {
    let world = World::new();
    let oldest = world.machine.snapshots().remove(0);
    let forget = ["forget", &oldest];
    after_deaths(&world.machine, every(1), with_key(&forget), |machine, label| {
        assert_sound(&machine, label);
        // What was written counts, also if nobody has folded it in yet; then there is nothing left to forget.
        let again = machine.run(&forget);
        assert!([0, 1].contains(&again.code), "{label}: {again}");
        assert_eq!(machine.snapshots().len(), 1, "{label}");
        machine.ok(&["undelete", &oldest]);
        assert_held(&machine, &world.source, &world.held, label);
    });
}

#[test]
fn a_prune_killed_anywhere_is_gone_on_with() {
    let mut world = World::new();
    world.forget();
    let prune = ["prune", "--grace", "0s"];
    let whole = world.machine.copy();
    whole.ok(&prune);
    let freed = whole.names("packs/").len();
    assert!(freed < world.machine.names("packs/").len(), "there is something to free");
    after_deaths(&world.machine, every(1), with_key(&prune), |machine, label| {
        assert_sound(&machine, label);
        assert_held(&machine, &world.source, &world.held, label);
        machine.ok(&prune);
        assert_sound(&machine, &format!("{label} and a prune"));
        assert_held(&machine, &world.source, &world.held, &format!("{label} and a prune"));
        // A root dooms packs, and its writer dies before it records their names: others delete them after a week.
        assert!(machine.names("packs/").len() <= freed + 1, "all is freed, or doomed, {label}");
    });
}

#[test]
fn a_rebuild_killed_anywhere_is_done_again() {
    let world = World::new();
    world.machine.lose_index();
    after_deaths(&world.machine, every(1), with_key(&["rebuild-index"]), |machine, label| {
        machine.ok(&["rebuild-index"]);
        assert_sound(&machine, label);
        assert_held(&machine, &world.source, &world.held, label);
    });
}

#[test]
fn an_init_killed_anywhere_is_finished_by_the_next_one() {
    let init = |machine: &Machine, options: &[&str]| {
        let mut command = machine.command(&[&["init"], options].concat());
        command.env("COPAL_PASSWORD", PASSPHRASE);
        command
    };
    let world = Machine::bare();
    world.write("file", "content");
    after_deaths(
        &world,
        last_points,
        |machine| init(machine, &[]),
        |machine, label| {
            let again = init(&machine, &["--key-file", "key"]).ran();
            let is_there = !machine.names("copal/").is_empty();
            assert!(
                again.code == 0 || (again.code == 1 && again.err.contains("already holds a repository")),
                "{label}: {again}"
            );
            assert!(is_there, "{label}");
            if again.code == 1 {
                machine.run_with(PASSPHRASE, &["key", "add", "--new-key-file", "key"]).ok();
            }
            machine.backup(&[]);
            machine.restore(&[]).ok();
            assert_eq!(fs::read(machine.path("out/file")).unwrap(), b"content");
            assert_sound(&machine, label);
        },
    );
}

/// Most of an init is the probe of the file system, again and again the same; and stretching a passphrase takes time.
fn last_points(points: u64) -> Vec<u64> {
    (1..points - 70).step_by(40).chain((points - 70..=points).step_by(3)).collect()
}
