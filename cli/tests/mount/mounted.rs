//! A process that shows snapshots, and its mount.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use crate::kit::{Machine, signal, text, wait};

/// `copal mount` of a machine's repository.
pub(crate) struct Mounted {
    child: Child,
    directory: PathBuf,
    /// The directory or address that the command told.
    pub(crate) at: String,
}

impl Mounted {
    /// Mounts on a directory of the machine.
    pub(crate) fn start(machine: &Machine, options: &[&str]) -> Self {
        let directory = machine.path("mounted");
        fs::create_dir_all(&directory).unwrap();
        Self::run(machine, &[&["mount", "mounted", "--json"], options].concat(), directory)
    }

    /// Serves by WebDAV.
    pub(crate) fn serve(machine: &Machine, options: &[&str]) -> Self {
        Self::run(machine, &[&["mount", "--json", "--webdav"], options].concat(), PathBuf::new())
    }

    /// Serves by WebDAV in a process that may open few files.
    pub(crate) fn serve_with_few_files(machine: &Machine, files: u32) -> Self {
        let plain = machine.with_key(&["mount", "--json", "--webdav"]);
        let mut command = Command::new("prlimit");
        command.arg(format!("--nofile={files}:{files}")).arg(plain.get_program()).args(plain.get_args());
        command.current_dir(machine.path("")).env_clear();
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Self::of(command, PathBuf::new())
    }

    fn run(machine: &Machine, arguments: &[&str], directory: PathBuf) -> Self {
        Self::of(machine.with_key(arguments), directory)
    }

    fn of(mut command: Command, directory: PathBuf) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: serde_json::Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("{error}: {line:?} {}", read(child.stderr.take().unwrap())));
        Self { child, directory, at: text(&told["at"]) }
    }

    /// A path in the mount.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The names in a directory of the mount.
    pub(crate) fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(directory)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Sends a signal; gives the exit code.
    pub(crate) fn end(&mut self, name: &str) -> i32 {
        signal(&self.child, name);
        self.wait()
    }

    /// Waits for the end; gives the exit code.
    pub(crate) fn wait(&mut self) -> i32 {
        wait(&mut self.child)
    }

    /// The standard error of the command, after its end.
    pub(crate) fn told(&mut self) -> String {
        self.child.stderr.take().map(read).unwrap_or_default()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = Command::new("kill").arg(self.child.id().to_string()).status();
            for _ in 0..500 {
                if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn read(mut from: ChildStderr) -> String {
    let mut text = String::new();
    from.read_to_string(&mut text).unwrap();
    text
}
