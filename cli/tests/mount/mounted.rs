//! A process that shows snapshots, and its mount.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::kit::{COPAL, Machine, Running, run_by, text};

/// `copal mount` of a machine's repository.
pub(crate) struct Mounted {
    process: Running,
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
        let limit = format!("--nofile={files}:{files}");
        Self::of(run_by("prlimit", &[&limit, COPAL], &plain), PathBuf::new())
    }

    fn run(machine: &Machine, arguments: &[&str], directory: PathBuf) -> Self {
        Self::of(machine.with_key(arguments), directory)
    }

    fn of(mut command: Command, directory: PathBuf) -> Self {
        let (process, line) = Running::announced(command.stderr(Stdio::piped()));
        let mut mounted = Self { process, directory, at: String::new() };
        let told: serde_json::Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?} {}", mounted.told()));
        mounted.at = text(&told["at"]);
        mounted
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
        self.process.signal(name);
        self.wait()
    }

    /// Waits for the end; gives the exit code.
    pub(crate) fn wait(&mut self) -> i32 {
        self.process.wait()
    }

    /// The standard error of the command, after its end.
    pub(crate) fn told(&mut self) -> String {
        let mut text = String::new();
        self.process.child().stderr.take().map(|mut from| from.read_to_string(&mut text).unwrap());
        text
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // It unmounts; what does not end at this is killed.
        if !self.process.has_ended() {
            self.process.signal("TERM");
            let _ = (0..500).any(|_| {
                std::thread::sleep(Duration::from_millis(20));
                self.process.has_ended()
            });
        }
    }
}
