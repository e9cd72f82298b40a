//! Kill: whenever the command dies, the repository is sound, the next run goes on from there, and nothing is lost. The
//! feature `faults` lets it die before any step that changes what is stored: a new file, half of its bytes, a sync, a name.

mod large;
mod small;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use crate::kit::{Image, Machine, Ran, Run, image};

/// What a command was killed by, in place of an exit code.
pub(crate) const KILLED: i32 = -1;

/// A command that dies at one of its points, if it has so many.
fn dies(machine: &Machine, arguments: &[&str], at: u64) -> Ran {
    machine.with_key(arguments).env("COPAL_DIE_AT", at.to_string()).ran()
}

/// How many points a command has.
fn points(machine: &Machine, arguments: &[&str]) -> u64 {
    let count = machine.path("points");
    machine.with_key(arguments).env("COPAL_POINTS", &count).ran().ok();
    fs::metadata(count).unwrap().len()
}

/// Does the same for each of many points, several at once.
pub(crate) fn at_each(points: impl IntoIterator<Item = u64>, act: impl Fn(u64) + Sync) {
    let mut points = points.into_iter().collect::<Vec<_>>().into_iter();
    let left = Mutex::new(&mut points);
    let next = || left.lock().unwrap().next();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(point) = next() {
                    act(point);
                }
            });
        }
    });
}

/// Snapshots and what they must hold.
type Held = BTreeMap<String, BTreeMap<PathBuf, Image>>;

/// Restores snapshots of a source, and compares.
#[track_caller]
fn assert_held(machine: &Machine, source: &Path, held: &Held, label: &str) {
    for (id, expected) in held {
        let place = format!("{id}:{}", source.display());
        let ran = machine.run(&["restore", &place, "--target", "restored"]);
        assert_eq!(ran.code, 0, "{label}: {ran}");
        assert!(image(&machine.path("restored")) == *expected, "{label}: {id} is another tree");
        fs::remove_dir_all(machine.path("restored")).unwrap();
    }
}

/// Checks everything, and expects to find nothing.
#[track_caller]
fn assert_sound(machine: &Machine, label: &str) {
    let ran = machine.run(&["check", "--full"]);
    assert_eq!(ran.code, 0, "{label}: {ran}");
}

/// More than there are processors: most of the time the disk is waited for.
const THREADS: usize = 6;
