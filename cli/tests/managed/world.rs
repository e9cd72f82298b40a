//! World: a managed repository with its owner, and machines that join it.

use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

pub(crate) use crate::kit::Running;
use crate::kit::{Machine, Ran, Run, assert_same, copy, until};

/// The owner's machine, with a repository in which a service accepts what is saved.
pub(crate) fn managed() -> Machine {
    static FIRST: OnceLock<TempDir> = OnceLock::new();
    let first = FIRST.get_or_init(|| {
        let machine = Machine::bare();
        machine.init(&["--ingest", "service"]).ok();
        machine.into_directory()
    });
    let machine = Machine::bare();
    copy(first.path(), &machine.path(""));
    machine
}

/// The line of a new enrollment, and nothing else.
pub(crate) fn enroll(owner: &Machine, name: &str, role: &str) -> String {
    let line = owner.ok(&["client", "add", "--name", name, "--role", role]);
    assert_eq!(line.lines().count(), 1, "{line}");
    line
}

/// Another machine, which reaches the repository of the first, and has joined it.
pub(crate) fn joined(owner: &Machine, name: &str, role: &str) -> Machine {
    let machine = other(owner);
    let line = enroll(owner, name, role);
    let mut join = join(&machine, &line);
    if role == "full" {
        join.env("COPAL_KEY_FILE", owner.path("key"));
    }
    join.ran().ok();
    machine
}

/// The owner's machine, and a write-only one of the name `camera` that has joined its repository.
pub(crate) fn with_camera() -> (Machine, Machine) {
    let owner = managed();
    let camera = joined(&owner, "camera", "write-only");
    (owner, camera)
}

/// What the owner's list of clients says of each.
pub(crate) fn rows(owner: &Machine) -> Vec<Value> {
    owner.json(&["client", "list"]).as_array().unwrap().clone()
}

/// The row of `client list` about the client of this name.
pub(crate) fn row(owner: &Machine, name: &str) -> Value {
    rows(owner).into_iter().find(|row| row["name"] == name).unwrap()
}

/// Another machine, which reaches the repository of the first under the same name.
pub(crate) fn other(owner: &Machine) -> Machine {
    let machine = Machine::bare();
    std::os::unix::fs::symlink(owner.path("repository"), machine.path("").join("repository")).unwrap();
    machine
}

/// `client join` with a line from a file.
pub(crate) fn join(machine: &Machine, line: &str) -> Command {
    std::fs::write(machine.path("").join("line"), line).unwrap();
    machine.command(&["client", "join", "line", "--json"])
}

/// A backup without any secret, which leaves without waiting.
pub(crate) fn upload(machine: &Machine, options: &[&str]) -> Ran {
    machine.command(&[&["backup", "source", "--no-wait", "--json"], options].concat()).ran()
}

/// The owner restores what a machine has saved last, and it is the same.
pub(crate) fn assert_restored(owner: &Machine, machine: &Machine) {
    let _ = std::fs::remove_dir_all(owner.path("out"));
    owner.ok(&["restore", &machine.whole(), "-t", "out"]);
    assert_same(&machine.path("source"), &owner.path("out"));
}

/// The objects below a folder, while others write there: nothing but names is looked at.
pub(crate) fn listed(owner: &Machine, folder: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut left = vec![folder.trim_end_matches('/').to_owned()];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(owner.object(&folder)).into_iter().flatten().flatten() {
            let name = format!("{folder}/{}", entry.file_name().to_str().unwrap());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => left.push(name),
                _ => names.push(name),
            }
        }
    }
    names
}

/// The service works until a process has ended.
pub(crate) fn served(owner: &Machine, mut running: Running) -> Ran {
    serve_until(owner, || running.has_ended());
    running.end()
}

/// Waits until a running backup has written so many manifests.
pub(crate) fn wait_for_manifests(owner: &Machine, running: &mut Running, count: usize) {
    until("manifests", || {
        assert!(!running.has_ended());
        (listed(owner, "manifests").len() >= count).then_some(())
    });
}

/// Runs `copal ingest` by the owner, again and again, until what it is asked is so.
pub(crate) fn serve_until(owner: &Machine, mut is_done: impl FnMut() -> bool) {
    until("the service is waited for", || {
        let is_done = is_done();
        if !is_done {
            owner.run(&["ingest"]);
        }
        is_done.then_some(())
    });
}
