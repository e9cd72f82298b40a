//! Kill: whenever the command dies, the repository is sound, the next run goes on from there, and nothing is lost. The
//! feature `faults` lets it die before any step that changes what is stored: a new file, half of its bytes, a sync, a name.

mod large;
mod small;

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::hash::{BuildHasher, BuildHasherDefault};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use crate::kit::{Image, Machine, Ran, Run, image};

/// What a command was killed by, in place of an exit code.
const KILLED: i32 = -1;

/// Kills a command at the chosen ones of its points, each time on a new copy of the world, and acts on what is left, as
/// [`at_points`] does.
pub(crate) fn after_deaths(
    world: &Machine,
    chosen: impl Fn(u64) -> Vec<u64>,
    command: impl Fn(&Machine) -> Command + Sync,
    act: impl Fn(Machine, &str) + Sync,
) {
    let died = |ran: Ran, label: &str| assert!([KILLED, 0].contains(&ran.code), "{label}: {ran}");
    at_points("COPAL_DIE_AT", world, chosen, command, died, act);
}

/// Runs a command with a fault at the chosen ones of its points, each time on a new copy of the world, and looks at how it
/// ended; then acts on what is left, once for each state that differs. Points between which nothing was written leave the
/// same.
pub(crate) fn at_points(
    fault: &str,
    world: &Machine,
    chosen: impl Fn(u64) -> Vec<u64>,
    command: impl Fn(&Machine) -> Command + Sync,
    ended: impl Fn(Ran, &str) + Sync,
    act: impl Fn(Machine, &str) + Sync,
) {
    let points = points(world, &command);
    let left = Mutex::new(BTreeSet::new());
    at_each(chosen(points), |point| {
        let (machine, label) = (world.copy(), format!("{fault}={point} of {points}"));
        ended(command(&machine).env(fault, point.to_string()).ran(), &label);
        if left.lock().unwrap().insert(state(&machine, world)) {
            act(machine, &label);
        }
    });
    let states = left.into_inner().unwrap().len();
    assert!(states > 3, "{states} states after {points} points");
}

/// Chooses every such point. An object has seven points: every second, third or fifth one reaches each kind of step.
pub(crate) fn every(step: usize) -> impl Fn(u64) -> Vec<u64> {
    move |points| (1..=points).step_by(step).collect()
}

/// How many points a command has.
pub(crate) fn points(world: &Machine, command: impl Fn(&Machine) -> Command) -> u64 {
    let (whole, count) = (world.copy(), world.path("points"));
    command(&whole).env("COPAL_POINTS", &count).ran().ok();
    let points = fs::metadata(&count).unwrap().len();
    fs::remove_file(count).unwrap();
    points
}

/// Describes all files of a machine, finished or not: path, mode, length, and a hash of the content. Objects that the world
/// does not have are encrypted or signed anew in each run: their lengths stand for their content.
fn state(machine: &Machine, world: &Machine) -> Vec<(String, u64, u64)> {
    let (mut state, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(machine.path("").join(&folder)).unwrap() {
            let path = folder.join(entry.unwrap().file_name());
            let (here, before) = (machine.path("").join(&path), world.path("").join(&path));
            let metadata = fs::symlink_metadata(&here).unwrap();
            let bytes = if metadata.is_dir() { Vec::new() } else { fs::read(&here).unwrap() };
            let is_new_object = !before.exists() && std::str::from_utf8(&bytes).is_err();
            let content = if is_new_object { 0 } else { hash(&known(&bytes)) };
            state.push((shape(&path, world), u64::from(metadata.mode()) << 32 | bytes.len() as u64, content));
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    state.sort();
    state
}

/// Returns a path with the length of each random part that the world does not have in place of that part.
fn shape(path: &Path, world: &Machine) -> String {
    let mut at = world.path("");
    let parts = path.iter().map(|part| {
        at.push(part);
        let text = part.to_str().unwrap();
        let is_shard = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if at.exists() || !(is_shard || is_random(part)) { text.to_owned() } else { format!("{}*", text.len()) }
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Whether a name holds a hash or an id; not the number of a record, which has twenty digits.
fn is_random(part: &OsStr) -> bool {
    let parts = part.to_str().unwrap().split(['-', '.']);
    parts.into_iter().any(|part| part.len() > 20 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns a content without the hashes in it.
fn known(bytes: &[u8]) -> Vec<u8> {
    let words = bytes.split_inclusive(|byte| !byte.is_ascii_hexdigit());
    words.filter(|word| word.len() <= 32).flatten().copied().collect()
}

fn hash(bytes: &[u8]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(bytes)
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
