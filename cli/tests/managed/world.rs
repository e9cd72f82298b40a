//! World: a managed repository with its owner, and machines that join it.

use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::kit::{Machine, PASSPHRASE, Ran, Run, copy};

/// The owner's machine, with a repository in which a service accepts what is saved.
pub(crate) fn managed() -> Machine {
    static FIRST: OnceLock<TempDir> = OnceLock::new();
    let first = FIRST.get_or_init(|| {
        let machine = Machine::bare();
        let init = ["--key-file", "key", "init", "--ingest", "service"];
        machine.command(&init).env("COPAL_PASSWORD", PASSPHRASE).ran().ok();
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

/// A process that goes on while others work; ended with the test.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ran {
        let deadline = Instant::now() + Duration::from_secs(240);
        while self.0.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        let read = |from: &mut dyn std::io::Read| {
            let mut bytes = Vec::new();
            from.read_to_end(&mut bytes).unwrap();
            bytes
        };
        let out = read(self.0.stdout.as_mut().unwrap());
        let err = String::from_utf8_lossy(&read(self.0.stderr.as_mut().unwrap())).into_owned();
        assert!(!err.contains("panicked"), "{err}");
        Ran { code: self.0.wait().unwrap().code().unwrap_or(-1), out, err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `copal ingest` by the owner, again and again, until what it is asked is so.
pub(crate) fn serve_until(owner: &Machine, is_done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(240);
    while !is_done() {
        assert!(Instant::now() < deadline, "the service waits for nothing");
        owner.run(&["ingest"]);
        std::thread::sleep(Duration::from_millis(20));
    }
}
