//! Schedule: the texts by which systemd or cron runs a profile. `commands/schedule` writes them.

pub mod cron;
pub mod units;

use std::path::PathBuf;

use crate::args::profile::Schedule;

/// The first line of every file that the program writes and may delete.
pub const MARK: &str = "# Written by \"copal schedule install\"; \"copal schedule remove\" deletes it.";

#[derive(Clone, Debug)]
pub struct Job {
    pub profile: String,
    pub schedule: Schedule,
    pub program: PathBuf,
    /// The configuration, absolute.
    pub config: PathBuf,
    /// Variables that say where state and cache lie: a run by hand and one by the clock share their lock and their keys.
    pub variables: Vec<(String, String)>,
    /// Its state and cache directories, which exist.
    pub own: [PathBuf; 2],
    /// Directories that a run writes to.
    pub written: Vec<PathBuf>,
    /// The directories of repositories on this machine, which may be on disks of their own.
    pub repositories: Vec<PathBuf>,
    /// Whether the sandbox could break the run: it starts the user's programs (hooks, commands), or asks a watcher, which has
    /// to see the same mounts.
    pub is_unconfined: bool,
    /// Whether it is run for the whole machine, by root.
    pub is_system: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum BadJob {
    #[error("{0:?} contains a control character, which a unit or crontab cannot hold")]
    Sign(String),
    #[error("cron cannot express at = {at:?}: profile {profile:?} needs the key \"cron\", like cron = \"17 3 * * *\"")]
    Calendar { profile: String, at: String },
}

impl Job {
    fn words(&self) -> Result<Vec<String>, BadJob> {
        let path =
            |path: &PathBuf| path.to_str().map(str::to_owned).ok_or_else(|| BadJob::Sign(path.display().to_string()));
        let options = ["--quiet", "run", "--config"].map(str::to_owned);
        let words =
            [path(&self.program)?].into_iter().chain(options).chain([path(&self.config)?, self.profile.clone()]);
        words.map(printed).collect()
    }
}

/// Refuses a text with line ends or other control characters.
fn printed(text: String) -> Result<String, BadJob> {
    if text.chars().any(char::is_control) { Err(BadJob::Sign(text)) } else { Ok(text) }
}

#[cfg(test)]
mod tests;
