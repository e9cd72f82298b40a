//! Kill: whenever the command dies, the repository is sound, the next run goes on from there, and nothing is lost. The
//! feature `faults` lets it die before any step that changes what is stored: a new file, half of its bytes, a sync, a name.

mod large;
mod small;

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{BuildHasher, BuildHasherDefault};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use crate::kit::{Image, Machine, Ran, Run, image};

/// What a command was killed by, in place of an exit code.
const KILLED: i32 = -1;

/// Kills a command at every such point of it, each time on a new copy of the world, and acts on what is left, as
/// [`at_points`] does.
pub(crate) fn after_deaths(
    world: &Machine,
    every: usize,
    command: impl Fn(&Machine) -> Command + Sync,
    act: impl Fn(Machine, &str) + Sync,
) {
    let died = |ran: Ran, label: &str| assert!([KILLED, 0].contains(&ran.code), "{label}: {ran}");
    at_points("COPAL_DIE_AT", world, every, command, died, act);
}

/// Runs a command with a fault at every such point of it, each time on a new copy of the world, and looks at how it
/// ended; then acts on what is left, once for each state that differs. Points between which nothing was written leave the
/// same. A number that no object's points are a multiple of meets each kind of step soon.
pub(crate) fn at_points(
    fault: &str,
    world: &Machine,
    every: usize,
    command: impl Fn(&Machine) -> Command + Sync,
    ended: impl Fn(Ran, &str) + Sync,
    act: impl Fn(Machine, &str) + Sync,
) {
    let points = points(world, &command);
    let left = Mutex::new(BTreeSet::new());
    at_each((1..=points).step_by(every), |point| {
        let (machine, label) = (world.copy(), format!("{fault}={point} of {points}"));
        ended(command(&machine).env(fault, point.to_string()).ran(), &label);
        if left.lock().unwrap().insert(state(&machine, world)) {
            act(machine, &label);
        }
    });
    let states = left.into_inner().unwrap().len();
    assert!(states > 3, "{states} states after {points} points");
}

/// How many points a command has.
pub(crate) fn points(world: &Machine, command: impl Fn(&Machine) -> Command) -> u64 {
    let (whole, count) = (world.copy(), world.path("points"));
    command(&whole).env("COPAL_POINTS", &count).ran().ok();
    let points = fs::metadata(&count).unwrap().len();
    fs::remove_file(count).unwrap();
    points
}

/// What lies on a machine, finished or not, with names that are chosen at random told by their length alone: two states
/// that are equal differ in nothing that a command could see.
fn state(machine: &Machine, world: &Machine) -> Vec<(String, u64)> {
    let mut state = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(machine.path("").join(&folder)).unwrap() {
            let path = folder.join(entry.unwrap().file_name());
            let bytes = match fs::symlink_metadata(machine.path("").join(&path)).unwrap().is_dir() {
                true => Vec::new(),
                false => fs::read(machine.path("").join(&path)).unwrap(),
            };
            let (name, is_random) = shape(path.to_str().unwrap());
            let told = match is_random {
                true => fs::read(world.path("").join(&path)).is_ok_and(|before| before == bytes) as u64,
                false => BuildHasherDefault::<DefaultHasher>::default().hash_one(&bytes),
            };
            state.push((format!("{name} {}", bytes.len()), told));
            if machine.path("").join(&path).is_dir() {
                folders.push(path);
            }
        }
    }
    state.sort();
    state
}

/// A name without what is random in it, and whether there was such.
fn shape(path: &str) -> (String, bool) {
    let is_random = |part: &&str| part.len() >= 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut random = false;
    let parts = path.split_inclusive(['/', '-', '.']).map(|part| {
        let bare = part.trim_end_matches(['/', '-', '.']);
        random |= is_random(&bare);
        if is_random(&bare) || bare.len() == 2 { format!("{}*", bare.len()) } else { part.to_owned() }
    });
    (parts.collect(), random)
}

/// Does the same for each of many points, several at once.
fn at_each(points: impl IntoIterator<Item = u64>, act: impl Fn(u64) + Sync) {
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

/// A command that opens the repository with the key file.
pub(crate) fn with_key<'a>(arguments: &'a [&'a str]) -> impl Fn(&Machine) -> Command + Sync + 'a {
    move |machine| machine.with_key(arguments)
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
