//! Repository: commands about a repository as a whole and about the program itself.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Args, Debug)]
pub struct Init {
    /// Make a replica of this repository: the same keys, and what "copal sync" brings.
    #[arg(long, value_name = "REPOSITORY", conflicts_with_all = ["ingest", "reader"])]
    pub copy_keys_from: Option<OsString>,
    /// Who folds uploads into the index: the clients themselves, or a service beside the store.
    #[arg(long, value_name = "WHO", value_enum, default_value_t = IngestBy::Client)]
    pub ingest: IngestBy,
    /// Let all users of the directory's group save to it and read it.
    #[arg(long)]
    pub shared: bool,
    #[command(flatten)]
    pub reader: ReaderFile,
}

#[derive(Args, Debug)]
pub struct ReaderFile {
    /// File of a reader to store, instead of the one that this program carries.
    #[arg(long, value_name = "FILE")]
    pub reader: Option<PathBuf>,
}

#[derive(ValueEnum, Copy, Clone, Debug, PartialEq, Eq)]
pub enum IngestBy {
    /// Every full client, at the end of its backup.
    Client,
    /// A service beside the store, or a full client that runs "copal ingest".
    Service,
}

#[derive(Subcommand, Copy, Clone, Debug, PartialEq, Eq)]
pub enum Cache {
    /// Delete the cache of every repository; it is built again when it is needed.
    Clean,
}

#[derive(Args, Debug)]
pub struct Manual {
    /// Directory to write into; created if it is not there.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

#[derive(Args, Debug)]
pub struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
