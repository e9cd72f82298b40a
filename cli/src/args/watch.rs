//! Watch: what is watched.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Clone, Debug)]
pub struct Watch {
    /// Files and directories to watch: the same as those of the backup.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
}
