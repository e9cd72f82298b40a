//! Machine: a computer with the command on it, with its own state, cache and files, that shares nothing with another one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::Random;
use super::process::program;

pub struct Machine {
    folder: TempDir,
    name: String,
    repository: String,
    variables: Vec<(String, String)>,
}

impl Machine {
    /// A computer on which the repository was never used.
    pub fn new(name: &str, repository: &str, variables: &[(String, String)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(folder.path().join("files")).expect("a directory for files");
        Self { folder, name: name.to_owned(), repository: repository.to_owned(), variables: variables.to_vec() }
    }

    /// The directory of what is backed up.
    pub fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    pub fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The command with these arguments, and nothing of this process's environment.
    pub fn copal(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program("copal"));
        let home = self.folder.path();
        command.args(arguments).current_dir(home).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", home).env("HOSTNAME", &self.name);
        command.env("XDG_STATE_HOME", home.join("state")).env("XDG_CACHE_HOME", home.join("cache"));
        command.env("COPAL_REPOSITORY", &self.repository);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the command; gives what it prints.
    pub fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let output = self.copal(arguments).output().map_err(|error| error.to_string())?;
        succeeded(arguments, output)
    }

    /// Writes a tree of files that follow from a seed: small and large ones, in folders, with an empty one and a link.
    pub fn fill(&self, seed: u64, files: usize) {
        let mut random = Random::new(seed);
        for number in 0..files {
            let folder = self.files().join(format!("folder {}", number % 7));
            std::fs::create_dir_all(&folder).expect("a folder");
            let length = if random.chance(50) { 200_000 + random.below(2_000_000) } else { random.below(20_000) };
            let mut content = vec![0; length];
            random.fill(&mut content);
            std::fs::write(folder.join(format!("file {number}")), content).expect("a file");
        }
        std::fs::write(self.files().join("empty"), b"").expect("a file");
        // It may be there from an earlier seed.
        let _ = std::os::unix::fs::symlink("empty", self.files().join("link"));
    }
}

/// What a command printed, if it succeeded.
pub fn succeeded(arguments: &[&str], output: Output) -> Result<String, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(format!("copal {}: {}\n{}{}", arguments.join(" "), output.status, text(&output.stdout), text(&output.stderr)))
}

/// What lies below a directory: content of files, targets of links, nothing of folders.
pub fn contents(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inner) = open.pop() {
        for entry in std::fs::read_dir(folder.join(&inner)).expect("a directory that can be read") {
            let entry = entry.expect("an entry");
            let path = inner.join(entry.file_name());
            let kind = entry.file_type().expect("its type");
            let content = match (kind.is_dir(), kind.is_symlink()) {
                (true, _) => {
                    open.push(path.clone());
                    None
                }
                (_, true) => {
                    Some(std::fs::read_link(entry.path()).expect("a link").into_os_string().into_encoded_bytes())
                }
                _ => Some(std::fs::read(entry.path()).expect("a file")),
            };
            found.insert(path, content);
        }
    }
    found
}
