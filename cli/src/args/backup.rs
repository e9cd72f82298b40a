//! Backup: what to save, what to leave out, and what to call it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use copal_client::compression::Compression;
use copal_format::time::Time;

use super::values::{self, Size, Span};

#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("what").required(true).multiple(true).args(["operands", "files_from", "files_from0", "stdin"]))]
#[command(group = ArgGroup::new("stream").args(["stdin", "stdin_from_command"]))]
#[command(override_usage = "copal backup [OPTIONS] PATH...
       copal backup [OPTIONS] --files-from FILE
       copal backup [OPTIONS] --stdin
       copal backup [OPTIONS] --stdin-from-command -- COMMAND...")]
pub struct Backup {
    /// Files and directories to save; with --stdin-from-command, the command and its arguments.
    #[arg(value_name = "PATH", conflicts_with = "stdin")]
    pub operands: Vec<OsString>,

    /// Create the repository first if there is none yet.
    #[arg(long, conflicts_with = "dry_run")]
    pub init: bool,
    #[command(flatten)]
    pub naming: Naming,

    /// Show what would be saved; save nothing.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Make no snapshot if neither the source nor a directory above it has changed since the last one.
    #[arg(long)]
    pub skip_if_unchanged: bool,
    /// Upload at most this share of the previous snapshot again, to heal damage and to let prune free space.
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = values::percent)]
    pub rewrite_budget: f64,

    /// How hard to compress: auto (as the repository says), fast, max, or a level from 0 (not at all) to 19.
    #[arg(long, value_name = "LEVEL", default_value = "auto", value_parser = values::compression)]
    pub compression: Compression,

    /// Exit after the upload; do not wait for the service to accept the backup.
    #[arg(long, conflicts_with = "wait")]
    pub no_wait: bool,
    /// Wait at most this long for the service to accept the backup.
    #[arg(long, value_name = "SPAN", default_value = "15min")]
    pub wait: Span,

    #[command(flatten)]
    pub exclude: Exclude,
    #[command(flatten)]
    pub names: Names,
    #[command(flatten)]
    pub changes: Changes,
}

#[derive(Args, Clone, Debug)]
pub struct Naming {
    /// Give the snapshot a tag; may be repeated.
    #[arg(long = "tag", value_name = "TAG", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub tags: Vec<String>,
    /// Give the series a label: snapshots of the same host and paths with different labels are kept apart.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub label: String,
    /// Host name of the snapshot [default: the name of this machine].
    #[arg(long, value_name = "HOST", env = "COPAL_HOST", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub host: Option<String>,
    /// Time of the snapshot instead of now, like "2026-01-31 17:05:00".
    #[arg(long, value_name = "TIME", value_parser = values::instant)]
    pub time: Option<Time>,
}

#[derive(Args, Clone, Debug)]
pub struct Patterns {
    /// Leave out paths that match the pattern; may be repeated.
    #[arg(short, long, value_name = "GLOB", value_parser = values::glob)]
    pub exclude: Vec<String>,
    /// Like --exclude, whatever the case of letters.
    #[arg(long, value_name = "GLOB", value_parser = values::glob)]
    pub iexclude: Vec<String>,
    /// Leave out paths that match a pattern in this file, one per line; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub exclude_file: Vec<PathBuf>,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What to leave out")]
pub struct Exclude {
    #[command(flatten)]
    pub patterns: Patterns,
    /// Leave out the content of directories with a CACHEDIR.TAG.
    #[arg(long)]
    pub exclude_caches: bool,
    /// Leave out the content of directories that hold an entry of this name; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub exclude_if_present: Vec<OsString>,
    /// Leave out files larger than this, like 2GiB.
    #[arg(long, value_name = "SIZE")]
    pub exclude_larger_than: Option<Size>,
    /// Stay on the file systems of the given paths.
    #[arg(short = 'x', long)]
    pub one_file_system: bool,
    /// Obey the patterns in files of this name, like .gitignore, for the directory they lie in; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub ignore_file: Vec<OsString>,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Where it comes from")]
pub struct Names {
    /// Also save the paths listed in this file, one per line ("-" is standard input); may be repeated.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stdin", "stdin_from_command"])]
    pub files_from: Vec<PathBuf>,
    /// Also save the paths listed in this file, each ended by a zero byte ("-" is standard input); may be repeated.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stdin", "stdin_from_command"])]
    pub files_from0: Vec<PathBuf>,
    /// Save the one given path under this absolute path, such as a mounted snapshot of /home as /home.
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with_all = ["files_from", "files_from0", "stdin", "stdin_from_command"]
    )]
    pub as_path: Option<PathBuf>,
    /// Save standard input as one file.
    #[arg(long)]
    pub stdin: bool,
    /// Save the output of a command as one file: --stdin-from-command -- COMMAND ARGUMENT...
    ///
    /// If the command fails, no snapshot is made.
    #[arg(long, requires = "operands")]
    pub stdin_from_command: bool,
    /// Save the stream also if it is empty, or a source that has no file any more, which otherwise fails.
    #[arg(long)]
    pub allow_empty: bool,
    /// Name of that file in the snapshot.
    #[arg(long, value_name = "NAME", default_value = "stdin", requires = "stream")]
    pub stdin_name: OsString,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "How changes are found")]
#[command(group = ArgGroup::new("list").multiple(true).args(["changed_from", "changed_from0"]))]
pub struct Changes {
    /// Read every file, also those that look unchanged.
    #[arg(long)]
    pub force: bool,
    /// A new inode number alone is no change (network file systems, copied disks).
    #[arg(long)]
    pub ignore_inode: bool,
    /// A new ctime alone is no change (after a change of owners or a restore).
    #[arg(long)]
    pub ignore_ctime: bool,
    /// Look only at the paths in this file, one per line, and take all else from the last snapshot; may be repeated.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stdin", "stdin_from_command", "force"])]
    pub changed_from: Vec<PathBuf>,
    /// Like --changed-from, each path ended by a zero byte.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stdin", "stdin_from_command", "force"])]
    pub changed_from0: Vec<PathBuf>,
    /// Look only at what a running "copal watch" of the same paths has noted, and take all else from the last snapshot.
    #[arg(long, conflicts_with_all = ["list", "stdin", "stdin_from_command", "force", "as_path"])]
    pub watched: bool,
    /// The snapshot that the list of changes follows, or @FILE that holds its id; if it is not the last one, everything is
    /// looked at.
    #[arg(long, value_name = "ID", requires = "list", value_parser = values::since)]
    pub changed_since: Option<String>,
    /// Look at everything after so many backups with a list of changes, and tell what the lists did not have.
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub walk_every: u32,
}
